import pg from 'pg';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError } from '../kernel/errors.ts';
import { userName } from './server-roles.ts';
import { serverPort } from './socket-path.ts';

/**
 * Marks this process as a user of the shared server, by a shared advisory lock on a separate connection. The lock ends
 * with the process in any case, so no list of users is needed.
 */
export type ServerPresence = {
  /** True if the program's role is still the superuser that it was in earlier versions. */
  isSuperuser: boolean;
  /** Resolves when the connection ends, intended or not. */
  ended: Promise<void>;
  /**
   * Releases the lock. Returns true when no other process holds one; new users then wait until `end` or until the
   * server stops.
   */
  leave(): Promise<boolean>;
  end(): Promise<void>;
};

/** Key of the advisory lock, in the maintenance database, apart from the ledger's own locks. */
const presenceKey = 7_765_108_101;
const invalidPassword = '28P01';
const connectMs = 5000;
/** Retries, because the server needs a moment to notice that a killed process has ended. */
const departureChecks = 6;
const departureCheckMs = 50;

/**
 * Joins the server's users. Null when the server does not answer yet or is about to stop. Throws LedgerError
 * `database-unreachable` when it refuses the password.
 */
export async function shareServer(
  socketDirectory: string,
  password: string,
): Promise<ServerPresence | null> {
  const client = new pg.Client({
    host: socketDirectory,
    port: serverPort,
    ssl: false,
    user: userName,
    password,
    database: 'postgres',
    application_name: 'wallet-ledger presence',
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs,
  });
  // Prevents an unhandled error event; the end of the connection is reported by `ended`.
  client.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => {
    client.once('end', resolve);
  });
  const end = () => client.end().catch(() => undefined);
  try {
    await client.connect();
    if (await ask(client, 'pg_try_advisory_lock_shared')) {
      const { rows } = await client.query<{ rolsuper: boolean }>(
        'select rolsuper from pg_roles where rolname = session_user',
      );
      const isSuperuser = rows[0]?.rolsuper === true;
      return { isSuperuser, ended, leave: () => leave(client), end };
    }
    await end();
    return null;
  } catch (error) {
    await end();
    if ((error as { code?: unknown }).code === invalidPassword) throw wrongPassword(error);
    return null;
  }
}

async function leave(client: pg.Client): Promise<boolean> {
  await ask(client, 'pg_advisory_unlock_shared');
  for (let check = 0; check < departureChecks; check += 1) {
    if (await ask(client, 'pg_try_advisory_lock')) return true;
    await abortableSleep(departureCheckMs);
  }
  return false;
}

async function ask(client: pg.Client, lockFunction: string): Promise<boolean> {
  const { rows } = await client.query<{ answer: boolean }>(`select ${lockFunction}($1) as answer`, [
    presenceKey,
  ]);
  return rows[0]?.answer === true;
}

function wrongPassword(cause: unknown): LedgerError {
  return new LedgerError(
    'database-unreachable',
    'the embedded PostgreSQL refuses the password in postgres.password of LEDGER_DATA_DIR',
    {
      cause,
      cure: 'restore the file postgres.password that belongs to these data, or set LEDGER_DATA_DIR to another directory',
    },
  );
}
