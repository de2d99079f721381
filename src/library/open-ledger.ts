import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { LedgerError, toError } from '../kernel/errors.ts';
import { withAnySignal } from '../kernel/with-any-signal.ts';
import { createFeedWatch } from './feed-watch.ts';
import type { DepositOf } from './find-deposits.ts';
import { type Delivery, type Feed, followEvents } from './follow-events.ts';
import { type Deposit, isTransactionEvent } from './ledger-event.ts';
import { libraryError } from './library-error.ts';
import { openDatabase, type PgPool } from './open-database.ts';
import { takeAddress } from './take-address.ts';
import { createDepositWatch, readHead } from './wait-for-deposit.ts';

export type { ErrorCode } from '../kernel/errors.ts';
export type { DepositOf } from './find-deposits.ts';
export type { Delivery } from './follow-events.ts';
export type {
  Deposit,
  LedgerEvent,
  OtherEvent,
  TransactionEvent,
  TransactionFacts,
} from './ledger-event.ts';
export type { PgPool, Query } from './open-database.ts';
export { isTransactionEvent, LedgerError };

export type OpenOptions = {
  /** Wallet that the calls are about unless they name another one. Default: see each call. */
  wallet?: string;
  /**
   * Largest number of connections of the own pool, besides one that listens. Default 5. A loop of `events` uses one
   * while it processes an event or waits for another loop of its consumer. Ignored for a given pool.
   */
  poolSize?: number;
  /** Gets failures that the library retries, such as a lost connection. Default: they are ignored. */
  onWarning?: (error: Error) => void;
};

/** One wallet; default: that of `OpenOptions`. */
export type OfWallet = { wallet?: string };

export type EventOptions = OfWallet & {
  /** Ends the loop, without an error, after the event that is being processed is committed. */
  signal?: AbortSignal;
  /** Number of events that are committed together. Default 1; at most 10,000. More is faster for many small events. */
  eventsPerTransaction?: number;
};

export type WaitForDepositOptions = OfWallet & {
  /**
   * `seen`: the service lists the deposit, in any state. `final` (default): its state will not change any more; it
   * moved money only if `is_success` is true.
   */
  until?: 'seen' | 'final';
  /**
   * Only an event behind this number ends the wait; with the `seq` of a deposit, the next one does. Default 0: the wait
   * begins with a look at all events that the feed keeps, about a second for 500,000. With the `head` that was stored
   * before the address was given to a customer, it reads only what came since.
   */
  after?: number;
  /** Milliseconds after which the wait rejects with LedgerError `timed-out`. Default: no limit. */
  timeoutMs?: number;
  /** Rejects the wait with the signal's reason. */
  signal?: AbortSignal;
};

/**
 * An opened ledger. Failures are LedgerErrors: `code` says what failed and `cure` what to do. Beside those of each
 * call: `database-unreachable`, `rights`, `schema-older`, and `closed` after `close`.
 */
export type OpenedLedger = {
  /**
   * Hands out a deposit address of a chain for a reference of yours, such as a customer's number. The same reference
   * gets the same address again, and no address goes to two references. Null: the pool is empty; ask again later.
   * `slip44`: code of the chain, such as 60 for Ethereum. Without a wallet it is the only one that has a pool of the
   * chain. Source: `ledger.take_address`; needs the rights of an issuer. Throws `usage` for an empty reference, a chain
   * without a pool or an ambiguous wallet, and `database-moved` after a restore, until the wallets have been checked.
   */
  takeAddress(slip44: number, reference: string, options?: OfWallet): Promise<string | null>;
  /**
   * Resolves with a deposit when the ledger sees it. Finds deposits of the events that the feed still keeps (7 days) as
   * well, so the call may be repeated after a restart; older ones are in `ledger.transactions`. Several deposits: the
   * first one behind `after`. Without a wallet, those of all wallets count. Waits for notifications, and through lost
   * connections. Source: `ledger.events`; needs the rights of a consumer. Throws `timed-out`, and `position-ahead` if
   * the database went back behind `after`.
   */
  waitForDeposit(of: DepositOf, options?: WaitForDepositOptions): Promise<Deposit>;
  /** Returns the number of the latest event of the feed; 0 if there is none. Needs the rights of a consumer. */
  head(): Promise<number>;
  /**
   * Follows the change feed for a named consumer, from its position on, without end.
   *
   * Each event is delivered in an open transaction, with `query` and `db` to write in it. When the loop asks for the
   * next event, this one is acknowledged, and the transaction is committed: the writes and the position together, so
   * they happen exactly once. `break`, `return`, `throw` and a crash roll both back, and the event is delivered again:
   * effects outside the transaction happen at least once. To stop without that, abort the signal.
   *
   * While the loop waits for events, it waits through lost connections. Once an event is delivered, a lost connection
   * rejects. The server ends a transaction after one minute without a statement. Of two loops of one consumer the
   * second waits for the first, event by event. With a wallet, events of other wallets and of the whole database are
   * acknowledged without a delivery.
   *
   * Source: `ledger.next_events`, `ledger.ack_events`; needs the rights of a consumer. Throws `position-ahead` if the
   * database went back to an earlier state, and `events-deleted` if the consumer was away for too long.
   */
  events(consumer: string, options?: EventOptions): AsyncGenerator<Delivery, void, undefined>;
  /** Drizzle over the pool, for queries on the tables of `wallet-ledger/schema`; needs the rights of a reader. */
  db: NodePgDatabase;
  /**
   * Ends waits and loops, and closes the connections that were opened here. A given pool stays open. An event that is
   * being processed is rolled back.
   */
  close(): Promise<void>;
};

/**
 * Opens a ledger that `wallet-ledger migrate` has made, for an application that takes addresses and learns of deposits.
 * `database`: a connection string, or a `pg.Pool` of yours with `max` of 3 or more. The role needs the rights of an
 * issuer and a consumer (`wallet-ledger migrate --issuer ROLE --consumer ROLE`), and only for the calls that say so.
 * Writes nothing, migrates nothing, and reads no settings of the program.
 *
 * Throws LedgerError `schema-older` or `schema-newer` if the database has no ledger, or one of a version that this
 * library cannot use; `usage` for an address without encryption, and `database-unreachable`.
 */
export async function openLedger(
  database: string | PgPool,
  { wallet, poolSize = 5, onWarning = () => undefined }: OpenOptions = {},
): Promise<OpenedLedger> {
  const [opened, { drizzle }] = await Promise.all([
    openDatabase(database, poolSize),
    import('drizzle-orm/node-postgres'),
  ]);
  const closing = new AbortController();
  const warn = (error: Error) => {
    if (!closing.signal.aborted) onWarning(error);
  };
  const watch = createFeedWatch(opened, (error) => warn(wasCutOff(error)));
  const parts = { database: opened, watch, closing: closing.signal, warn };
  const deposits = createDepositWatch(parts);
  const feed: Feed = { ...parts, drizzle };
  let closed: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    closing.abort(wasClosed());
    await watch.close();
    await opened.close();
  }

  return {
    async takeAddress(slip44, reference, options = {}) {
      closing.signal.throwIfAborted();
      requireText('reference', reference);
      return await takeAddress(opened, [slip44, reference], options.wallet ?? wallet);
    },
    async waitForDeposit(of, { until = 'final', after = 0, timeoutMs, signal, ...options } = {}) {
      closing.signal.throwIfAborted();
      if ('reference' in of) requireText('reference', of.reference);
      else requireText('address', of.address);
      const asked = { until, after, wallet: options.wallet ?? wallet ?? null };
      return await withinTime(timeoutMs, [closing.signal, signal], (stop) =>
        deposits.wait(of, asked, stop),
      );
    },
    async head() {
      closing.signal.throwIfAborted();
      return await readHead(opened.ask).catch((error) => {
        throw libraryError(error, opened.role);
      });
    },
    events(consumer, { signal, eventsPerTransaction = 1, ...options } = {}) {
      closing.signal.throwIfAborted();
      const place = options.wallet ?? wallet ?? null;
      return followEvents(feed, consumer, { signal, eventsPerTransaction, wallet: place });
    },
    db: drizzle(opened.pool),
    close() {
      closed ??= closeAll();
      return closed;
    },
  };
}

/** Runs `work` with a signal that aborts with the others, or with LedgerError `timed-out` after the time. */
async function withinTime<T>(
  timeoutMs: number | undefined,
  signals: (AbortSignal | undefined)[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const end = () => {
    late.abort(new LedgerError('timed-out', `no deposit came within ${timeoutMs} ms`));
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs);
  try {
    return await withAnySignal([...signals, late.signal], work);
  } finally {
    clearTimeout(timer);
  }
}

/** Throws unless the text is one: null as a reference would take another address with each call. */
function requireText(name: string, text: unknown): void {
  if (typeof text === 'string' && text.trim() !== '') return;
  const message = `${name} must be a text that is not empty`;
  throw new LedgerError('usage', message, { cure: 'correct the arguments of the call' });
}

function wasCutOff(cause: unknown): LedgerError {
  const message = `notifications of the feed are cut off: ${toError(cause).message}`;
  return new LedgerError('database-unreachable', message, {
    cause,
    cure: 'none is needed if this comes once: the connection is opened again every second',
  });
}

function wasClosed(): LedgerError {
  return new LedgerError('closed', 'the ledger was closed');
}
