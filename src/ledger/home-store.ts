import { sql } from 'drizzle-orm';
import { LedgerError } from '../kernel/errors.ts';
import type { Ledger, LedgerDb } from './connection/connect-ledger.ts';

/** A time that the database was found elsewhere than at home, which nobody has acknowledged yet. */
export type Move = {
  what: string;
  noticedAt: string;
  /** Null: nothing is handed out or generated since. */
  healedAt: string | null;
  setAside: number;
  closedRequests: number;
};

/** Null while the database is at home; otherwise what is different, in words. */
export async function readAway(db: LedgerDb): Promise<string | null> {
  const found = await db.execute<{ away: string | null }>(sql`select engine.home_state() as away`);
  return found.rows[0]?.away ?? null;
}

/** Fails while the database is not at home: call it in the transaction that writes a request for addresses down. */
export async function requireHome(db: LedgerDb): Promise<void> {
  await db.execute(sql`select engine.require_home()`);
}

/**
 * Fails when the database has moved since the request was written down: what its answer brings may have been handed
 * out where the database was before. Call it in the transaction that stores the answer.
 */
export async function requireHomeOfRequest(db: LedgerDb, id: number): Promise<void> {
  // The lock that a healing process takes first.
  await db.execute(sql`
    select from ledger.pools
     where slip44 = (select slip44 from ledger.address_requests where id = ${id}) for update`);
  await requireHome(db);
  const found = await db.execute<{ same: boolean }>(sql`
    select epoch = engine.current_epoch() as same from ledger.address_requests where id = ${id}`);
  if (found.rows[0]?.same) return;
  throw new LedgerError('database-moved', 'the database has moved since the request was sent');
}

/** Declares the database moved where `POOL_EXCLUSIVE` makes a new foreign address of the chain a sign of it. */
export async function noticeForeign(db: LedgerDb, slip44: number): Promise<void> {
  await db.execute(sql`select engine.notice_foreign(${slip44})`);
}

/** From now on the database counts as moved, for a reason that its own facts do not show. */
export async function disturbHome(db: LedgerDb, reason: string): Promise<void> {
  await db.execute(sql`select engine.disturb_home(${reason})`);
}

/** Writes down that the database has moved; true when that was not known. */
export async function noteMove(ledger: Ledger, away: string): Promise<boolean> {
  return await ledger.transaction(async (db) => {
    await lockHome(db);
    const noted = await db.execute(sql`
      insert into engine.moves (epoch, what, noticed_at)
      select ${endedEpoch}, ${away}, now()
       where not exists (select from engine.moves where healed_at is null)
      returning epoch`);
    return noted.rows.length > 0;
  });
}

/**
 * Begins a new epoch where the database is now. What was available becomes foreign, and open requests for addresses
 * close without taking anything: both may have been handed out where the database was before. The address lists are
 * read anew before anything is generated. Null: the database is at home, another process was faster. Call it inside a
 * transaction.
 */
export async function healHome(db: LedgerDb): Promise<Move | null> {
  await lockHome(db);
  const away = await readAway(db);
  if (away === null) return null;
  const epoch = await openMove(db, away);
  const aside = await db.execute(sql`
    update ledger.addresses set status = 'foreign', set_aside_epoch = ${epoch} where status = 'available'`);
  const closed = await db.execute(sql`
    update ledger.address_requests
       set state = 'done', finished_at = now(), answer = null,
           error = 'closed because the database has moved: what it brought stays foreign'
     where state in ('sent', 'unknown')`);
  await beginEpoch(db, epoch, { setAside: aside.rowCount ?? 0, closed: closed.rowCount ?? 0 });
  return await readMove(db, epoch);
}

/**
 * The operator says that nothing was lost: what moves set aside becomes available again, but for what has been assigned,
 * used or adopted since; a move that nobody healed ends. Returns how many addresses came back. Call it inside a
 * transaction.
 */
export async function acceptMove(db: LedgerDb): Promise<number> {
  await lockHome(db);
  const away = await readAway(db);
  if (away !== null) await beginEpoch(db, await openMove(db, away), { setAside: 0, closed: 0 });
  const back = await db.execute(sql`
    update ledger.addresses
       set status = 'available', set_aside_epoch = null
     where status = 'foreign' and refused is null
       and set_aside_epoch in (select epoch from engine.moves where acknowledged_at is null)`);
  return back.rowCount ?? 0;
}

/** Ends the problem: the operator has said what became of the addresses. */
export async function acknowledgeMoves(db: LedgerDb): Promise<void> {
  await db.execute(sql`
    update engine.moves set acknowledged_at = now() where acknowledged_at is null and healed_at is not null`);
}

/** Moves that nobody has acknowledged, the oldest first. */
export async function readMoves(db: LedgerDb): Promise<Move[]> {
  const found = await db.execute<Move & Record<string, unknown>>(
    sql`select ${moveColumns} from engine.moves where acknowledged_at is null order by epoch`,
  );
  return found.rows;
}

/** Which facts beside those of the catalogue tell this place from others, and which the server hides. */
export async function readHiddenFacts(
  db: LedgerDb,
): Promise<{ known: string[]; missing: string[] }> {
  const found = await db.execute<{ fact: string; isKnown: boolean }>(sql`
    select f.fact, f.is_known as "isKnown" from engine.home h,
           lateral (values ('the identifier of the cluster', h.system_identifier is not null),
                           ('the timeline of the log', h.timeline is not null)) as f (fact, is_known)`);
  const those = (isKnown: boolean) =>
    found.rows.filter((row) => row.isKnown === isKnown).map(({ fact }) => fact);
  return { known: those(true), missing: those(false) };
}

const moveColumns = sql`what, to_json(noticed_at) #>> '{}' as "noticedAt", to_json(healed_at) #>> '{}' as "healedAt",
  coalesce(set_aside, 0) as "setAside", coalesce(closed_requests, 0) as "closedRequests"`;

/** A database that was restored may bring the numbers of moves that it knew of then. */
const endedEpoch = sql`greatest((select max(epoch) from engine.home),
  (select max(epoch) + 1 from engine.moves), 1)`;

/** Whoever fills a pool locks its row first: nobody does while this transaction lasts. */
async function lockHome(db: LedgerDb): Promise<void> {
  await db.execute(sql`select 1 from ledger.pools order by slip44 for update`);
  await db.execute(sql`select pg_advisory_xact_lock(${homeLock})`);
}

/** Any constant serves; it only has to be the same in every version. */
const homeLock = 7_246_004;

async function openMove(db: LedgerDb, away: string): Promise<number> {
  const opened = await db.execute<{ epoch: number }>(sql`
    insert into engine.moves (epoch, what, noticed_at)
    values (coalesce((select epoch from engine.moves where healed_at is null), ${endedEpoch}), ${away}, now())
    on conflict (epoch) do update set what = excluded.what
    returning epoch`);
  return opened.rows[0]?.epoch ?? 1;
}

async function beginEpoch(
  db: LedgerDb,
  ended: number,
  { setAside, closed }: { setAside: number; closed: number },
): Promise<void> {
  await db.execute(sql`
    update ledger.streams
       set checkpoint = null, is_backed = false, accepted_difference = 0, doubt = null, lease_owner = null, lease_until = null
     where name like 'addresses:%'`);
  await db.execute(sql`
    insert into engine.home (epoch, begun_at, own_xid, own_oid, addresses_oid, database_oid, system_identifier, timeline)
    select ${ended + 1}, now(), pg_current_xact_id()::xid, own_oid, addresses_oid, database_oid, system_identifier, timeline
      from engine.home_facts()
    on conflict (id) do update
       set epoch = excluded.epoch, begun_at = excluded.begun_at, own_xid = excluded.own_xid, own_oid = excluded.own_oid,
           addresses_oid = excluded.addresses_oid, database_oid = excluded.database_oid,
           system_identifier = excluded.system_identifier, timeline = excluded.timeline, disturbed_by = null`);
  await db.execute(sql`
    update engine.moves set healed_at = now(), set_aside = ${setAside}, closed_requests = ${closed}
     where epoch = ${ended}`);
}

async function readMove(db: LedgerDb, epoch: number): Promise<Move | null> {
  const found = await db.execute<Move & Record<string, unknown>>(
    sql`select ${moveColumns} from engine.moves where epoch = ${epoch}`,
  );
  return found.rows[0] ?? null;
}
