import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { LedgerError, toError } from '../kernel/errors.ts';
import { withAnySignal } from '../kernel/with-any-signal.ts';
import {
  type EventOptions,
  type OfWallet,
  type OpenOptions,
  parseDepositOf,
  parseEventOptions,
  parseOfWallet,
  parseOpenOptions,
  parseWaitOptions,
  slip44Max,
  type WaitForDepositOptions,
} from './call-options.ts';
import { requireText, requireWhole } from './check-arguments.ts';
import { createFeedWatch } from './feed-watch.ts';
import type { DepositOf } from './find-deposits.ts';
import { type Delivery, type Feed, followEvents } from './follow-events.ts';
import { type Deposit, isTransactionEvent } from './ledger-event.ts';
import { libraryError } from './library-error.ts';
import { openDatabase, type PgPool } from './open-database.ts';
import { takeAddress } from './take-address.ts';
import { createDepositWatch, readHead } from './wait-for-deposit.ts';

export type { ErrorCode } from '../kernel/errors.ts';
export type {
  EventOptions,
  OfWallet,
  OpenOptions,
  WaitForDepositOptions,
} from './call-options.ts';
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

/**
 * An opened ledger. Failures are LedgerErrors: `code` says what failed and `cure` what to do. Beside those of each
 * call: `usage` for an argument of a wrong type or out of range, before anything is sent; `database-unreachable`,
 * `rights`, `schema-older`, and `closed` after `close`.
 */
export type OpenedLedger = {
  /**
   * Hands out a deposit address of a chain for a reference of yours, such as a customer's number. The same reference
   * gets the same address again, and no address goes to two references. Null: the pool is empty; ask again later.
   * `slip44`: code of the chain, such as 60 for Ethereum. Without `wallet`, uses the only wallet that has a pool of the
   * chain.
   *
   * Source: `ledger.take_address`; needs the rights of an issuer. Throws `usage` for an empty reference, a chain
   * without a pool or an ambiguous wallet, and `database-moved` after a restore, until the wallets have been checked.
   */
  takeAddress(slip44: number, reference: string, options?: OfWallet): Promise<string | null>;
  /**
   * Resolves with a deposit when the ledger sees it. Finds deposits of the events that the feed still keeps (7 days) as
   * well, so the call may be repeated after a restart; older ones are in `ledger.transactions`. Several deposits: the
   * first one after `after`. Without a wallet, those of all wallets count. Waits for notifications, and through lost
   * connections. Source: `ledger.events`; needs the rights of a consumer. Throws `timed-out`, `position-ahead` if the
   * database went back to before `after`, and `usage` for a reference of several wallets if none is named.
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
  options: OpenOptions = {},
): Promise<OpenedLedger> {
  const { wallet, poolSize, onWarning } = parseOpenOptions(options);
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
      requireWhole('slip44', slip44, 0, slip44Max);
      requireText('reference', reference);
      const of = parseOfWallet(options, wallet);
      return await takeAddress(opened, [slip44, reference], of);
    },
    async waitForDeposit(of, options = {}) {
      closing.signal.throwIfAborted();
      const deposit = parseDepositOf(of);
      const { timeoutMs, signal, ...asked } = parseWaitOptions(options, wallet);
      return await withinTime(timeoutMs, [closing.signal, signal], (stop) =>
        deposits.wait(deposit, asked, stop),
      );
    },
    async head() {
      closing.signal.throwIfAborted();
      return await readHead(opened.ask).catch((error) => {
        throw libraryError(error, opened.role);
      });
    },
    events(consumer, options = {}) {
      closing.signal.throwIfAborted();
      requireText('consumer', consumer);
      return followEvents(feed, consumer, parseEventOptions(options, wallet));
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

function wasCutOff(cause: unknown): LedgerError {
  const message = `notifications of the feed are cut off: ${toError(cause).message}`;
  return new LedgerError('database-unreachable', message, {
    cause,
    cure: 'none is needed if this occurs once: the connection is opened again every second',
  });
}

function wasClosed(): LedgerError {
  return new LedgerError('closed', 'the ledger was closed');
}
