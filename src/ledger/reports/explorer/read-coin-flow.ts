import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../../connection/connect-ledger.ts';
import { number, orNull, out, query, text } from '../../connection/query-rows.ts';
import { amountText } from '../status-sql.ts';

/** What moved of a coin on a UTC day, in success states. Amounts are null if nothing moved that way. */
export type DayFlow = {
  day: string;
  transactions: number;
  deposited: string | null;
  withdrawn: string | null;
};

/** Constant instead of a parameter, so that the planner sees how few days the query reads. */
const daysMax = 30;

/** Reads the days of the last 30 on which the coin moved, latest first. */
export async function readCoinFlow(db: LedgerDb, symbol: string): Promise<DayFlow[]> {
  return await query(db)`
    select f.day::text as ${out('day', text)}, sum(f.transactions) as ${out('transactions', number)},
           ${amountText("sum(f.amount) filter (where lower(btrim(f.type)) = 'deposit')")} as ${out('deposited', orNull(text))},
           ${amountText("sum(f.amount) filter (where lower(btrim(f.type)) = 'withdraw')")} as ${out('withdrawn', orNull(text))}
      from own.daily_flows f
     where f.day > (now() at time zone 'UTC')::date - ${sql.raw(String(daysMax))}
       and f.day <= (now() at time zone 'UTC')::date and f.symbol = ${symbol}::text
       and lower(btrim(f.state)) in (select s.state from own.final_states s where s.is_success)
     group by f.day order by f.day desc`;
}
