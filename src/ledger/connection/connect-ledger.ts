import { randomUUID } from 'node:crypto';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import type { Log } from '../../kernel/log.ts';
import { ownSession } from '../../kernel/own-session.ts';
import { databaseError } from './database-error.ts';
import { createLending } from './lend-connections.ts';
import {
  connectionTimeoutMillis,
  holdLiveness,
  type Liveness,
  openClient,
  sessionOptions,
} from './open-client.ts';
import { isUnreachable } from './postgres-codes.ts';
import { prepareStatements } from './prepare-statements.ts';
import { requireOwnSession } from './require-own-session.ts';
import { requireStrongLogin } from './require-strong-login.ts';
import { requireTriggers } from './require-triggers.ts';
import { lendOnce, lendUntil, runTransaction } from './run-transaction.ts';

/** Runs statements: the pool, or the connection of an open transaction. */
export type LedgerDb = NodePgDatabase;

export type Ledger = {
  /** Name of this process among all that use the database; its connections carry it. */
  instance: string;
  /** Wallet whose rows the schema `own` shows to every statement of this ledger. */
  wallet: string;
  db: LedgerDb;
  pool: pg.Pool;
  /**
   * Runs `work` in one transaction. Retries it, up to 8 runs in all, after a conflict or a lost connection. The commit
   * itself may have succeeded before the connection broke, so `work` must be idempotent. `settings` are statements
   * without parameters that the same message as BEGIN sends. When `signal` aborts, it closes the connection and
   * rejects.
   */
  transaction<T>(
    work: (db: LedgerDb) => Promise<T>,
    settings?: string,
    signal?: AbortSignal,
  ): Promise<T>;
  /**
   * The same for work that may read or write every row: without a statement timeout, on a connection that only it uses.
   */
  longTransaction<T>(work: (db: LedgerDb) => Promise<T>): Promise<T>;
  /**
   * Opens a connection outside the pool for state that outlives a statement, such as a temporary table. `release`
   * closes it. A pool of one connection would wait for itself.
   */
  session(): Promise<{ db: LedgerDb; release(): void }>;
  /** Opens a connection outside the pool without a statement timeout, whatever timeouts the role has. */
  patient(): Promise<pg.Client>;
  /** Opens a connection that carries this name. While it is held, other processes see that this process is alive. */
  openLiveness(name: string): Promise<Liveness>;
  /** Returns the ledger for another wallet. Both use the same pool; closing one closes both. */
  forWallet(wallet: string): Ledger;
  /** Closes the pool, once everything that uses it has ended. */
  close(): Promise<void>;
  /** Breaks every connection: pending statements fail, and no new ones begin. */
  cut(): void;
};

/** Earlier versions, which knew one wallet only, wrote no `2/`. */
const instancePrefix = 'wallet-ledger 2/';
/**
 * Upper bound of the wait for an answer. It exceeds the server's statement timeout, so only a silent connection reaches
 * it.
 */
const answerWithinMs = 75_000;
const lockTimeoutMs = 20_000;
const waitingForLocksBriefly = `set local lock_timeout = ${lockTimeoutMs}`;

/**
 * Opens the pool, without sending anything before the first statement; `reachLedger` waits for the server. `wallet`:
 * see `Ledger`; default `main`.
 */
export function connectLedger(options: {
  connectionString: string;
  poolSize: number;
  log: Log;
  wallet?: string;
  /** Milliseconds to wait for an answer before its connection times out; default 75,000. */
  answerMs?: number;
}): Ledger {
  const { connectionString, log, wallet = 'main' } = options;
  requireStrongLogin(connectionString);
  const instance = `${instancePrefix}${randomUUID()}`;
  const shared = new pg.Pool({
    ...ownSession(connectionString, sessionOptions(wallet)),
    max: options.poolSize,
    application_name: instance,
    connectionTimeoutMillis,
    idleTimeoutMillis: 30_000,
    statement_timeout: 60_000,
    // Releases the locks of a stalled process before the others time out waiting for them.
    idle_in_transaction_session_timeout: 10_000,
    lock_timeout: lockTimeoutMs,
    query_timeout: options.answerMs ?? answerWithinMs,
    onConnect: requireTriggers,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  // Handles errors of idle and busy connections; without a listener they would end the process.
  shared.on('error', (error) => log.warn({ error }, 'database connection lost'));
  const connections = trackConnections();
  shared.on('connect', (client) => {
    connections.add(client);
    prepareStatements(client);
  });
  const lend = createLending(shared, wallet, log);
  const openFor = (name: string): Ledger => ledgerOf(lend(name), name);
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= shared.end();
    return closing;
  };
  return openFor(wallet);

  async function open(name: string, own: { wallet: string; isPatient?: boolean }) {
    const client = await openClient({ connectionString, name, ...own });
    connections.add(client);
    return client;
  }

  function cut(): void {
    void close();
    connections.destroy();
  }

  function ledgerOf(pool: pg.Pool, name: string): Ledger {
    const connect = () => pool.connect();
    const patient = () => open(instance, { wallet: name, isPatient: true });
    return {
      instance,
      wallet: name,
      db: drizzle(pool),
      pool,
      transaction: (work, settings = '', signal = undefined) =>
        runTransaction(lendUntil(signal, connect), work, settings, log),
      longTransaction: (work) =>
        runTransaction(lendOnce(patient), work, waitingForLocksBriefly, log),
      session: async () => sessionOf(await patient()),
      patient,
      openLiveness: async (own) => holdLiveness(await open(own, { wallet: 'main' }), own),
      forWallet: openFor,
      close,
      cut,
    };
  }
}

function sessionOf(client: pg.Client) {
  return { db: drizzle(client), release: () => void client.end().catch(() => undefined) };
}

function trackConnections() {
  const clients = new Set<pg.Client>();
  return {
    add(client: pg.Client): void {
      clients.add(client);
      client.on('error', () => undefined);
      client.once('end', () => clients.delete(client));
    },
    destroy(): void {
      for (const { connection } of clients) connection.stream.destroy();
    },
  };
}

/**
 * Waits until the database answers, and logs once that it waits. Throws the error of `databaseError` after about
 * `withinMs`, or at once if waiting cannot help.
 */
export async function reachLedger(
  ledger: Ledger,
  withinMs: number,
  { log, signal }: { log: Log; signal?: AbortSignal },
): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await requireOwnSession(ledger.pool, ledger.instance);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      if (performance.now() >= deadline || !isUnreachable(error)) throw databaseError(error);
      if (attempt === 1) {
        log.warn(
          { error: databaseError(error), seconds: withinMs / 1_000 },
          'waiting for the database',
        );
      }
      await abortableSleep(250, signal);
    }
  }
}
