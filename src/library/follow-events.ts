import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type pg from 'pg';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError, toError } from '../kernel/errors.ts';
import {
  isLockTimeout,
  isTransactionAborted,
  isUnreachable,
} from '../ledger/connection/postgres-codes.ts';
import { answerMs } from './ask-database.ts';
import { requireText, wrongArgument } from './check-arguments.ts';
import type { FeedWatch } from './feed-watch.ts';
import { type LedgerEvent, parseEvent } from './ledger-event.ts';
import { libraryError } from './library-error.ts';
import type { Database, Query } from './open-database.ts';

/** An event, and the open transaction that acknowledges it. */
export type Delivery = {
  event: LedgerEvent;
  /** Runs SQL in the transaction. What it writes and the acknowledgement are committed together, or not at all. */
  query: Query;
  /** The same transaction for Drizzle. */
  db: NodePgDatabase;
};

/** Parts of an opened ledger that a consumer needs. `closing` aborts when the ledger is closed. */
export type Feed = {
  database: Pick<Database, 'pool' | 'role'>;
  watch: FeedWatch;
  closing: AbortSignal;
  warn(error: Error): void;
  /** Drizzle over one connection. */
  drizzle(client: pg.PoolClient): NodePgDatabase;
};

export type FollowOptions = {
  /** Events of other wallets, and those of no wallet, are acknowledged without a delivery. Null: none are left out. */
  wallet: string | null;
  /** Ends the loop after the event that is being processed is committed, without an error. */
  signal: AbortSignal | undefined;
  eventsPerTransaction: number;
};

const retryMs = 1_000;

/**
 * An open transaction that holds the consumer, and the events that it read. `failure`: the caller's last failed
 * statement, unless it failed only because the transaction was already aborted.
 */
type Turn = { client: pg.PoolClient; events: LedgerEvent[]; failure?: Error };

/** Delivers the events after the consumer's position; the contract is that of `OpenedLedger.events`. */
export async function* followEvents(
  feed: Feed,
  consumer: string,
  { wallet, signal, eventsPerTransaction }: FollowOptions,
): AsyncGenerator<Delivery, void, undefined> {
  const stop = signal ? AbortSignal.any([signal, feed.closing]) : feed.closing;
  while (!stop.aborted) {
    const woken = feed.watch.next();
    const turn = await openTurn(feed, consumer, eventsPerTransaction, stop);
    if (turn === null) continue;
    yield* deliverTurn(feed, consumer, turn, { wallet, stop });
    if (turn.events.length === 0) await eitherOf(woken, stop);
  }
}

async function* deliverTurn(
  feed: Feed,
  consumer: string,
  turn: Turn,
  { wallet, stop }: { wallet: string | null; stop: AbortSignal },
): AsyncGenerator<Delivery, void, undefined> {
  const { client, events } = turn;
  const cut = cutWhenClosing(client, feed.closing);
  let done: number | null = null;
  let isCommitted = false;
  try {
    for (const event of events) {
      if (stop.aborted) break;
      if (wallet === null || event.wallet === wallet) yield deliver(feed, turn, event);
      done = event.seq;
    }
    isCommitted = await commit(feed, turn, consumer, done);
  } finally {
    // Closing the connection rolls back: after a `break`, a `throw` in the loop, or a failure.
    cut.release(!isCommitted);
  }
}

/** Begins a transaction and reads events in it. Returns null if nothing was read and it is to be called again. */
async function openTurn(
  { database, warn }: Feed,
  consumer: string,
  max: number,
  stop: AbortSignal,
): Promise<Turn | null> {
  let cut: Cut | undefined;
  try {
    const client = await database.pool.connect();
    cut = cutWhenClosing(client, stop);
    await client.query('begin isolation level read committed');
    const { rows } = await client.query<{ event: string }>({
      text: `select json_build_object(
               'seq', e.seq, 'recordedAt', to_json(e.recorded_at at time zone 'UTC') #>> '{}' || 'Z',
               'wallet', e.wallet, 'kind', e.kind, 'key', e.key, 'data', e.data)::text as event
               from ledger.next_events($1, $2) as e order by e.seq`,
      values: [consumer, max],
      query_timeout: answerMs,
    } as pg.QueryConfig);
    cut.forget();
    return { client, events: rows.map(({ event }) => parseEvent(event)) };
  } catch (error) {
    cut?.release(true);
    if (stop.aborted) return null;
    // Another worker of the consumer holds it at the moment.
    if (isLockTimeout(error)) return null;
    const failure = libraryError(error, database.role);
    if (!isUnreachable(error)) throw failure;
    warn(failure);
    await abortableSleep(retryMs, stop).catch(() => undefined);
    return null;
  }
}

/** Acknowledges the events and commits. Returns false if the ledger was closed while no event was processed. */
async function commit(
  { database, closing }: Feed,
  { client, failure }: Turn,
  consumer: string,
  done: number | null,
): Promise<boolean> {
  if (closing.aborted && done !== null) throw notAcknowledged(consumer);
  if (closing.aborted) return false;
  try {
    if (done !== null) await client.query('select ledger.ack_events($1, $2)', [consumer, done]);
    await client.query('commit');
    return true;
  } catch (error) {
    if (isTransactionAborted(error)) throw statementFailed(consumer, failure ?? toError(error));
    throw libraryError(error, database.role);
  }
}

function deliver({ drizzle }: Feed, turn: Turn, event: LedgerEvent): Delivery {
  const { client } = turn;
  let db: NodePgDatabase | undefined;
  return {
    event,
    query: async (text, values = []) => {
      requireText('the statement', text);
      if (!Array.isArray(values)) throw wrongArgument('the values of a statement must be an array');
      try {
        const { rows, rowCount } = await client.query(text, [...values]);
        return { rows: rows as never[], rowCount };
      } catch (error) {
        if (!isTransactionAborted(error)) turn.failure = toError(error);
        throw error;
      }
    },
    get db() {
      db ??= drizzle(client);
      return db;
    },
  };
}

type Cut = { forget(): void; release(isBroken: boolean): void };

/**
 * Closes the connection of a transaction when the signal aborts. `release` returns it to the pool, or closes it, once.
 */
function cutWhenClosing(client: pg.PoolClient, closing: AbortSignal): Cut {
  let isReleased = false;
  // Without a listener, the end of a connection that is in use would end the process.
  const ignore = () => undefined;
  const cut = () => release(true);
  client.on('error', ignore);
  closing.addEventListener('abort', cut, { once: true });
  if (closing.aborted) cut();

  function release(isBroken: boolean): void {
    if (isReleased) return;
    isReleased = true;
    closing.removeEventListener('abort', cut);
    if (!isBroken) client.removeListener('error', ignore);
    client.release(isBroken);
  }

  return {
    release,
    forget() {
      closing.removeEventListener('abort', cut);
      client.removeListener('error', ignore);
    },
  };
}

function notAcknowledged(consumer: string): LedgerError {
  return new LedgerError('closed', `the ledger was closed while ${consumer} processed an event`, {
    cure: 'end the loop by its signal before close(): the event was rolled back, and is delivered again',
  });
}

/** Returns the error for a loop that continued after one of its statements had aborted the transaction. */
function statementFailed(consumer: string, failure: Error): LedgerError {
  const message = `a statement of the loop of ${consumer} failed in the transaction of its event, so the position was not moved: ${failure.message}`;
  return new LedgerError('usage', message, {
    cause: failure,
    cure: 'let the error of the statement leave the loop, or run the statement behind a savepoint and roll back to it',
  });
}

/** Resolves when further events may be there, or the loop is to end. */
async function eitherOf(woken: Promise<void>, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return;
  let end = (): void => undefined;
  const stopped = new Promise<void>((resolve) => {
    end = resolve;
  });
  stop.addEventListener('abort', end, { once: true });
  await Promise.race([woken, stopped]);
  stop.removeEventListener('abort', end);
}
