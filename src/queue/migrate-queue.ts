import {
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq';
import { Client } from 'pg';
import { settlesWithin } from './deadline.ts';
import { postgresQueueError } from './postgres-queue-error.ts';
import { queueSchema } from './postgres-queue-options.ts';

const closeMs = 2_000;

/**
 * Migrates the queue's schema in one transaction, under BullMQ's advisory lock, so that any number of processes may
 * call it at once. Needs no right to create objects if nothing is pending. Throws LedgerError `database-unreachable` or
 * `schema-newer`.
 */
export async function migrateQueue(connectionString: string): Promise<void> {
  const client = new Client({
    connectionString,
    application_name: 'wallet-ledger-migrate',
    connectionTimeoutMillis: 5_000,
    statement_timeout: 120_000,
    lock_timeout: 60_000,
  });
  // A broken connection also rejects the running query; without a listener it would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    if (await isPending(client)) await runMigrations(client, queueSchema);
  } catch (error) {
    throw postgresQueueError(error);
  } finally {
    await settlesWithin(client.end(), closeMs);
  }
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
