import { randomUUID } from 'node:crypto';
import { DrizzleQueryError } from 'drizzle-orm/errors';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { LedgerError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import {
  isConflict,
  isConnectionLost,
  isUnreachable,
  isUntrusted,
  sqlStateOf,
} from './postgres-codes.ts';
import { cureOf, untrusted } from './postgres-cures.ts';
import { prepareStatements } from './prepare-statements.ts';
import { requireStrongLogin } from './require-strong-login.ts';

/** What statements run on: the pool, or the connection of an open transaction. */
export type LedgerDb = NodePgDatabase;

export type Liveness = { name: string; isHeld(): boolean; end(): Promise<void> };

export type Ledger = {
  /** Names this process among all that use the database: its connections carry it. */
  instance: string;
  db: LedgerDb;
  pool: pg.Pool;
  /**
   * Runs `work` in one transaction; run again from the start when it lost against another one or lost its connection
   * (up to 8 times). Even a commit may have been the lost one: run twice, `work` must leave what it leaves once.
   */
  transaction<T>(work: (db: LedgerDb) => Promise<T>): Promise<T>;
  /** One connection for what must outlive a statement, such as a temporary table; ended by `release`. */
  session(): Promise<{ db: LedgerDb; release(): void }>;
  /** A connection of its own, whose statements may take as long as they need. */
  patient(): Promise<pg.Client>;
  /** Opens a connection that carries this name: as long as it is held, other processes see that this one lives. */
  openLiveness(name: string): Promise<Liveness>;
  close(): Promise<void>;
};

/** Other transactions stored some of the same new rows first: run again, this one sees and compares them. */
export class StoredMeanwhile extends Error {
  constructor() {
    super('other transactions stored the same new rows first');
  }
}

const runsMax = 8;
const connectionTimeoutMillis = 5_000;
/** Above what the server allows a statement: only a connection that has gone silent lets this pass. */
const answerWithinMs = 75_000;

/** Settings of roles and databases must change neither what text forms mean nor what statements see. */
const sessionOptions =
  '-c TimeZone=UTC -c DateStyle=ISO -c default_transaction_isolation=read\\ committed';

/** Opens the pool. Nothing is sent until the first statement; `reachLedger` waits for the server. */
export function connectLedger(options: {
  connectionString: string;
  poolSize: number;
  log: Log;
  /** How long an answer may take before its connection is given up; 75 s. */
  answerMs?: number;
}): Ledger {
  const { log } = options;
  requireStrongLogin(options.connectionString);
  const instance = `wallet-ledger ${randomUUID()}`;
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.poolSize,
    application_name: instance,
    connectionTimeoutMillis,
    idleTimeoutMillis: 30_000,
    statement_timeout: 60_000,
    // A process that stands still lets go of its locks before the others give up waiting for them.
    idle_in_transaction_session_timeout: 10_000,
    lock_timeout: 20_000,
    query_timeout: options.answerMs ?? answerWithinMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    options: sessionOptions,
  });
  // Without listeners a connection that dies, idle or in use, would end the process.
  pool.on('error', (error) => log.warn({ error: error.message }, 'database connection lost'));
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    prepareStatements(client);
  });

  const attempt = async <T>(work: (db: LedgerDb) => Promise<T>): Promise<T> => {
    const client = await pool.connect();
    let broken: Error | undefined;
    try {
      await client.query('BEGIN');
      const result = await work(drizzle(client));
      await client.query('COMMIT');
      return result;
    } catch (error) {
      // The first failure is the one to report; a connection that cannot roll back is thrown away.
      await client.query('ROLLBACK').catch((failure: Error) => {
        broken = failure;
      });
      throw error;
    } finally {
      client.release(broken);
    }
  };

  return {
    instance,
    db: drizzle(pool),
    pool,
    async transaction(work) {
      for (let run = 1; ; run += 1) {
        try {
          return await attempt(work);
        } catch (error) {
          const how = howLost(error);
          if (how === null || run === runsMax) throw error;
          log.info({ run }, `transaction lost ${how}, running it again`);
          // Who met another one and begins again at once meets it again.
          await abortableSleep(Math.random() * 100 * run);
        }
      }
    },
    async session() {
      const client = await pool.connect();
      return { db: drizzle(client), release: () => client.release(true) };
    },
    patient: () => openClient(options.connectionString, instance),
    openLiveness: (name) => openLiveness(options.connectionString, name),
    close: () => pool.end(),
  };
}

/** Null: running the transaction again would not help. */
function howLost(error: unknown): string | null {
  if (error instanceof StoredMeanwhile) return 'to others that stored the same rows';
  if (isConflict(error)) return 'against another one';
  return isConnectionLost(error) ? 'with its connection' : null;
}

async function openLiveness(connectionString: string, name: string): Promise<Liveness> {
  const client = await openClient(connectionString, name);
  let isHeld = true;
  client.on('end', () => {
    isHeld = false;
  });
  return { name, isHeld: () => isHeld, end: () => client.end() };
}

async function openClient(connectionString: string, name: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString,
    application_name: name,
    keepAlive: true,
    connectionTimeoutMillis,
    options: sessionOptions,
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Waits until the database answers, at most `withinMs`; else an error that names it. */
export async function reachLedger(
  ledger: Ledger,
  withinMs: number,
  signal?: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      await ledger.pool.query('select 1');
      return;
    } catch (error) {
      signal?.throwIfAborted();
      if (performance.now() >= deadline || !isUnreachable(error)) throw databaseError(error);
      await abortableSleep(250, signal);
    }
  }
}

/**
 * The failure as operators see it: the server's own words, never the statement with its parameters. What is no failure
 * of the database stays as it is.
 */
export function databaseError(error: unknown): Error {
  if (error instanceof LedgerError || !(error instanceof Error)) return error as Error;
  const state = sqlStateOf(error);
  if (isUntrusted(error)) {
    const message = `the database failed: ${wordsOf(error)}`;
    return new LedgerError(untrusted.code, message, { cause: error, cure: untrusted.cure });
  }
  const isDown = isUnreachable(error);
  if (!isDown && state === undefined && !(error instanceof DrizzleQueryError)) return error;
  const { code = isDown ? 'database-unreachable' : 'unexpected', ...known } =
    cureOf(state ?? '') ?? {};
  return new LedgerError(code, `the database failed: ${wordsOf(error)}`, {
    cause: error,
    ...known,
  });
}

function wordsOf(error: Error): string {
  const inner = error.cause instanceof Error ? error.cause : error;
  if (inner instanceof AggregateError)
    return inner.errors.map((each: Error) => each.message).join('; ');
  return inner.message;
}
