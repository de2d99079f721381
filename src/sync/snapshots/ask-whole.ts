import type { Snapshot } from '../../kernel/wallet-records.ts';
import { type AssetKey, hasUnnamed } from '../../ledger/snapshots/store-snapshot.ts';
import type { SyncContext } from '../sync-context.ts';
import { unstoredRows } from './unstored-rows.ts';

/**
 * Asks for all rows of a snapshot; where the answer does not name a row that the ledger lists, once more at once. Only
 * what two answers in a row leave out counts as gone: `kept` holds what the first one named.
 */
export async function askWhole<R extends AssetKey>(
  { ledger }: SyncContext,
  name: 'balances' | 'coins',
  ask: () => Promise<Snapshot<R>>,
): Promise<Snapshot<R> & { kept: AssetKey[] }> {
  const first = await ask();
  const isWhole = unstoredRows(first.rejects) === 0;
  if (!isWhole || !(await hasUnnamed(ledger.db, name, first.records)))
    return { ...first, kept: [] };
  return { ...(await ask()), kept: first.records };
}
