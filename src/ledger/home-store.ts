import { isNull, sql } from 'drizzle-orm';
import { LedgerError } from '../kernel/errors.ts';
import type { Ledger, LedgerDb } from './connection/connect-ledger.ts';
import { orNull, out, pick, query, text, truth } from './connection/query-rows.ts';
import { type Move, readMove } from './move-store.ts';
import { moves } from './schema/home.ts';

/** Returns null while the database is at home, otherwise the difference in words. */
export async function readAway(db: LedgerDb): Promise<string | null> {
  const [home] = await query(db)`select engine.home_state() as ${out('away', orNull(text))}`;
  return home?.away ?? null;
}

/**
 * Throws SQLSTATE WL001 while the database is not at home. Call it in the transaction that inserts an address request.
 */
export async function requireHome(db: LedgerDb): Promise<void> {
  await db.execute(sql`select engine.require_home()`);
}

/**
 * Throws LedgerError `database-moved` if the database has moved since the request was inserted. The addresses of its
 * answer may have been handed out at the previous home. After a restore the number may belong to a later request, of
 * another owner or chain. With `owner` null the owner is not compared. Call it in the transaction that stores the
 * answer.
 */
export async function requireHomeOfRequest(
  db: LedgerDb,
  { id, slip44, owner }: { id: number; slip44: number; owner: string | null },
): Promise<void> {
  // Takes the lock that `healHome` takes first.
  await db.execute(sql`
    select from own.pools
     where slip44 = (select slip44 from own.address_requests where id = ${id}) for update`);
  await requireHome(db);
  const [request] = await query(db)`
    select epoch = engine.current_epoch() and slip44 = ${slip44} and (owner = ${owner}::text or ${owner}::text is null) as ${out('same', truth)}
      from own.address_requests where id = ${id}`;
  if (request?.same) return;
  throw new LedgerError('database-moved', 'the database has moved since the request was sent');
}

/** Declares the database moved if `POOL_EXCLUSIVE` is set and a new foreign address of the chain indicates a move. */
export async function noticeForeign(db: LedgerDb, slip44: number): Promise<void> {
  await db.execute(sql`select engine.notice_foreign(${slip44})`);
}

/**
 * Marks the database as moved, for a reason that its own facts do not show. Does nothing if its epoch began after
 * `sinceMs`, a time of the database's clock: the move of that time has been healed.
 */
export async function disturbHomeSince(
  db: LedgerDb,
  reason: string,
  sinceMs: number,
): Promise<void> {
  await db.execute(sql`
    select engine.disturb_home(${reason}) from engine.home
     where begun_at <= to_timestamp(${sinceMs}::double precision / 1000)`);
}

/** Returns true if a move is recorded that has not been healed. */
export async function isMoveNoted(db: LedgerDb): Promise<boolean> {
  return (await db.$count(moves, isNull(moves.healedAt))) > 0;
}

/** Records that the database has moved. Returns true if this was not recorded yet. */
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
 * Begins a new epoch at the current place of the database, for all wallets. Available addresses become foreign, and
 * open requests close without storing anything: both may have been handed out at the previous home. The address lists
 * must be read again before anything is generated. Returns null if the database is at home because another process was
 * faster. Call it inside a transaction.
 */
export async function healHome(db: LedgerDb): Promise<Move | null> {
  await lockHome(db);
  const away = await readAway(db);
  if (away === null) return null;
  const epoch = await openMove(db, away);
  const aside = await db.execute(sql`
    update ledger.addresses set status = 'foreign', set_aside_epoch = ${epoch}
     where status = 'available' or withheld_at is not null and status = 'foreign'`);
  const closed = await db.execute(sql`
    update ledger.address_requests
       set state = 'done', finished_at = now(), answer = null,
           error = 'closed because the database has moved: its addresses stay foreign'
     where state in ('sent', 'unknown')`);
  await beginEpoch(db, epoch, { setAside: aside.rowCount ?? 0, closed: closed.rowCount ?? 0 });
  return await readMove(db, epoch);
}

/** Returns the facts besides those of the catalogue that identify this home, and those that the server hides. */
export async function readHiddenFacts(
  db: LedgerDb,
): Promise<{ known: string[]; missing: string[] }> {
  const found = await query(db)`
    select f.fact as ${out('fact', text)}, f.is_known as ${out('isKnown', truth)} from engine.home h,
           lateral (values ('the identifier of the cluster', h.system_identifier is not null),
                           ('the timeline of the log', h.timeline is not null)) as f (fact, is_known)`;
  const those = (isKnown: boolean) =>
    found.filter((row) => row.isKnown === isKnown).map(({ fact }) => fact);
  return { known: those(true), missing: those(false) };
}

/** Number of the epoch that ends. A restored database may hold old moves; the number is above theirs. */
const endedEpoch = sql`greatest((select max(epoch) from engine.home),
  (select max(epoch) + 1 from engine.moves), 1)`;

/** Blocks every filling of a pool until this transaction ends: each one locks the pool's row first. */
export async function lockHome(db: LedgerDb): Promise<void> {
  await db.execute(sql`select 1 from ledger.pools order by wallet, slip44 for update`);
  await db.execute(sql`select pg_advisory_xact_lock(${homeLock})`);
}

/** Advisory lock; any constant works that stays the same in every version. */
const homeLock = 7_246_004;

/** Records the move, or finds the record of one that is not healed. Returns the number of the epoch that it ends. */
export async function openMove(db: LedgerDb, away: string): Promise<number> {
  const [opened] = await query(db)`
    insert into engine.moves (epoch, what, noticed_at)
    values (coalesce((select epoch from engine.moves where healed_at is null), ${endedEpoch}), ${away}, now())
    on conflict (epoch) do update set what = excluded.what
    returning ${pick({ epoch: moves.epoch })}`;
  return opened?.epoch ?? 1;
}

/** Begins the epoch after the one that ended, at the current place of the database. */
export async function beginEpoch(
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
           addresses_oid = excluded.addresses_oid, database_oid = excluded.database_oid, place = excluded.place,
           system_identifier = excluded.system_identifier, timeline = excluded.timeline, disturbed_by = null`);
  await db.execute(sql`
    update engine.moves set healed_at = now(), set_aside = ${setAside}, closed_requests = ${closed}
     where epoch = ${ended}`);
}
