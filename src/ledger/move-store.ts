import { and, desc, eq, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import type { LedgerDb } from './connection/connect-ledger.ts';
import { listOf, text } from './connection/query-rows.ts';
import { moves } from './schema/home.ts';

/** A move of the database away from its home that no operator has acknowledged yet. */
export type Move = {
  what: string;
  noticedAt: string;
  /** Time at which the next epoch began. While it is null, nothing is handed out or generated. */
  healedAt: string | null;
  setAside: number;
  closedRequests: number;
  /** Wallets with addresses, and at work, for which no operator has recorded which of them were handed out. */
  waitingFor: string[];
};

/** Returns the unacknowledged moves, oldest first; `chosen` restricts them. */
export async function readMoves(db: LedgerDb, chosen?: SQL): Promise<Move[]> {
  return await db
    .select(moveColumns)
    .from(moves)
    .where(and(isNull(moves.acknowledgedAt), chosen))
    .orderBy(moves.epoch);
}

/** Returns the last move that an operator has acknowledged; null if there was none. */
export async function readSettledMove(db: LedgerDb): Promise<Move | null> {
  const [last] = await db
    .select(moveColumns)
    .from(moves)
    .where(isNotNull(moves.acknowledgedAt))
    .orderBy(desc(moves.epoch))
    .limit(1);
  return last ?? null;
}

/** Returns the move that ended the epoch; null if none did. */
export async function readMove(db: LedgerDb, epoch: number): Promise<Move | null> {
  const [found] = await db.select(moveColumns).from(moves).where(eq(moves.epoch, epoch));
  return found ?? null;
}

/** Selects, for a row of `moves`, the wallets of `Move.waitingFor`. */
export const waitingFor = sql`array(
  select distinct a.wallet from ledger.addresses a
   where moves.acknowledged_at is null and a.wallet <> all (moves.recorded_for)
     and a.wallet not in (select w.wallet from ledger.wallets w where w.is_resting) order by 1)`;

const moveColumns = {
  what: moves.what,
  noticedAt: sql`to_json(${moves.noticedAt}) #>> '{}'`.mapWith(String),
  healedAt: sql`to_json(${moves.healedAt}) #>> '{}'`.mapWith(moves.healedAt),
  setAside: sql`coalesce(${moves.setAside}, 0)`.mapWith(Number),
  closedRequests: sql`coalesce(${moves.closedRequests}, 0)`.mapWith(Number),
  waitingFor: waitingFor.mapWith(listOf(text)),
};
