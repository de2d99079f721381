import { type PgPool, PostgresConnection, PostgresQueueBackend } from 'bullmq';
import { toError } from '../kernel/errors.ts';
import { activeJobsOf, workerAppNames } from './active-jobs.ts';
import {
  limitWaits,
  readSchedules,
  repairStalledCheck,
  useListenClient,
} from './bullmq-workarounds.ts';
import { settlesWithin } from './deadline.ts';
import type { FaultLog } from './fault-log.ts';
import { findLockHolder } from './find-lock-holder.ts';
import { postgresQueueError } from './postgres-queue-error.ts';
import { postgresQueueOptions } from './postgres-queue-options.ts';
import type { QueueBackend } from './queue-backend.ts';
import { createQueueNews, type QueueNews } from './queue-news.ts';
import { spareStatements } from './spare-statements.ts';

const skewMaxMs = 5_000;
const closeMs = 5_000;

/** See `connectQueueBackend`. */
export async function connectPostgresQueue(
  connectionString: string,
  prefix: string,
  onFault: FaultLog,
): Promise<QueueBackend> {
  const queueName = prefix.replaceAll(':', '-');
  const open = (max: number, news?: QueueNews, appName?: string) =>
    openConnection({ connectionString, max, queueName, news, appName }, onFault);
  const connection = open(3);
  try {
    await connection.waitUntilReady();
  } catch (error) {
    await settlesWithin(connection.close(), closeMs);
    throw postgresQueueError(error);
  }
  const closing = new AbortController();
  return {
    kind: 'postgres',
    queueName,
    createBackend(name, options, { withBlockingConnection = false } = {}) {
      if (!withBlockingConnection)
        return new PostgresQueueBackend(
          connection,
          name,
          { ...options, connection: connection.pool },
          false,
        );
      const news = createQueueNews();
      const appNames = workerAppNames(queueName, Reflect.get(options, 'name'));
      const own = open(4, news, appNames.pool);
      news.watch(own.pool);
      const workerOptions = { ...options, connection: own.pool };
      const backend = new PostgresQueueBackend(own, name, workerOptions, true, appNames.listen);
      return spareStatements(limitWaits(backend), name, news);
    },
    exclusively: (work) => underLock(connection.pool, queueName, closing.signal, work),
    checkClocks: (now) => checkClocks(connection.pool, queueName, now, onFault),
    readSchedules: () => readSchedules(connection.pool, queueName),
    activeJobs: activeJobsOf(connection.pool, queueName),
    locks: { durationMs: 60_000, searchEveryMs: 30_000 },
    findLockHolder: () => findLockHolder(connection.pool, queueName),
    findRefusal: () => findRefusal(connection.pool),
    close() {
      closing.abort(new Error('the queue is being closed'));
      return connection.close();
    },
  };
}

function openConnection(
  {
    connectionString,
    max,
    queueName,
    news,
    appName,
  }: {
    connectionString: string;
    max: number;
    queueName: string;
    news: QueueNews | undefined;
    appName: string | undefined;
  },
  onFault: FaultLog,
) {
  const connection = new PostgresConnection(postgresQueueOptions(connectionString, max, appName));
  const report = (error: Error) => onFault('postgres', error);
  connection.on('error', report);
  // The pool does not listen on a client that is checked out, and an unhandled 'error' event ends the process.
  connection.pool.on('connect', (client) => client.on('error', report));
  useListenClient(connection, queueName, news);
  return connection;
}

/** Returns the reason why PostgreSQL stores nothing; null if it does. */
async function findRefusal(pool: PgPool): Promise<string | null> {
  const { rows } = await pool.query<{ isStandby: boolean; isReadOnly: boolean }>(
    `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only')::boolean as "isReadOnly"`,
  );
  if (rows[0]?.isStandby) return 'PostgreSQL is a standby server, which is read-only';
  return rows[0]?.isReadOnly ? 'the database is read-only' : null;
}

/**
 * Runs the work under an advisory lock: two processes storing a new schedule at once would give it two first jobs. The
 * lock is released when the queue closes. BullMQ never settles a call on a closing connection, so this process would
 * otherwise hold the lock for its whole life.
 */
async function underLock<T>(
  pool: PgPool,
  key: string,
  closing: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  const locked = async () => {
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock(hashtext($1), hashtext($2))', [
      'wallet-ledger schedules',
      key,
    ]);
    const result = await work();
    await client.query('commit');
    return result;
  };
  let isBroken = true;
  try {
    const result = await untilClosing(closing, locked);
    isBroken = false;
    return result;
  } finally {
    // Closing the connection rolls the transaction back.
    client.release(isBroken);
  }
}

/** Runs the work, but throws the signal's reason as soon as it aborts. */
async function untilClosing<T>(closing: AbortSignal, work: () => Promise<T>): Promise<T> {
  closing.throwIfAborted();
  let giveUp = () => {};
  const closed = new Promise<never>((_, reject) => {
    giveUp = () => reject(closing.reason);
  });
  closing.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([work(), closed]);
  } finally {
    closing.removeEventListener('abort', giveUp);
  }
}

/**
 * Reports clock skew, and repairs a stamp written with a wrong clock (`repairStalledCheck`). Apart from such a stamp,
 * skew only causes extra runs, and jobs are idempotent.
 */
async function checkClocks(
  pool: PgPool,
  queueName: string,
  now: number,
  onFault: FaultLog,
): Promise<void> {
  const skewMs = now - ((await repairStalledCheck(pool, queueName)) ?? now);
  if (Math.abs(skewMs) > skewMaxMs) {
    onFault(
      'clock',
      toError(`this machine's clock is ${skewMs} ms away from the clock of the database`),
    );
  }
}
