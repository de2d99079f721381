import { sql } from 'drizzle-orm';
import type { AssetKey } from '../../../kernel/vocabulary.ts';
import type { LedgerDb } from '../../connection/connect-ledger.ts';
import { listOf, number, orNull, out, query, text } from '../../connection/query-rows.ts';
import { amountText } from '../status-sql.ts';

/**
 * A balance at evenly spaced moments. `times` are ms since 1970; `balances` has one decimal for each, null where the
 * balance was not known.
 */
export type BalanceCourse = { times: number[]; balances: (string | null)[] };

/** One index step each: the cost does not grow with the number of changes. */
const moments = 300;

/**
 * Reads the balance of an asset over the last `days` days, or since its first change if `days` is null or longer.
 * Returns null if no change is stored.
 */
export async function readBalanceCourse(
  db: LedgerDb,
  { slip44, symbol, contractAddress }: AssetKey,
  days: number | null,
): Promise<BalanceCourse | null> {
  const key = sql`(h.slip44, h.symbol, h.contract_address) = (${slip44}::integer, ${symbol}::text, ${contractAddress}::text)`;
  const [found] = await query(db)`
    with span as (
      select greatest(f.at, now() - ${days}::integer * interval '1 day') as since, now() as until
        from (select h.observed_at as at from own.balance_changes h where ${key} order by h.observed_at limit 1) as f
    ),
    moment as (
      select n, s.since + (s.until - s.since) * (n / ${sql.raw(`${moments - 1}.0`)}) as at
        from span s cross join generate_series(0, ${sql.raw(String(moments - 1))}) as n
    )
    select coalesce(json_agg((extract(epoch from m.at) * 1000)::bigint order by m.n), '[]') as ${out('times', listOf(number))},
           coalesce(json_agg(b.balance order by m.n), '[]') as ${out('balances', listOf(orNull(text)))}
      from moment m
      left join lateral (
        select ${amountText('h.balance')} as balance from own.balance_changes h
         where ${key} and h.observed_at <= m.at order by h.observed_at desc limit 1) as b on true`;
  return found && found.times.length > 0 ? found : null;
}
