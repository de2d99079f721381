import { sql } from 'drizzle-orm';
import type { LedgerDb } from './connect-ledger.ts';
import { array } from './transaction-statement.ts';

/**
 * Notes how far the transactions are from the reported balances: one row in `reconciliation_runs` per coin whose
 * difference is another one than the last time; with the same difference only a new judgement of it is written.
 * `balancesAgeMs`: how long ago the balances were asked for.
 */
export async function recordReconciliation(db: LedgerDb, balancesAgeMs: number): Promise<void> {
  // A statement of its own: PostgreSQL sums up a long history by several workers only where nothing is written.
  const { rows } = await db.execute<Compared>(sql`
    select r.symbol, r.expected, r.reported, r.difference, r.is_explained, r.explanation, last.id as last_id,
           r.difference is distinct from last.difference as has_moved,
           (r.is_explained, r.explanation) is distinct from (last.is_explained, last.explanation) as is_rejudged
      from ledger.reconcile(now() - ${balancesAgeMs} * interval '1 millisecond') r
      left join (
        select distinct on (symbol) id, symbol, difference, is_explained, explanation
          from ledger.reconciliation_runs order by symbol, id desc
      ) as last on last.symbol = r.symbol`);
  const rejudged = rows.filter((row) => !row.has_moved && row.is_rejudged);
  if (rejudged.length > 0) await judgeAnew(db, rejudged);
  const moved = rows.filter((row) => row.has_moved);
  if (moved.length > 0) await insertRuns(db, moved);
}

type Compared = {
  symbol: string;
  expected: string;
  reported: string;
  difference: string;
  is_explained: boolean;
  explanation: string | null;
  /** The coin's latest row; null: it has none. */
  last_id: string | null;
  has_moved: boolean;
  is_rejudged: boolean;
};

async function judgeAnew(db: LedgerDb, rows: Compared[]): Promise<void> {
  await db.execute(sql`
    update ledger.reconciliation_runs t set is_explained = i.is_explained, explanation = i.explanation
      from unnest(
        ${array(rows, (row) => row.last_id)}::bigint[], ${array(rows, (row) => row.is_explained)}::boolean[],
        ${array(rows, (row) => row.explanation)}::text[]
      ) as i (id, is_explained, explanation)
     where t.id = i.id`);
}

async function insertRuns(db: LedgerDb, rows: Compared[]): Promise<void> {
  const newest = await newestOrders(
    db,
    rows.map(({ symbol }) => symbol),
  );
  await db.execute(sql`
    insert into ledger.reconciliation_runs
      (symbol, observed_at, expected, reported, difference, is_explained, explanation, last_order_no)
    select i.symbol, now(), i.expected, i.reported, i.difference, i.is_explained, i.explanation, i.last_order_no
      from unnest(
        ${array(rows, (row) => row.symbol)}::text[], ${array(rows, (row) => row.expected)}::numeric[],
        ${array(rows, (row) => row.reported)}::numeric[], ${array(rows, (row) => row.difference)}::numeric[],
        ${array(rows, (row) => row.is_explained)}::boolean[], ${array(rows, (row) => row.explanation)}::text[],
        ${array(rows, (row) => newest.get(row.symbol) ?? null)}::text[]
      ) as i (symbol, expected, reported, difference, is_explained, explanation, last_order_no)
     order by i.symbol`);
}

/**
 * The newest transaction of each coin. The history is gone through once for all of them, by several workers: a coin
 * that never came in, or never went out, is nowhere near its end.
 */
async function newestOrders(db: LedgerDb, symbols: string[]): Promise<Map<string, string>> {
  const { rows } = await db.execute<{ symbol: string; order_no: string }>(sql`
    select n.symbol, (
      select max(t.order_no) from ledger.transactions t
       where t.stream in ('deposit', 'withdraw') and t.occurred_at = n.occurred_at and t.symbol = n.symbol
    ) as order_no
      from (
        select symbol, max(occurred_at) as occurred_at
          from ledger.transactions where symbol = any(${array(symbols, (symbol) => symbol)}::text[]) group by symbol
      ) as n
     where n.occurred_at is not null`);
  return new Map(rows.map((row) => [row.symbol, row.order_no]));
}

/** Details of a backlog come in all the time: only when it nears its end does their number tell anything. */
const dueCountedMax = 10_000;

/** A text that differs whenever rows, their states or balances have changed; cheap on any history. */
export async function readMovement(db: LedgerDb): Promise<string> {
  const read = await db.execute<{ movement: string }>(sql`
    select concat_ws('/', (select max(id) from ledger.transaction_changes), (select max(id) from ledger.balance_changes),
                     (select sum(ledger_count) from ledger.streams), (select bool_and(is_complete) from ledger.streams),
                     (select count(*) from (select from ledger.transactions where next_check_at is not null
                                             limit ${dueCountedMax}) as due),
                     (select count(*) from ledger.rejects where resolved_at is null)) as movement`);
  return read.rows[0]?.movement ?? '';
}
