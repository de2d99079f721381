import { sql } from 'drizzle-orm';
import type { TransactionType } from '../../kernel/vocabulary.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { databaseError } from '../connection/database-error.ts';

/** Exact amounts of a coin in its own units; `daily` has one entry per day, null if nothing moved. */
type CoinAmounts = { total: string; daily: (string | null)[] };

export type CoinFlow = { symbol: string; deposit: CoinAmounts; withdraw: CoinAmounts };

/** Movements of the last 30 days, from the transactions that the service still lists. */
export type DailyFlows = {
  /** UTC days as `2026-03-01`, oldest first; the last one is today. */
  days: string[];
  /** Number of transactions per day, in any state. */
  deposits: number[];
  withdrawals: number[];
  /** Amounts of successful transactions, for the 12 coins with the most transactions. */
  coins: CoinFlow[];
  /** Number of further coins. */
  coinsOmitted: number;
};

const daysMax = 30;
const coinsMax = 12;
const dayMs = 86_400_000;
/** Constant instead of a parameter, so that the planner sees how few days the query reads. */
const window = sql.raw(String(daysMax));

/**
 * Reads the last days of the view `daily_flows`, by an index whose cost does not grow with the history. Throws
 * LedgerError `database-unreachable`, or `unexpected` if the schema is missing.
 */
export async function readFlows(db: LedgerDb): Promise<DailyFlows> {
  const read = await db
    .execute<FlowRow>(sql`
with today as (select (now() at time zone 'UTC')::date as day),
flows as materialized (
  select f.day, f.symbol, lower(btrim(f.type)) as type, sum(f.transactions) as transactions,
         sum(f.amount) filter (where s.is_success) as amount
    from own.daily_flows f
    left join own.final_states s on s.state = lower(btrim(f.state))
   where f.day > (now() at time zone 'UTC')::date - ${window} and f.day <= (now() at time zone 'UTC')::date
   group by 1, 2, 3
),
coins as (
  select symbol, sum(transactions) as transactions from flows where symbol is not null group by symbol
),
most as (select * from coins order by transactions desc, symbol limit ${coinsMax})
select (select day::text from today) as today,
       (select count(*)::float8 from coins) as "coinsTotal",
       (select coalesce(json_agg(c), '[]')
          from (select day::text, type, sum(transactions) as transactions from flows group by day, type) as c) as counts,
       (select coalesce(json_agg(m order by m.transactions desc, m.symbol), '[]')
          from (select most.symbol, most.transactions,
                       trim_scale(coalesce(sum(f.amount) filter (where f.type = 'deposit'), 0))::text as deposit,
                       trim_scale(coalesce(sum(f.amount) filter (where f.type = 'withdraw'), 0))::text as withdraw,
                       json_agg(json_build_object('day', f.day, 'type', f.type, 'amount', trim_scale(f.amount)::text))
                         filter (where f.amount is not null) as amounts
                  from most join flows f using (symbol) group by most.symbol, most.transactions) as m) as coins`)
    .catch((error) => {
      throw databaseError(error);
    });
  const row = read.rows[0];
  if (!row) throw new Error('the query of daily flows returned no row');
  return rowToFlows(row);
}

type FlowRow = {
  today: string;
  coinsTotal: number;
  counts: { day: string; type: string | null; transactions: number }[];
  coins: {
    symbol: string;
    deposit: string;
    withdraw: string;
    amounts: { day: string; type: string | null; amount: string }[] | null;
  }[];
};

function rowToFlows({ today, coinsTotal, counts, coins }: FlowRow): DailyFlows {
  const last = Date.parse(today);
  const days = Array.from({ length: daysMax }, (_, index) =>
    new Date(last - (daysMax - 1 - index) * dayMs).toISOString().slice(0, 10),
  );
  const countsOf = (type: string) =>
    days.map((day) => counts.find((c) => c.day === day && c.type === type)?.transactions ?? 0);
  return {
    days,
    deposits: countsOf('deposit'),
    withdrawals: countsOf('withdraw'),
    coins: coins.map(({ symbol, amounts, ...totals }) => {
      const amountsOf = (type: TransactionType): CoinAmounts => ({
        total: totals[type],
        daily: days.map(
          (day) => amounts?.find((a) => a.day === day && a.type === type)?.amount ?? null,
        ),
      });
      return { symbol, deposit: amountsOf('deposit'), withdraw: amountsOf('withdraw') };
    }),
    coinsOmitted: coinsTotal - coins.length,
  };
}
