import type pg from 'pg';
import { LedgerError } from '../../kernel/errors.ts';
import { openClient } from './open-client.ts';
import { isReadOnlyRefusal } from './postgres-codes.ts';
import { findSettingOrigin, type SettingOrigin } from './setting-origin.ts';

const name = 'default_transaction_read_only';

/** Returns the error of a write with the setting that refuses it and its cure. Returns any other error as it is. */
export async function namingReadOnlySetting(
  error: Error,
  connectionString: string | null,
): Promise<Error> {
  if (connectionString === null || !(error instanceof LedgerError) || !isReadOnlyRefusal(error))
    return error;
  const found = await askOnce(connectionString).catch(() => null);
  if (found === null) return error;
  return new LedgerError(error.code, `${error.message}: ${wordsOf(found)}`, {
    cause: error,
    cure: `${found.reset}, then run the command again`,
  });
}

/** Returns the origin of the setting if it makes sessions read-only; null on a standby, whose sessions all are. */
export async function findReadOnlySetting(
  client: Pick<pg.ClientBase, 'query'>,
): Promise<SettingOrigin | null> {
  const { rows } = await client.query<{ isSet: boolean }>(
    `select current_setting('default_transaction_read_only')::boolean and not pg_is_in_recovery() as "isSet"`,
  );
  return rows[0]?.isSet ? await findSettingOrigin(client, name) : null;
}

export function wordsOf({ place }: SettingOrigin): string {
  return `${name}=on comes from ${place}`;
}

async function askOnce(connectionString: string): Promise<SettingOrigin | null> {
  const client = await openClient({ connectionString, name: 'wallet-ledger', wallet: 'main' });
  try {
    return await findReadOnlySetting(client);
  } finally {
    await client.end();
  }
}
