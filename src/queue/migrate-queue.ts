import {
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq';
import { Client, type ClientConfig } from 'pg';
import { type Log, silentLog } from '../kernel/log.ts';
import { namingHolders } from '../kernel/name-lock-holders.ts';
import { settlesWithin } from './deadline.ts';
import { postgresQueueError } from './postgres-queue-error.ts';
import { queueSchema } from './postgres-queue-options.ts';

const closeMs = 2_000;
/** Upper bound of the wait for another process, which may be migrating. */
const lockWaitMs = 60_000;

/**
 * Migrates the queue's schema in one transaction, under BullMQ's advisory lock, so that any number of processes may
 * call it at once. Needs no right to create objects if nothing is pending. Logs the sessions that block it, and names
 * them in the error if the lock is not free in time. Throws LedgerError `database-unreachable` or `schema-newer`.
 */
export async function migrateQueue(
  connectionString: string,
  { log = silentLog, waitMs = lockWaitMs }: { log?: Log; waitMs?: number } = {},
): Promise<void> {
  const open = (limits: ClientConfig) => openClient(connectionString, limits);
  const client = open({ statement_timeout: 120_000, lock_timeout: waitMs });
  try {
    await client.connect();
    if (!(await isPending(client))) return;
    const watcher = open({ statement_timeout: 5_000 });
    try {
      await watcher.connect();
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      await namingHolders(
        (statement, values) => watcher.query(statement, values),
        rows[0]?.pid ?? 0,
        log,
        () => runMigrations(client, queueSchema),
      );
    } finally {
      await settlesWithin(watcher.end(), closeMs);
    }
  } catch (error) {
    throw postgresQueueError(error);
  } finally {
    await settlesWithin(client.end(), closeMs);
  }
}

function openClient(connectionString: string, limits: ClientConfig): Client {
  const client = new Client({
    connectionString,
    application_name: 'wallet-ledger-migrate',
    connectionTimeoutMillis: 5_000,
    ...limits,
  });
  // A broken connection also rejects the running query; without a listener it would end the process.
  client.on('error', () => undefined);
  return client;
}

/**
 * Returns true if a migration is pending. BullMQ's own migrator creates a missing schema before it checks, which needs
 * an owner's rights.
 */
async function isPending(client: Client): Promise<boolean> {
  try {
    return (await assertSchemaCompatibility(client, queueSchema)) < LATEST_SCHEMA_VERSION;
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return true;
    throw error;
  }
}
