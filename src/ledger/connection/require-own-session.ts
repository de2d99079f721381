import type pg from 'pg';
import { LedgerError } from '../../kernel/errors.ts';
import { pooled } from './postgres-cures.ts';

/** Setting that the options of the program's sessions carry. */
export const sessionMark = 'wallet_ledger.session';

/**
 * Throws LedgerError `settings` if a connection has lost its options or its name on the way to PostgreSQL. Without them
 * rows could go to another wallet, and other processes would think this one dead.
 */
export async function requireOwnSession(pool: pg.Pool, name: string): Promise<void> {
  const { rows } = await pool.query<{ own: boolean }>(
    `select current_setting('application_name') = $1
              and coalesce(current_setting($2, true) = 'on', false) as own`,
    [name, sessionMark],
  );
  if (rows[0]?.own) return;
  const lost = 'the options of a session are lost on the way to PostgreSQL';
  throw new LedgerError(pooled.code, lost, { cure: pooled.cure });
}
