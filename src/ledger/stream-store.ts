import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import type { ListOrder } from '../kernel/list-order.ts';
import type { LedgerDb } from './connect-ledger.ts';

/** A stream's row as a pass reads and writes it; `checkpoint` is the pass's own business. */
export type StreamRow = {
  listOrder: ListOrder | null;
  pageSize: number | null;
  serviceTotal: number | null;
  ledgerCount: number;
  /** A clean full scan stands behind the counts. */
  isBacked: boolean;
  acceptedDifference: number;
  checkpoint: unknown;
};

/** How long a reader keeps a stream to itself without a sign of life; a killed one loses it with its connections. */
const leaseMs = 30_000;

/** A name for one pass: it begins with the name that the process's connections carry (`ledger.instance`). */
export function newLeaseOwner(instance: string): string {
  return `${instance} ${randomUUID().slice(0, 8)}`;
}

/**
 * Takes the stream for one pass, making its row when it is new; undefined while another pass, here or elsewhere,
 * reads it. The lease only saves requests: two readers at once are harmless.
 */
export async function leaseStream(
  db: LedgerDb,
  name: string,
  owner: string,
): Promise<StreamRow | undefined> {
  await db.execute(sql`insert into ledger.streams (name) select ${name}
    where not exists (select from ledger.streams where name = ${name}) on conflict do nothing`);
  const leased = await db.execute<StreamRow & Record<string, unknown>>(sql`
    update ledger.streams
       set lease_owner = ${owner}, lease_until = now() + ${leaseMs} * interval '1 millisecond'
     where name = ${name} and (lease_owner is null or lease_owner = ${owner} or lease_until < now()
             or not exists (select from pg_stat_activity
                             where application_name like 'wallet-ledger %' and starts_with(lease_owner, application_name)))
    returning list_order as "listOrder", page_size as "pageSize", service_total::float8 as "serviceTotal",
              ledger_count::float8 as "ledgerCount", is_backed as "isBacked",
              accepted_difference::float8 as "acceptedDifference", checkpoint`);
  return leased.rows[0];
}

/**
 * Writes what a pass knows of its stream, in the transaction of the rows it covers, and prolongs the lease.
 * `hasWalked`: a full scan ended with it. Returns the ledger's count, or undefined when another process has taken the stream over: then nothing was written.
 */
export async function saveStream(
  db: LedgerDb,
  name: string,
  owner: string,
  row: Omit<StreamRow, 'ledgerCount'> & { hasWalked: boolean },
): Promise<number | undefined> {
  const saved = await db.execute<{ ledger_count: number }>(sql`
    update ledger.streams
       set list_order = ${row.listOrder}, page_size = ${row.pageSize}, service_total = ${row.serviceTotal},
           is_backed = ${row.isBacked}, accepted_difference = ${row.acceptedDifference}, count_at_last_pass = ledger_count,
           last_walk_at = case when ${row.hasWalked} then now() else last_walk_at end,
           checkpoint = ${JSON.stringify(row.checkpoint)}::jsonb,
           lease_until = now() + ${leaseMs} * interval '1 millisecond'
     where name = ${name} and lease_owner = ${owner}
    returning ledger_count::float8 as ledger_count`);
  return saved.rows[0]?.ledger_count;
}

/** Gives the stream back and notes how the pass ended; `error` null: well. */
export async function releaseStream(
  db: LedgerDb,
  name: string,
  owner: string,
  error: string | null,
): Promise<void> {
  await db.execute(sql`
    update ledger.streams
       set lease_owner = null, lease_until = null,
           last_success_at = case when ${error}::text is null then now() else last_success_at end,
           last_error = ${error}::text,
           last_error_at = case when ${error}::text is null then last_error_at else now() end
     where name = ${name} and lease_owner = ${owner}`);
}

/** Forgets what walks have vouched for, so that the next pass reads the list from its first page. */
export async function restartStreams(db: LedgerDb, names: string[]): Promise<void> {
  await db.execute(sql`update ledger.streams set checkpoint = null, is_backed = false
    where name = any(${sql.param(names)}::text[])`);
}

/** Milliseconds since the list was last read from end to end; null when never. */
export async function msSinceWalk(db: LedgerDb, name: string): Promise<number | null> {
  const found = await db.execute<{ ms: number | null }>(sql`
    select (extract(epoch from now() - last_walk_at) * 1000)::float8 as ms from ledger.streams where name = ${name}`);
  return found.rows[0]?.ms ?? null;
}

/**
 * How many listed rows of the stream are at least as old as `timeMs`; rows without a time count as old. The
 * ledger's half of the comparison of places and ranks. Counted in indexes alone: all, less the few not listed.
 */
export async function countUntil(db: LedgerDb, stream: string, timeMs: number): Promise<number> {
  const isUntil = sql`occurred_at <= ${instantOf(timeMs)}`;
  const count = (condition: SQL) =>
    sql`(select count(*) from ledger.transactions where stream = ${stream} and ${condition})`;
  const counted = await db.execute<{ count: number }>(sql`
    select (${count(isUntil)} + ${count(sql`occurred_at is null`)}
          - ${count(sql`not is_listed and (${isUntil} or occurred_at is null)`)})::float8 as count`);
  return counted.rows[0]?.count ?? 0;
}

/** Listed rows of the stream within a stretch of time (Unix ms, ends excluded; null: without end), by order number. */
export async function listedBetween(
  db: LedgerDb,
  stream: string,
  { after, before }: { after: number | null; before: number | null },
): Promise<string[]> {
  const found = await db.execute<{ order_no: string }>(sql`
    select order_no from ledger.transactions
     where stream = ${stream} and is_listed
       and occurred_at > coalesce(${instantOf(after)}, '-infinity')
       and occurred_at < coalesce(${instantOf(before)}, 'infinity')
     order by order_no`);
  return found.rows.map((row) => row.order_no);
}

function instantOf(ms: number | null): SQL {
  return sql`(timestamptz 'epoch' + ${ms}::bigint * interval '1 millisecond')`;
}

/** Marks rows that the service no longer lists and logs it; they are never deleted. Triggers keep the counts. */
export async function unlistRows(db: LedgerDb, orderNos: string[]): Promise<void> {
  await db.execute(sql`
    with unlisted as (
      update ledger.transactions set is_listed = false, next_check_at = null, changed_at = now(), observed_at = now()
       where is_listed and order_no = any(${sql.param(orderNos)}::text[]) returning order_no)
    insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
    select order_no, now(), 'is_listed', 'true', 'false' from unlisted order by order_no`);
}

/** The two counts of every stream, in the order of their names. */
export async function readStreamCounts(
  db: LedgerDb,
): Promise<
  { name: string; serviceTotal: number | null; ledgerCount: number; isComplete: boolean }[]
> {
  const found = await db.execute<{
    name: string;
    serviceTotal: number | null;
    ledgerCount: number;
    isComplete: boolean;
  }>(sql`
    select name, service_total::float8 as "serviceTotal", ledger_count::float8 as "ledgerCount",
           is_complete as "isComplete"
      from ledger.streams order by name`);
  return found.rows;
}
