import pg from 'pg';
import { ownSession } from '../../kernel/own-session.ts';
import { sessionMark } from './require-own-session.ts';
import { requireTriggers } from './require-triggers.ts';

export type Liveness = { name: string; isHeld(): boolean; end(): Promise<void> };

export const connectionTimeoutMillis = 5_000;

/**
 * Returns the settings of a session for this wallet, in addition to those of every session. JIT compilation is off: it
 * made a comparison of 5,000 coins 5 s slower.
 */
export function sessionOptions(wallet: string): Record<string, string> {
  return { jit: 'off', [sessionMark]: 'on', 'ledger.wallet': wallet };
}

const withoutTimeouts = {
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
};

/** Returns the liveness that this connection proves by its name, until it ends. */
export function holdLiveness(client: pg.Client, name: string): Liveness {
  let isHeld = true;
  client.on('end', () => {
    isHeld = false;
  });
  return { name, isHeld: () => isHeld, end: () => client.end() };
}

/** Opens a connection outside a pool. `isPatient`: it has no timeouts, whatever timeouts the role has. */
export async function openClient(options: {
  connectionString: string;
  name: string;
  wallet: string;
  isPatient?: boolean;
}): Promise<pg.Client> {
  const client = new pg.Client({
    ...ownSession(options.connectionString, {
      ...sessionOptions(options.wallet),
      ...(options.isPatient && withoutTimeouts),
    }),
    application_name: options.name,
    keepAlive: true,
    connectionTimeoutMillis,
  });
  client.on('error', () => undefined);
  await client.connect();
  await requireTriggers(client).catch(async (error) => {
    await client.end();
    throw error;
  });
  // PostgreSQL 17 or later; earlier ones refuse it as an option.
  if (options.isPatient)
    await client.query(
      `select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout'`,
    );
  return client;
}
