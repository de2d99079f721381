import { type PgPool, PostgresConnection, PostgresQueueBackend } from 'bullmq';
import { toError } from '../kernel/errors.ts';
import { settlesWithin } from './deadline.ts';
import type { FaultLog } from './fault-log.ts';
import { listenClientOf } from './listen-client.ts';
import { postgresQueueError } from './postgres-queue-error.ts';
import { postgresQueueOptions } from './postgres-queue-options.ts';
import type { QueueBackend } from './queue-backend.ts';

const skewMaxMs = 5_000;
/** A `stalled-check` stamp further in the future than this was written with a wrong clock. */
const stalledCheckAheadMaxMs = 60_000;
/**
 * Longest wait for a job, in seconds. With BullMQ's default of an hour, a worker could sleep that long after a fault
 * during its wait.
 */
const blockMax = 10;
const closeMs = 5_000;

type PostgresOptions = ConstructorParameters<typeof PostgresQueueBackend>[2];

/** See `connectQueueBackend`. */
export async function connectPostgresQueue(
  connectionString: string,
  prefix: string,
  onFault: FaultLog,
): Promise<QueueBackend> {
  const queueName = prefix.replaceAll(':', '-');
  const open = (max: number) => openConnection(connectionString, max, queueName, onFault);
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
      const own = open(4);
      return workerBackend(own, name, { ...options, connection: own.pool });
    },
    exclusively: (work) => underLock(connection.pool, queueName, closing.signal, work),
    checkClocks: (now) => checkClocks(connection.pool, queueName, now, onFault),
    close() {
      closing.abort(new Error('the queue is being closed'));
      return connection.close();
    },
  };
}

function openConnection(
  connectionString: string,
  max: number,
  queueName: string,
  onFault: FaultLog,
) {
  const connection = new PostgresConnection(postgresQueueOptions(connectionString, max));
  const report = (error: Error) => onFault('postgres', error);
  connection.on('error', report);
  // The pool does not listen on a client that is checked out, and an unhandled 'error' event ends the process.
  connection.pool.on('connect', (client) => client.on('error', report));
  Object.defineProperty(connection, 'pgModule', { value: { Client: listenClientOf(queueName) } });
  return connection;
}

function workerBackend(
  connection: PostgresConnection,
  name: string,
  options: PostgresOptions,
): PostgresQueueBackend {
  const backend = new PostgresQueueBackend(connection, name, options, true, name);
  Object.defineProperty(backend, 'maximumBlockTimeout', { value: blockMax });
  return backend;
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
 * Reports clock skew and removes a stamp from the future. BullMQ judges locks by the clock of the calling process. A
 * process with a fast clock would stop the recovery of stalled jobs in all processes until its stamp has passed. Extra
 * runs are the only other effect of a wrong clock, and jobs are idempotent.
 */
async function checkClocks(
  pool: PgPool,
  queueName: string,
  now: number,
  onFault: FaultLog,
): Promise<void> {
  const { rows } = await pool.query<{ now: string; stamp: string | null }>(
    `select (extract(epoch from clock_timestamp()) * 1000)::bigint as now,
            (select value from meta where queue = $1 and field = 'stalled-check') as stamp`,
    [queueName],
  );
  const [row] = rows;
  if (!row) return;
  const serverNow = Number(row.now);
  const skewMs = now - serverNow;
  if (Math.abs(skewMs) > skewMaxMs) {
    onFault('clock', toError(`this machine's clock is ${skewMs} ms off that of the database`));
  }
  if (Number(row.stamp ?? 0) > serverNow + stalledCheckAheadMaxMs) {
    await pool.query(
      `delete from meta where queue = $1 and field = 'stalled-check' and value = $2`,
      [queueName, row.stamp],
    );
  }
}
