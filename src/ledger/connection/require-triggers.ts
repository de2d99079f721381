import type pg from 'pg';
import { LedgerError } from '../../kernel/errors.ts';
import { findSettingOrigin } from './setting-origin.ts';

const name = 'session_replication_role';
/** Takes no lock, so only a dead connection leaves it without an answer. */
const question = { text: `show ${name}`, query_timeout: 5_000 };

/**
 * Throws LedgerError `settings` if the triggers of the ledger do not run in this session. An ordinary role cannot
 * override that, so the program cannot set it in its own sessions.
 */
export async function requireTriggers(client: Pick<pg.ClientBase, 'query'>): Promise<void> {
  const { rows } = await client.query<{ [name]: string }>(question);
  if (rows[0]?.[name] !== 'replica') return;
  const { place, reset } = await findSettingOrigin(client, name);
  throw new LedgerError(
    'settings',
    `${name}=replica comes from ${place} and keeps triggers from running: events, sums and counts would lack what is stored`,
    { cure: `${reset}, then run the command again` },
  );
}
