import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { ListOrder } from '../../kernel/vocabulary.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, out, pick, query } from '../connection/query-rows.ts';
import { streams, transactions } from '../own-tables.ts';
import { dueAtOnce, turn } from '../transactions/detail-checks.ts';

/** A stream's row as a pass reads and writes it; only the pass interprets `checkpoint`. */
export type StreamRow = {
  listOrder: ListOrder | null;
  pageSize: number | null;
  serviceTotal: number | null;
  /** Observation of the answer that the total comes from; 0: not known. */
  totalObservation: number;
  ledgerCount: number;
  /** A clean full scan backs the counts. */
  isBacked: boolean;
  acceptedDifference: number;
  /** Rows that this list shows and the ledger counts in the other list. */
  guests: number;
  /** Rows that both lists show, guests included. */
  conflicts: number;
  /** Number of passes over the list so far. */
  passes: number;
  checkpoint: unknown;
};

/** Characters of an error that are kept. */
const errorMax = 2_000;
/** Duration of a lease that its owner does not renew. A killed owner loses it with its connections. */
export const leaseMs = 30_000;

export const guestsOf = (name: string) =>
  sql`(select count(*) from own.transactions t where t.also_listed_in = ${name})`;

/** Returns the order, the page size and the checkpoint of a list, as the last pass left them; undefined if none did. */
export async function readListHead(
  db: LedgerDb,
  name: string,
): Promise<Pick<StreamRow, 'listOrder' | 'pageSize' | 'checkpoint'> | undefined> {
  const { listOrder, pageSize, checkpoint } = streams;
  const head = pick({ listOrder, pageSize, checkpoint });
  return (await query(db)`select ${head} from own.streams where name = ${name}`)[0];
}

/** Counts the rows that the ledger has of a list. */
export async function countListed(db: LedgerDb, name: string): Promise<number> {
  const rows = pick({ rows: streams.ledgerCount });
  return (await query(db)`select ${rows} from own.streams where name = ${name}`)[0]?.rows ?? 0;
}

/** Notes that the service shows the list without rows, since now or earlier, or with rows. */
export async function noteEmptiness(db: LedgerDb, name: string, isEmpty: boolean): Promise<void> {
  await db.execute(sql`
    update own.streams set empty_since = case when ${isEmpty} then coalesce(empty_since, now()) end
     where name = ${name}`);
}

/** Returns true if the stream lists the row. */
export async function hasRow(db: LedgerDb, stream: string, key: string): Promise<boolean> {
  const { orderNo } = transactions;
  const rows = await query(db)`
    select ${pick({ orderNo })} from own.transactions where order_no = ${key} and stream = ${stream} and is_listed`;
  return rows.length > 0;
}

/** Releases the lease and stores the result of the pass; `error` is null after a success. */
export async function releaseStream(
  db: LedgerDb,
  name: string,
  owner: string,
  error: string | null,
): Promise<void> {
  await db.execute(sql`
    update own.streams
       set lease_owner = null, lease_until = null,
           last_success_at = case when ${error}::text is null then now() else last_success_at end,
           last_error = left(${error}::text, ${errorMax}),
           last_error_at = case when ${error}::text is null then last_error_at else now() end
     where name = ${name} and lease_owner = ${owner}`);
}

/** Restarts the lists: the next pass reads them from their first page. A pass under way loses its lease and ends. */
export async function restartStreams(db: LedgerDb, names: string[]): Promise<void> {
  await db.execute(sql`update own.streams set checkpoint = null, is_backed = false, accepted_difference = 0,
      doubt = null, lease_owner = null, lease_until = null
    where name = any(${sql.param(names)}::text[])`);
}

/**
 * Returns the number of the stream's listed rows at or before `timeMs`; rows without a time count as well. The list
 * engine compares it with the service's ranks. Uses indexes alone: counts all rows and subtracts the few unlisted ones.
 * Rows whose list time differs from their detail's count by the list's time, if that is readable.
 */
export async function countUntil(db: LedgerDb, stream: string, timeMs: number): Promise<number> {
  const until = instantOf(timeMs);
  const isUntil = sql`occurred_at <= ${until}`;
  const count = (condition: SQL) =>
    sql`(select count(*) from own.transactions where stream = ${stream} and ${condition})`;
  const [counted] = await query(db)`
    select (${count(isUntil)} + ${count(sql`occurred_at is null`)}
          - ${count(sql`not is_listed and (${isUntil} or occurred_at is null)`)}
          + ${count(sql`list_word ? 'occurred_at' and is_listed and coalesce(${listedAt}, occurred_at, '-infinity') <= ${until}`)}
          - ${count(sql`list_word ? 'occurred_at' and is_listed and (${isUntil} or occurred_at is null)`)}) as ${out('count', number)}`;
  return counted?.count ?? 0;
}

/** Time by which the list orders its rows; `occurred_at` holds the detail's time if the two differ. */
export const listedAt = sql.raw('ledger.listed_at(occurred_at, list_word)');

/** Returns the order numbers of listed rows between two times (Unix ms, ends excluded; null: unbounded), sorted. */
export async function listedBetween(
  db: LedgerDb,
  stream: string,
  { after, before }: { after: number | null; before: number | null },
): Promise<string[]> {
  const isWithin = (time: SQL) => sql`
    ${time} > coalesce(${instantOf(after)}, '-infinity') and ${time} < coalesce(${instantOf(before)}, 'infinity')`;
  const { orderNo } = transactions;
  const found = await query(db)`
    select ${pick({ orderNo })} from own.transactions
     where stream = ${stream} and is_listed and not coalesce(list_word ? 'occurred_at', false)
       and ${isWithin(sql`occurred_at`)}
    union all
    select order_no from own.transactions
     where stream = ${stream} and is_listed and list_word ? 'occurred_at' and ${isWithin(listedAt)}
     order by 1`;
  return found.map((row) => row.orderNo);
}

function instantOf(ms: number | null): SQL {
  return sql`(timestamptz 'epoch' + ${ms}::bigint * interval '1 millisecond')`;
}

/** Returns the order numbers of up to `limit` rows that the list shows without a readable time, sorted. */
export async function listedUndated(
  db: LedgerDb,
  stream: string,
  limit: number,
): Promise<string[]> {
  const { orderNo } = transactions;
  const found = await query(db)`
    select ${pick({ orderNo })} from own.transactions
     where stream = ${stream} and is_listed and occurred_at is null and not coalesce(list_word ? 'occurred_at', false)
    union all
    select order_no from own.transactions
     where stream = ${stream} and is_listed and list_word ? 'occurred_at' and ${listedAt} is null
     order by 1 limit ${limit}`;
  return found.map((row) => row.orderNo);
}

/**
 * Marks rows that the list no longer shows, and logs it. Rows are never deleted. A row that another list shows as well
 * counts there from now on, with the type that it has there, because details bring none. A row that already counts in
 * another list stays as it is: a pass over that list has moved it meanwhile. A row that is not final stays due for its
 * next check. Triggers update the counts.
 */
export async function unlistRows(db: LedgerDb, list: string, orderNos: string[]): Promise<void> {
  await db.execute(sql`
    with gone as (
      select order_no, stream, type, also_listed_in, is_final, coalesce(other_list_type, type) as new_type
        from own.transactions
       where is_listed and stream = ${list} and order_no = any(${sql.param(orderNos)}::text[])
       order by order_no for update),
    unlisted as (
      update own.transactions t
         set stream = coalesce(g.also_listed_in, t.stream), is_listed = g.also_listed_in is not null, also_listed_in = null,
             type = g.new_type, other_list_type = null,
             seal = case when g.also_listed_in is null then t.seal end,
             changed_at = now(), observed_at = now()
        from gone g where g.order_no = t.order_no),
    done as (
      delete from own.detail_checks c using gone g
       where c.order_no = g.order_no and g.is_final and g.also_listed_in is null),
    ${dueAtOnce('due', sql`select order_no, is_final, ${turn.news}::smallint from gone where also_listed_in is not null`)}
    insert into own.transaction_changes (order_no, observed_at, field, old_value, new_value)
    select g.order_no, now(), c.field, c.old_value, c.new_value
      from gone g,
           lateral (values ('is_listed', case when g.also_listed_in is null then 'true' end, 'false'),
                           ('stream', case when g.also_listed_in is not null then g.stream end, g.also_listed_in),
                           ('type', g.type, g.new_type)
                   ) as c (field, old_value, new_value)
     where c.old_value is distinct from c.new_value and (c.old_value is not null or c.field = 'type')
     order by g.order_no`);
}

/** Returns the difference of the counts that a clean scan has accepted; 0 while something else is in doubt. */
export async function readAcceptedDifference(db: LedgerDb, stream: string): Promise<number> {
  const { name, acceptedDifference, isBacked, doubt } = streams;
  const [row] = await db
    .select({ acceptedDifference })
    .from(streams)
    .where(and(eq(name, stream), isBacked, isNull(doubt)));
  return row?.acceptedDifference ?? 0;
}

/** Returns both counts of every stream, ordered by name. */
export async function readStreamCounts(
  db: LedgerDb,
): Promise<
  { name: string; serviceTotal: number | null; ledgerCount: number; isComplete: boolean }[]
> {
  const { name, serviceTotal, ledgerCount, isComplete } = streams;
  return await db
    .select({ name, serviceTotal, ledgerCount, isComplete })
    .from(streams)
    .orderBy(name);
}
