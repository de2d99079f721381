import type { PostgresPoolConfig } from 'bullmq';
import { ownSession } from '../kernel/own-session.ts';

/** Beginning of the name of the queue's connections in `pg_stat_activity`. A worker's end with its own name. */
export const queueAppName = 'wallet-ledger-queue';

/** PostgreSQL schema of the queue's tables, which is not the ledger's schema. */
export const queueSchema = 'queue';

/**
 * Upper bound of a wait for a lock. BullMQ holds its own for milliseconds. Any role that may connect can hold one for
 * as long as it likes: a run then costs this wait twice.
 */
const lockWaitMs = 2_000;

/**
 * Returns the connection settings of the queue, with a timeout for everything on both sides. BullMQ renews all locks of
 * a worker in one call, so a hanging connection would cost every running job its lock.
 */
export function postgresQueueOptions(
  connectionString: string,
  max: number,
  appName = queueAppName,
): PostgresPoolConfig {
  return {
    // BullMQ adds an option of its own for the schema.
    ...ownSession(connectionString),
    schema: queueSchema,
    application_name: appName,
    max,
    // Exceeds the intervals of the watchdog and of most jobs: pg's default of 10 s would reopen a dozen connections a
    // minute.
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 10_000,
    lock_timeout: lockWaitMs,
    query_timeout: 15_000,
  };
}
