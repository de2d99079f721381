import { storeCoins } from '../../ledger/snapshots/coin-store.ts';
import { noteSnapshotRejects } from '../../ledger/transactions/close-rejects.ts';
import type { SyncContext, SyncReport } from '../sync-context.ts';
import { askWhole } from './ask-whole.ts';
import { assignBriefly } from './assign-briefly.ts';
import { refuseEmptySnapshot } from './refuse-empty-snapshot.ts';
import { unstoredRows } from './unstored-rows.ts';

/**
 * Runs one pass over the wallet's coins (docs/wallet-service-api.md, section 4.6); one answer holds them all. Requests
 * them once more if the answer lacks a coin that the ledger lists, and fails while the list is suddenly empty.
 */
export async function syncCoins(context: SyncContext, signal: AbortSignal): Promise<SyncReport> {
  const { records, rejects, observation, kept } = await askWhole(context, 'coins', () =>
    context.client.listCoins(signal),
  );
  if (records.length + rejects.length === 0) await refuseEmptySnapshot(context.ledger.db, 'coins');
  const unstored = unstoredRows(rejects);
  const isComplete = unstored === 0;
  const counts = await context.ledger.transaction(async (db) => {
    const stored = await storeCoins(db, records, observation, isComplete, kept);
    if (!stored.isOvertaken) await noteSnapshotRejects(db, 'coin-list', rejects);
    return stored;
  });
  await assignBriefly(context, signal);
  return {
    rowsSeen: records.length + unstored,
    rowsInserted: counts.inserted,
    rowsUpdated: counts.updated,
    isComplete,
  };
}
