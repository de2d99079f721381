import { sql } from 'drizzle-orm';
import type { LedgerDb } from './connection/connect-ledger.ts';
import {
  type Claim,
  type ClaimedDetail,
  claimed,
  dueAtOnce,
  isOfHistory,
  turn,
} from './transactions/detail-checks.ts';

/** Subject of a hint: the start of a list, or the details of orders. */
export type HintSubject = 'deposit' | 'withdraw' | 'details';

/** Channel on which the database wakes the daemons; `engine.add_hints` notifies it, with the wallet's name. */
export const hintChannel = 'ledger_hints';

/** Milliseconds between two requests that hints cause for one subject. */
const turnMs = 1_000;
/** Pause after a look that failed, and upper bound of the pause after a look that cost many requests. */
const failurePauseMs = 15_000;
const pauseMaxMs = 60_000;
/** Upper bound of the orders whose details one turn fetches. */
const ordersPerTurn = 50;

/** Condition that no daemon serves the hint. The daemon that took it may have failed. */
const isWaiting = sql.raw(`(h.taken_at is null or h.taken_at < now() - interval '30 seconds')`);
/**
 * Condition that the next request of the subject is allowed. A time far in the future is ignored, because it was set
 * before the clock was turned back.
 */
const isTurn = sql.raw(
  `(t.next_at <= now() or t.next_at > now() + ${2 * pauseMaxMs} * interval '1 millisecond')`,
);

/** Stores a hint for both lists of the wallet and for details of the orders, and wakes the daemons of all processes. */
export async function storeHint(db: LedgerDb, orderNos: readonly string[]): Promise<void> {
  await db.execute(sql`select engine.add_hints(${sql.param([...orderNos])}::text[])`);
}

/** Condition that the hint is too old to be served. */
const isOld = sql.raw(`(
  h.hinted_at < now() - case when h.subject = 'details' then interval '1 minute' else interval '10 minutes' end
  and (h.subject = 'details' or h.taken_at is not null))`);

/** Returns the subjects with waiting hints of these wallets, and deletes the wallets' old hints. */
export async function readHintedSubjects(
  db: LedgerDb,
  wallets: string[],
): Promise<{ wallet: string; subject: HintSubject }[]> {
  const isOfThese = sql`h.wallet = any(${sql.param(wallets)}::text[])`;
  const { rows } = await db.execute<{ wallet: string; subject: HintSubject }>(sql`
    with deleted as (delete from engine.hints h where ${isOfThese} and ${isOld})
    select distinct h.wallet, h.subject from engine.hints h
     where ${isOfThese} and ${isWaiting} and not ${isOld}`);
  return rows;
}

/**
 * Returns the milliseconds until a hint of the list may be served, 0 for at once; null if no hint waits, or another
 * process serves it.
 */
export async function lookDueIn(db: LedgerDb, list: HintSubject): Promise<number | null> {
  const { rows } = await db.execute<{ wait_ms: number }>(sql`
    select case when ${isTurn} then 0 else extract(epoch from t.next_at - now()) * 1000 end::float8 as wait_ms
      from own.hint_turns t
     where t.subject = ${list} and exists (select from own.hints h where h.subject = t.subject and ${isWaiting})`);
  return rows[0]?.wait_ms ?? null;
}

/**
 * Takes the waiting hints of the list if its turn has come, and returns their ids. A hint that comes later waits for
 * the next turn: the request of this one may have been sent before it.
 */
export async function takeLook(db: LedgerDb, list: HintSubject): Promise<number[]> {
  const { rows } = await db.execute<{ id: number }>(sql`
    with turn as (
      update own.hint_turns t set next_at = now() + ${turnMs} * interval '1 millisecond'
       where t.subject = ${list} and ${isTurn} returning t.subject)
    update own.hints h set taken_at = now()
      from turn where h.subject = turn.subject and ${isWaiting}
    returning h.id::float8 as id`);
  return rows.map(({ id }) => id);
}

/**
 * Ends a look. `fruitless`: number of its requests beyond those that brought rows; each of them lengthens the pause by
 * one turn. Null: the look failed, and its hints wait to be taken again.
 */
export async function endLook(
  db: LedgerDb,
  list: HintSubject,
  { ids, fruitless }: { ids: number[]; fruitless: number | null },
): Promise<void> {
  const pauseMs =
    fruitless === null ? failurePauseMs : Math.min(pauseMaxMs, turnMs * Math.max(1, fruitless));
  await db.execute(sql`
    with done as (
      delete from own.hints where id = any(${sql.param(ids)}::bigint[]) and ${fruitless !== null})
    update own.hint_turns set next_at = now() + ${pauseMs} * interval '1 millisecond' where subject = ${list}`);
}

/** Incomplete rows that a waiting hint names. A row is fetched for a hint at most every 5 s. */
const hintedRows = sql`
  select distinct h.order_no from own.hints h
   where h.subject = 'details' and h.taken_at is null
     and (exists (select from own.detail_checks c where c.order_no = h.order_no)
       or exists (select from own.transactions t where t.order_no = h.order_no and ${isOfHistory}))
     and not exists (select from own.hints o
                      where o.subject = 'details' and o.order_no = h.order_no and o.taken_at > now() - interval '5 seconds')`;

/** Returns the milliseconds until details of hinted orders may be fetched; null if none is missing. */
export async function hintedDetailsDueIn(db: LedgerDb): Promise<number | null> {
  const { rows } = await db.execute<{ wait_ms: number }>(sql`
    select case when ${isTurn} then 0 else extract(epoch from t.next_at - now()) * 1000 end::float8 as wait_ms
      from own.hint_turns t where t.subject = 'details' and exists (${hintedRows})`);
  return rows[0]?.wait_ms ?? null;
}

/**
 * Claims the incomplete rows that hints name, due or not, if their turn has come, and keeps them from other workers for
 * the claim's time.
 */
export async function claimHintedDetails(db: LedgerDb, claim: Claim): Promise<ClaimedDetail[]> {
  await db.execute(sql`
    with ${dueAtOnce('due', sql`select t.order_no, true, ${turn.news}::smallint from own.transactions t where t.order_no in (${hintedRows}) and ${isOfHistory}`)}
    select`);
  return await claimed(
    db,
    sql`
    turn as (
      update own.hint_turns t set next_at = now() + ${turnMs} * interval '1 millisecond'
       where t.subject = 'details' and ${isTurn} returning t.subject),
    taken as (
      select c.order_no from own.detail_checks c, turn
       where c.order_no in (${hintedRows}) limit ${ordersPerTurn} for update of c skip locked),
    noted as (
      update own.hints h set taken_at = now() from taken
       where h.subject = 'details' and h.order_no = taken.order_no and h.taken_at is null)`,
    claim,
  );
}
