import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { orNull, out, pick, query, text, truth } from '../connection/query-rows.ts';
import { arrayParam } from '../connection/unnest-rows.ts';
import { reconciliationRuns } from '../own-tables.ts';

/**
 * Scope of a comparison. `coins`: each symbol over all chains. `assets`: each asset of the symbols that name several.
 */
export type ReconciliationScope = 'coins' | 'assets';

/**
 * Compares the transactions with the reported balances. Inserts a row into `reconciliation_runs` for each changed
 * difference. Updates the judgement of an unchanged difference. `balancesAgeMs` is the time since the balances were
 * requested. Returns the number of rows inserted or updated, and whether an explanation may end with time alone.
 */
export async function recordReconciliation(
  db: LedgerDb,
  balancesAgeMs: number,
  scope: ReconciliationScope = 'coins',
): Promise<{ written: number; mayLapse: boolean }> {
  const readAt = sql`now() - ${balancesAgeMs} * interval '1 millisecond'`;
  // Reads in a separate statement: PostgreSQL uses parallel workers for the long sum only if nothing is written.
  const rows: Compared[] = await query(db)`
    with compared as materialized (${comparisons[scope](readAt)}),
    known as (
      select * from compared
      union all
      select u.symbol, u.slip44, u.contract_address, 0, 0, 0, true, null
        from own.unexplained_differences u
       where (u.slip44 is null) = ${scope === 'coins'}
         and not exists (select from compared c
                          where (c.symbol, c.slip44, c.contract_address)
                                is not distinct from (u.symbol, u.slip44, u.contract_address))
    )
    select ${pick({ symbol, slip44, contractAddress, expected, reported, difference, isExplained, explanation })},
           last.id::text as ${out('lastId', orNull(text))},
           last.unexplained_since as ${out('lastUnexplainedSince', orNull(text))},
           k.difference is distinct from last.difference as ${out('hasMoved', truth)},
           (k.is_explained, k.explanation) is distinct from (last.is_explained, last.explanation)
             as ${out('isRejudged', truth)}
      from known k
      left join lateral (
        select r.id, r.difference, r.is_explained, r.explanation, r.unexplained_since::text
          from own.reconciliation_runs r
         where r.symbol = k.symbol and coalesce(r.slip44, -1) = coalesce(k.slip44, -1)
           and coalesce(r.contract_address, '') = coalesce(k.contract_address, '')
         order by r.id desc limit 1) as last on true`;
  const rejudged = rows.filter((row) => !row.hasMoved && row.isRejudged);
  if (rejudged.length > 0) await updateJudgement(db, rejudged);
  const moved = rows.filter((row) => row.hasMoved);
  if (moved.length > 0) await insertRuns(db, moved);
  const mayLapse = rows.some((row) => row.isExplained && Number(row.difference) !== 0);
  return { written: rejudged.length + moved.length, mayLapse };
}

/** Queries with the same columns for both scopes. An asset that is alone under its symbol is judged as a coin. */
const comparisons: Record<ReconciliationScope, (readAt: SQL) => SQL> = {
  coins: (readAt) => sql`
    select symbol, null::integer as slip44, null::text as contract_address, expected, reported, difference,
           is_explained, explanation
      from ledger.reconcile(${readAt})`,
  assets: (readAt) => sql`
    select symbol, slip44, contract_address, expected, reported, difference, is_explained, explanation
      from (select r.*, count(*) over (partition by r.symbol) as assets from ledger.reconcile_assets(${readAt}) r) as r
     where r.assets > 1`,
};

const {
  symbol,
  slip44,
  contractAddress,
  expected,
  reported,
  difference,
  isExplained,
  explanation,
} = alias(reconciliationRuns, 'k');

type Compared = Omit<
  typeof reconciliationRuns.$inferSelect,
  'id' | 'wallet' | 'observedAt' | 'lastOrderNo' | 'unexplainedSince'
> & {
  /** Id of the latest row of the coin or asset; null if it has none. */
  lastId: string | null;
  lastUnexplainedSince: string | null;
  hasMoved: boolean;
  isRejudged: boolean;
};

async function updateJudgement(db: LedgerDb, rows: Compared[]): Promise<void> {
  await db.execute(sql`
    update own.reconciliation_runs t
       set is_explained = i.is_explained, explanation = i.explanation,
           unexplained_since = case when not i.is_explained then coalesce(t.unexplained_since, t.observed_at) end
      from unnest(
        ${arrayParam(rows, (row) => row.lastId)}::bigint[], ${arrayParam(rows, (row) => row.isExplained)}::boolean[],
        ${arrayParam(rows, (row) => row.explanation)}::text[]
      ) as i (id, is_explained, explanation)
     where t.id = i.id`);
}

async function insertRuns(db: LedgerDb, rows: Compared[]): Promise<void> {
  const newest = await newestOrders(db, [...new Set(rows.map(({ symbol }) => symbol))]);
  await db.execute(sql`
    insert into own.reconciliation_runs
      (symbol, slip44, contract_address, observed_at, expected, reported, difference, is_explained, explanation,
       last_order_no, unexplained_since)
    select i.symbol, i.slip44, i.contract_address, now(), i.expected, i.reported, i.difference, i.is_explained,
           i.explanation, i.last_order_no,
           case when not i.is_explained then coalesce(i.last_unexplained_since, now()) end
      from unnest(
        ${arrayParam(rows, (row) => row.symbol)}::text[], ${arrayParam(rows, (row) => row.slip44)}::integer[],
        ${arrayParam(rows, (row) => row.contractAddress)}::text[],
        ${arrayParam(rows, (row) => row.expected)}::numeric[], ${arrayParam(rows, (row) => row.reported)}::numeric[],
        ${arrayParam(rows, (row) => row.difference)}::numeric[],
        ${arrayParam(rows, (row) => row.isExplained)}::boolean[], ${arrayParam(rows, (row) => row.explanation)}::text[],
        ${arrayParam(rows, (row) => newest.get(row.symbol) ?? null)}::text[],
        ${arrayParam(rows, (row) => row.lastUnexplainedSince)}::timestamptz[]
      ) as i (symbol, slip44, contract_address, expected, reported, difference, is_explained, explanation,
              last_order_no, last_unexplained_since)
     order by i.symbol, i.slip44, i.contract_address`);
}

/**
 * Returns the newest transaction of each coin. The running totals name its day, and each day is read once for all its
 * coins. All days are looked through only for coins that did not move in the last week.
 */
async function newestOrders(db: LedgerDb, symbols: string[]): Promise<Map<string, string>> {
  const newestDays = (ofSymbols: SQL, since: SQL) => sql`
    select m.symbol, max(m.day) as day
      from (select f.symbol, f.day from own.daily_sums_now f
             where f.symbol = any(${ofSymbols}) and f.day >= ${since} and f.day < 'infinity'
             group by f.symbol, f.day having sum(f.transactions) > 0) as m
     group by m.symbol`;
  const asked = sql`${arrayParam(symbols, (symbol) => symbol)}::text[]`;
  const rows = await query(db)`
    with recent as materialized (${newestDays(asked, sql`(now() at time zone 'UTC')::date - 7`)}),
    earlier as materialized (${newestDays(
      sql`array(select s.symbol from unnest(${asked}) as s (symbol) except select r.symbol from recent r)`,
      sql`'-infinity'`,
    )}),
    days as materialized (
      select n.day, array_agg(n.symbol) as symbols
        from (select * from recent union all select * from earlier) as n group by n.day)
    select newest.symbol as ${out('symbol', text)}, newest.order_no as ${out('orderNo', text)}
      from days d
     cross join lateral (
        select distinct on (t.symbol) t.symbol, t.order_no from own.transactions t
         where t.stream in ('deposit', 'withdraw') and t.symbol = any(d.symbols) and t.is_listed
           and t.occurred_at >= d.day::timestamp at time zone 'UTC'
           and t.occurred_at < (d.day + 1)::timestamp at time zone 'UTC'
         order by t.symbol, t.occurred_at desc, t.order_no desc) as newest`;
  return new Map(rows.map((row) => [row.symbol, row.orderNo]));
}

/** Upper bound of the counted details. A backlog changes all the time, so the count matters only near its end. */
const dueCountedMax = 10_000;

/** Returns a number that also grows when a transaction commits after others that got their numbers after it. */
const latestOf = (table: 'transaction_changes' | 'balance_changes') =>
  sql`(select sum(id) from (select id from own.${sql.identifier(table)} order by id desc limit 1000) as latest)`;

/**
 * Returns a text that differs whenever rows, their states or balances have changed. Its cost does not grow with the
 * history.
 */
export async function readMovement(db: LedgerDb): Promise<string> {
  const [read] = await query(db)`
    select concat_ws('/', ${latestOf('transaction_changes')}, ${latestOf('balance_changes')},
                     (select sum(ledger_count) from own.streams), (select bool_and(is_complete) from own.streams),
                     (select count(*) from (select from own.waiting_details
                                             limit ${dueCountedMax}) as due),
                     (select count(*) from own.rejects where resolved_at is null)) as ${out('movement', text)}`;
  return read?.movement ?? '';
}
