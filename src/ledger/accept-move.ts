import { sql } from 'drizzle-orm';
import type { LedgerDb } from './connection/connect-ledger.ts';
import { number, out, query, text, truth } from './connection/query-rows.ts';
import { beginEpoch, healHome, lockHome, openMove, readAway } from './home-store.ts';
import { type Move, readMoves, waitingFor } from './move-store.ts';

/**
 * Accepts the operator's statement that these wallets have lost nothing. The addresses that moves set aside become
 * available again, except those that were assigned, used, adopted, refused, withheld or paid to since. Addresses of a
 * wallet whose move an operator has recorded stay as they are.
 *
 * If the database is away, it begins a new epoch; this sets aside the addresses of all other wallets. Returns the
 * number of addresses that became available. Call it inside a transaction.
 */
export async function acceptMove(db: LedgerDb, wallets: readonly string[]): Promise<number> {
  const [others] = await query(db)`
    select exists (select from ledger.addresses where wallet <> all (${sql.param(wallets)}::text[])) as ${out('areThere', truth)}`;
  if (others?.areThere) await healHome(db);
  else await beginUnchanged(db);
  const back = await query(db)`
    update ledger.addresses
       set status = case when withheld_at is null then 'available' else 'foreign' end, set_aside_epoch = null,
           place = engine.current_place(), unchecked_until = '0'
     where status = 'foreign' and refused is null and wallet = any (${sql.param(wallets)}::text[])
       and set_aside_epoch in (select m.epoch from engine.moves m
                                where m.acknowledged_at is null and addresses.wallet <> all (m.recorded_for))
    returning wallet as ${out('wallet', text)}, slip44 as ${out('slip44', number)}, address_key as ${out('key', text)}`;
  // A foreign address stays foreign if it has a deposit that does not count yet.
  let available = 0;
  for (let at = 0; at < back.length; at += recountedAtOnce)
    available += await recountAvailable(db, back.slice(at, at + recountedAtOnce));
  return available;
}

/**
 * Returns the moves for which an operator has not yet recorded what one of these wallets handed out, oldest first. If
 * the database is away, its present move is one of them. Call it inside a transaction, before `acceptMove`.
 */
export async function movesToRecord(db: LedgerDb, wallets: readonly string[]): Promise<Move[]> {
  await lockHome(db);
  const away = await readAway(db);
  if (away !== null) await openMove(db, away);
  return await readMoves(db, sql`not recorded_for @> ${sql.param(wallets)}::text[]`);
}

/** Begins a new epoch if the database is away, with the addresses that were available. */
async function beginUnchanged(db: LedgerDb): Promise<void> {
  await lockHome(db);
  const away = await readAway(db);
  if (away !== null) await beginEpoch(db, await openMove(db, away), { setAside: 0, closed: 0 });
  await db.execute(sql`
    update ledger.addresses set place = engine.current_place() where status = 'available'`);
}

const recountedAtOnce = 2_000;

/**
 * Recomputes the use of addresses of any wallets from their deposits. Returns the number of those that are available.
 */
async function recountAvailable(
  db: LedgerDb,
  rows: { wallet: string; slip44: number; key: string }[],
): Promise<number> {
  const named = sql`unnest(${sql.param(rows.map(({ wallet }) => wallet))}::text[],
    ${sql.param(rows.map(({ slip44 }) => slip44))}::integer[], ${sql.param(rows.map(({ key }) => key))}::text[])
      as n (wallet, slip44, address_key)`;
  await db.execute(sql`
    select engine.recount_use(k.wallet, k.keys)
      from (select n.wallet, array_agg(n.address_key) as keys from ${named} group by n.wallet) as k`);
  const [counted] = await query(db)`
    select count(*) as ${out('available', number)}
      from ledger.addresses join ${named} using (wallet, slip44, address_key) where status = 'available'`;
  return counted?.available ?? 0;
}

/**
 * Records that an operator knows which addresses of these wallets were handed out. A move whose new epoch has begun is
 * acknowledged once it is recorded for every wallet that has addresses and is in the WALLETS of a daemon.
 */
export async function acknowledgeMoves(db: LedgerDb, wallets: readonly string[]): Promise<void> {
  const isHealed = sql`acknowledged_at is null and healed_at is not null`;
  await db.execute(sql`
    update engine.moves
       set recorded_for = recorded_for || array(select w from unnest(${sql.param(wallets)}::text[]) as w where w <> all (recorded_for))
     where ${isHealed}`);
  await db.execute(sql`
    update engine.moves set acknowledged_at = now() where ${isHealed} and cardinality(${waitingFor}) = 0`);
}
