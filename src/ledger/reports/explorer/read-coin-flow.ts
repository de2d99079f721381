import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../../connection/connect-ledger.ts';
import { number, orNull, out, pick, query, text } from '../../connection/query-rows.ts';
import { amountText } from '../status-sql.ts';

/** Sums of a coin's transactions in success states. Amounts are null if nothing moved in that direction. */
type Moved = { transactions: number; deposited: string | null; withdrawn: string | null };

type DayFlow = Moved & { day: string };

/** Movements of a UTC day on one chain; `slip44` is null where the chain is not known. */
type ChainFlow = DayFlow & { slip44: number | null };

/**
 * Movements of a coin on the last 30 UTC days. `days` are all of them, oldest first; `moved` and `chains` have those
 * with a movement, latest first.
 */
export type CoinFlows = { days: string[]; all: Moved; moved: DayFlow[]; chains: ChainFlow[] };

/** Constant instead of a parameter, so that the planner sees how few days the query reads. */
const daysMax = 30;
const dayMs = 86_400_000;

const columns = pick({
  today: [sql`((now() at time zone 'UTC')::date)::text`, text],
  day: [sql`f.day::text`, orNull(text)],
  slip44: [sql`f.slip44`, orNull(number)],
  transactions: [sql`coalesce(sum(f.transactions), 0)`, number],
  deposited: [amountText("sum(f.amount) filter (where f.stream = 'deposit')"), orNull(text)],
  withdrawn: [amountText("sum(f.amount) filter (where f.stream = 'withdraw')"), orNull(text)],
});

/** Reads what moved of a coin on the last 30 days, over all chains and on each. */
export async function readCoinFlow(db: LedgerDb, symbol: string): Promise<CoinFlows> {
  // `level`: number of columns over which a row sums: 0 for a day on a chain, 1 for a day, 3 for all days. `offset 0`:
  // with grouping sets PostgreSQL would apply the conditions only after it has added up all days.
  const rows = await query(db)`
    select ${columns}, grouping(f.day, f.slip44) as ${out('level', number)}
      from (select * from own.daily_totals t
             where t.day > (now() at time zone 'UTC')::date - ${sql.raw(String(daysMax))}
               and t.day <= (now() at time zone 'UTC')::date and t.symbol = ${symbol}::text and t.is_success
            offset 0) as f
     group by grouping sets ((f.day, f.slip44), (f.day), ()) order by f.day desc nulls last, f.slip44`;
  const of = (level: number) =>
    rows
      .filter((row) => row.level === level)
      .map(({ level: _, today: __, ...row }) => ({ ...row, day: row.day ?? '' }));
  const last = Date.parse(rows[0]?.today ?? '');
  const days = Array.from({ length: daysMax }, (_, index) =>
    new Date(last - (daysMax - 1 - index) * dayMs).toISOString().slice(0, 10),
  );
  const none = { transactions: 0, deposited: null, withdrawn: null };
  return { days, all: of(3)[0] ?? none, moved: of(1), chains: of(0) };
}
