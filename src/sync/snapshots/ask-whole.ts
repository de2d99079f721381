import { LedgerError } from '../../kernel/errors.ts';
import type { AssetKey } from '../../kernel/vocabulary.ts';
import type { Snapshot } from '../../kernel/wallet-records.ts';
import { hasUnnamed, type SnapshotName } from '../../ledger/snapshots/store-snapshot.ts';
import type { SyncContext } from '../sync-context.ts';
import { unstoredRows } from './unstored-rows.ts';

/**
 * Requests all rows of a snapshot. If the answer lacks a row that the ledger lists, requests them once more at once.
 * Only rows that two answers in a row lack count as removed: `kept` holds the rows of the first answer. Throws
 * service-malformed for an answer without a list while the ledger lists rows: a fault would unlist them all.
 */
export async function askWhole<R extends AssetKey>(
  { ledger }: SyncContext,
  name: SnapshotName,
  ask: () => Promise<Snapshot<R>>,
): Promise<Snapshot<R> & { kept: AssetKey[] }> {
  const first = await ask();
  const isWhole = unstoredRows(first.rejects) === 0;
  if (!isWhole || !(await hasUnnamed(ledger.db, name, first.records)))
    return { ...first, kept: [] };
  const second = first.isListless ? first : await ask();
  if (!second.isListless) return { ...second, kept: first.records };
  throw new LedgerError(
    'service-malformed',
    `an answer without the ${name}, of which the ledger lists some`,
  );
}
