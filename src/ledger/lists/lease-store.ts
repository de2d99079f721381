import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, orNull, out, pick, query, truth } from '../connection/query-rows.ts';
import { streams } from '../own-tables.ts';
import { guestsOf, leaseMs, type StreamRow } from './stream-store.ts';
import { isBeingRepaired } from './verify-store.ts';

/** Returns a name for one pass. It begins with the name that the process's connections carry (`ledger.instance`). */
export function newLeaseOwner(instance: string): string {
  return `${instance} ${randomUUID().slice(0, 8)}`;
}

/**
 * `hasOpenRejects`: the ledger had open rejects when the lease began. `emptyForMs`: time for which the service had
 * shown the list without rows by then; null: it showed rows last. `isBeingRepaired`: a repair had stored some of its
 * rows, and no pass has read the list since.
 */
export type LeasedRow = StreamRow & {
  hasOpenRejects: boolean;
  emptyForMs: number | null;
  isBeingRepaired: boolean;
};

/** Time (ms) after which a wish for a lease expires unless it is repeated. */
const wishMs = 1_000;

/**
 * Leases the stream for one pass, and inserts its row if it is new. Returns undefined while another pass of any process
 * holds the lease, or has a wish for it. `isWished`: records a wish, so that the holder gives the lease back. The lease
 * only saves requests: two readers at once are harmless.
 */
export async function leaseStream(
  db: LedgerDb,
  name: string,
  owner: string,
  { isWished = false } = {},
): Promise<LeasedRow | undefined> {
  const leased =
    (await takeLease(db, name, owner, isWished)) ??
    ((await insertStream(db, name)) ? await takeLease(db, name, owner, isWished) : undefined);
  if (isWished && !leased) await noteWish(db, name);
  return leased;
}

/** Inserts the row of a new stream; returns false if it is there already. */
async function insertStream(db: LedgerDb, name: string): Promise<boolean> {
  const { rowCount } = await db.execute(
    sql`insert into own.streams (name) values (${name}) on conflict (wallet, name) do nothing`,
  );
  return (rowCount ?? 0) > 0;
}

async function takeLease(
  db: LedgerDb,
  name: string,
  owner: string,
  isWished: boolean,
): Promise<LeasedRow | undefined> {
  const { listOrder, pageSize, serviceTotal, ledgerCount, isBacked, acceptedDifference } = streams;
  const { totalObservation, conflicts, passes, checkpoint } = streams;
  const emptyFor = sql`(extract(epoch from now() - empty_since) * 1000)::float8`;
  const kept = { listOrder, pageSize, serviceTotal, ledgerCount, isBacked, acceptedDifference };
  const [leased] = await query(db)`
    update own.streams
       set lease_owner = ${owner}, lease_until = now() + ${leaseMs} * interval '1 millisecond', passes = passes + 1
     where name = ${name} and (lease_owner is null or lease_owner = ${owner} or lease_until < now()
             or not exists (select from pg_stat_activity
                             where application_name like 'wallet-ledger %' and starts_with(lease_owner, application_name)))
       and (${isWished} or not ${isLeaseWished(name)})
    returning ${pick({ ...kept, totalObservation, conflicts, passes, checkpoint })}, ${guestsOf(name)} as ${out('guests', number)},
              doubt is not distinct from ${isBeingRepaired} as ${out('isBeingRepaired', truth)},
              ${emptyFor} as ${out('emptyForMs', orNull(number))},
              exists (select from own.rejects r where r.resolved_at is null) as ${out('hasOpenRejects', truth)}`;
  return leased;
}

/** Returns true if a poll has a wish for the lease of the stream. */
export async function isWishedFor(db: LedgerDb, name: string): Promise<boolean> {
  const [read] = await query(db)`select ${isLeaseWished(name)} as ${out('isWished', truth)}`;
  return read?.isWished ?? false;
}

function isLeaseWished(name: string): SQL {
  return sql`exists (select from own.lease_wishes w where w.stream = ${name} and w.until > now())`;
}

async function noteWish(db: LedgerDb, name: string): Promise<void> {
  await db.execute(sql`
    insert into own.lease_wishes (stream, until) values (${name}, now() + ${wishMs} * interval '1 millisecond')
    on conflict (wallet, stream) do update set until = excluded.until`);
}

/** Deletes the wishes for the lease of the stream. A pass that still waits for it records its wish again. */
export async function endWishes(db: LedgerDb, name: string): Promise<void> {
  await db.execute(sql`delete from own.lease_wishes where stream = ${name}`);
}

/** Releases the lease of a pass that has read nothing, or old rows only, so that the last success stays as it is. */
export async function dropLease(db: LedgerDb, name: string, owner: string): Promise<void> {
  await db.execute(sql`
    update own.streams set lease_owner = null, lease_until = null where name = ${name} and lease_owner = ${owner}`);
}
