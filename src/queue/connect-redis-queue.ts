import { createRedisBackend } from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import { LedgerError, toError } from '../kernel/errors.ts';
import { withDeadline } from './deadline.ts';
import type { FaultLog } from './fault-log.ts';
import type { QueueBackend } from './queue-backend.ts';
import { refusalIn } from './read-redis-facts.ts';
import { safeErrorMessage } from './safe-error-message.ts';

const connectMs = 5_000;

const commonOptions: RedisOptions = {
  lazyConnect: true,
  connectTimeout: connectMs,
  keepAlive: 10_000,
};

/** Options that fail fast while Redis is down, so that callers do not wait for minutes. */
const producerOptions: RedisOptions = {
  ...commonOptions,
  maxRetriesPerRequest: 1,
  enableOfflineQueue: false,
  commandTimeout: 5_000,
};

/** Options that survive any outage, as BullMQ requires; a dead socket is detected by the timeout. */
const workerOptions: RedisOptions = {
  ...commonOptions,
  maxRetriesPerRequest: null,
  socketTimeout: 30_000,
};

/** See `connectQueueBackend`. */
export async function connectRedisQueue(
  url: string,
  prefix: string,
  onFault: FaultLog,
): Promise<QueueBackend> {
  const producer = openConnection(url, producerOptions, onFault);
  const connections = [producer];
  const close = async () => {
    for (const connection of connections) connection.disconnect();
  };
  const openWorkerConnection = () => {
    const connection = openConnection(url, workerOptions, onFault);
    connections.push(connection);
    return connection;
  };
  try {
    await probe(producer);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: 'redis',
    queueName: 'jobs',
    createBackend(name, options, factoryOptions = {}) {
      const connection = factoryOptions.withBlockingConnection ? openWorkerConnection() : producer;
      const redisOptions = { ...options, prefix, connection };
      return createRedisBackend(name, redisOptions, factoryOptions);
    },
    // Redis stores a schedule atomically.
    exclusively: (work) => work(),
    // Redis judges locks and stalled checks by its own clock.
    checkClocks: async () => undefined,
    readSchedules: null,
    activeJobs: null,
    locks: { durationMs: 20_000, searchEveryMs: 5_000 },
    // Redis has no locks that another client could hold.
    findLockHolder: async () => null,
    // Managed servers may forbid INFO.
    findRefusal: async () => refusalIn(await producer.info().catch(() => '')),
    close,
  };
}

function openConnection(url: string, options: RedisOptions, onFault: FaultLog): Redis {
  const redis = new Redis(url, { ...options, replyMapping: 'legacy' });
  redis.on('error', (error) => onFault('redis', error));
  return redis;
}

async function probe(redis: Redis): Promise<void> {
  let fault: Error | undefined;
  redis.once('error', (error) => {
    fault = error;
  });
  try {
    await withDeadline(
      redis.connect().then(() => redis.ping()),
      connectMs,
      'no answer',
    );
  } catch (error) {
    throw unreachable(redis, fault ?? toError(error));
  }
}

function unreachable({ options }: Redis, cause: Error): LedgerError {
  const message = `the queue cannot reach Redis at ${options.host}:${options.port}: ${safeErrorMessage(cause)}`;
  return new LedgerError('queue-unreachable', message, { cause });
}
