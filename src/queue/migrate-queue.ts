import { Client, type ClientConfig } from 'pg';
import { LedgerError } from '../kernel/errors.ts';
import { type Log, silentLog } from '../kernel/log.ts';
import { namingHolders } from '../kernel/name-lock-holders.ts';
import { ownSession } from '../kernel/own-session.ts';
import {
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  runMigrations,
  SchemaMigrationRequiredError,
} from './bullmq-migrator.ts';
import { settlesWithin } from './deadline.ts';
import { postgresQueueError } from './postgres-queue-error.ts';
import { queueSchema } from './postgres-queue-options.ts';

const closeMs = 2_000;
/** Upper bound of the wait for another process, which may be migrating. */
const lockWaitMs = 60_000;

/**
 * Throws LedgerError `settings` if the queue's schema holds tables and none of them is BullMQ's own record of
 * migrations: it belongs to another program.
 */
export async function requireOwnQueue(
  ask: (statement: string, values: unknown[]) => Promise<{ rows: { name: string }[] }>,
): Promise<void> {
  const { rows } = await ask(
    `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        and not exists (select from pg_class m where m.relnamespace = n.oid and m.relname = 'migration')
      order by 1 limit 3`,
    [queueSchema],
  );
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => name).join(', ');
  throw new LedgerError(
    'settings',
    `the database has a schema of another program: it holds ${names}`,
    { cure: 'name another database in DATABASE_URL, or set REDIS_URL: the queue is in Redis then' },
  );
}

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
    await requireOwnQueue((statement, values) => client.query(statement, values));
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
    ...ownSession(connectionString),
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
