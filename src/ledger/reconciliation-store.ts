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
    select symbol, expected, reported, difference, is_explained, explanation
      from ledger.reconcile(now() - ${balancesAgeMs} * interval '1 millisecond')`);
  await db.execute(sql`
with last as (
  select distinct on (symbol) id, symbol, difference, is_explained, explanation
    from ledger.reconciliation_runs order by symbol, id desc
),
compared as materialized (
  select i.*, last.id as last_id, last.difference as last_difference, last.is_explained as last_is_explained,
         last.explanation as last_explanation
    from unnest(
      ${array(rows, (row) => row.symbol)}::text[], ${array(rows, (row) => row.expected)}::numeric[],
      ${array(rows, (row) => row.reported)}::numeric[], ${array(rows, (row) => row.difference)}::numeric[],
      ${array(rows, (row) => row.is_explained)}::boolean[], ${array(rows, (row) => row.explanation)}::text[]
    ) as i (symbol, expected, reported, difference, is_explained, explanation)
    left join last on last.symbol = i.symbol
),
judged as (
  update ledger.reconciliation_runs t set is_explained = c.is_explained, explanation = c.explanation
    from compared c
   where t.id = c.last_id and c.difference = c.last_difference
     and (c.is_explained, c.explanation) is distinct from (c.last_is_explained, c.last_explanation)
)
insert into ledger.reconciliation_runs
  (symbol, observed_at, expected, reported, difference, is_explained, explanation, last_order_no)
select c.symbol, now(), c.expected, c.reported, c.difference, c.is_explained, c.explanation, newest.order_no
  from compared c
  left join lateral (
    select t.order_no
      from (values ('deposit'), ('withdraw')) as s (stream)
     cross join lateral (
       select order_no, occurred_at from ledger.transactions
        where stream = s.stream and symbol = c.symbol and occurred_at is not null
        order by occurred_at desc, order_no desc limit 1) as t
     order by t.occurred_at desc, t.order_no desc limit 1) as newest on true
 where c.difference is distinct from c.last_difference
 order by c.symbol`);
}

type Compared = {
  symbol: string;
  expected: string;
  reported: string;
  difference: string;
  is_explained: boolean;
  explanation: string | null;
};

/** A text that differs whenever rows, their states or balances have changed; cheap on any history. */
export async function readMovement(db: LedgerDb): Promise<string> {
  const read = await db.execute<{ movement: string }>(sql`
    select concat_ws('/', (select max(id) from ledger.transaction_changes), (select max(id) from ledger.balance_changes),
                     (select sum(ledger_count) from ledger.streams), (select bool_and(is_complete) from ledger.streams),
                     (select count(*) from ledger.transactions where next_check_at is not null),
                     (select count(*) from ledger.rejects where resolved_at is null)) as movement`);
  return read.rows[0]?.movement ?? '';
}
