import { hasDatabase } from '../../embedded/choose-place.ts';
import { LedgerError } from '../../kernel/errors.ts';
import type { Ledger } from '../../ledger/connection/connect-ledger.ts';
import { readPendingMigrations } from '../../ledger/connection/migrate-ledger.ts';
import { isForbidden } from '../../ledger/connection/postgres-codes.ts';
import type { CommandContext } from './command-context.ts';
import { type OpenedLedger, openLedger } from './open-ledger.ts';

/**
 * Opens the ledger for a command that uses the schema as it is; creates no database and no schema.
 * Throws LedgerError `database-unreachable` when there is none, `schema-older` or `schema-newer` for the schema of
 * another version.
 */
export async function openExistingLedger(context: CommandContext): Promise<OpenedLedger> {
  const { dataDir } = context.settings.database;
  if (await isDatabaseMissing(context)) {
    throw new LedgerError(
      'database-unreachable',
      `there is no ledger: DATABASE_URL is not set, and LEDGER_DATA_DIR (${dataDir}) holds no database`,
      {
        cure: 'set DATABASE_URL or LEDGER_DATA_DIR, or create a ledger with `wallet-ledger start`',
      },
    );
  }
  const opened = await openLedger(context);
  await refuseOtherVersions(opened.ledger);
  return opened;
}

/** Returns true if the settings select the embedded database and it does not exist yet. */
export async function isDatabaseMissing({
  settings,
}: Pick<CommandContext, 'settings'>): Promise<boolean> {
  const { url, dataDir } = settings.database;
  return url === null && !(await hasDatabase(dataDir));
}

async function refuseOtherVersions(ledger: Ledger): Promise<void> {
  const pending = await readPendingMigrations(ledger)
    .then(({ pending: count }) => count)
    .catch((error: unknown) => {
      // A role that may only read cannot see which migrations were applied.
      if (isForbidden(error)) return 0;
      throw error;
    });
  if (pending === 0) return;
  throw new LedgerError(
    'schema-older',
    'the database has no ledger yet, or one of an earlier version of wallet-ledger',
  );
}
