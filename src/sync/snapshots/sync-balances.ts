import { storeBalances } from '../../ledger/snapshots/balance-store.ts';
import { noteSnapshotRejects } from '../../ledger/transactions/close-rejects.ts';
import type { SyncContext, SyncReport } from '../sync-context.ts';
import { askWhole } from './ask-whole.ts';
import { assignBriefly } from './assign-briefly.ts';
import { reconcileBalances } from './reconcile-balances.ts';
import { refuseEmptySnapshot } from './refuse-empty-snapshot.ts';
import { unstoredRows } from './unstored-rows.ts';

/**
 * Runs one pass over the wallet's balances (docs/wallet-service-api.md, section 4.5); one answer holds them all.
 * Requests them once more if the answer lacks a balance that the ledger lists, and fails while the list is suddenly
 * empty. Then compares the transactions with the balances, unless `isCompared` is false. Writes nothing if nothing
 * changed.
 */
export async function syncBalances(
  context: SyncContext,
  signal: AbortSignal,
  { isCompared = true }: { isCompared?: boolean } = {},
): Promise<SyncReport> {
  const askedAt = performance.now();
  const { records, rejects, observation, kept } = await askWhole(context, 'balances', () =>
    context.client.listBalances(signal),
  );
  if (records.length + rejects.length === 0)
    await refuseEmptySnapshot(context.ledger.db, 'balances');
  const unstored = unstoredRows(rejects);
  const isComplete = unstored === 0;
  const counts = await context.ledger.transaction(async (db) => {
    const stored = await storeBalances(db, records, observation, isComplete, kept);
    if (!stored.isOvertaken) await noteSnapshotRejects(db, 'balance-list', rejects);
    if (isCompared) await reconcileBalances(context.ledger, db, askedAt);
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
