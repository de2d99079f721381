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
 * Brings the queue's schema up to date, in one transaction and under BullMQ's advisory lock: any number may start
 * at once. Where nothing is pending no right to create anything is needed. Throws LedgerError `database-unreachable`
 * or `schema-newer`.
 */
export async function migrateQueue(connectionString: string): Promise<void> {
  const client = new Client({
    connectionString,
    application_name: 'wallet-ledger-migrate',
    connectionTimeoutMillis: 5_000,
    statement_timeout: 120_000,
    lock_timeout: 60_000,
  });
  // What breaks the connection also rejects the query that runs; without a listener it would end the process.
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

/** BullMQ's own migrator creates the schema, if it is not there, before it looks: that takes an owner's rights. */
async function isPending(client: Client): Promise<boolean> {
  try {
    return (await assertSchemaCompatibility(client, queueSchema)) < LATEST_SCHEMA_VERSION;
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return true;
    throw error;
  }
}
