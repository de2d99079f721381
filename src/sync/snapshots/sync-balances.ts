import { storeBalances } from '../../ledger/snapshots/balance-store.ts';
import { closeSnapshotRejects, storeRejects } from '../../ledger/transactions/reject-store.ts';
import type { PassReport, SyncTools } from '../sync-tools.ts';
import { askWhole } from './ask-whole.ts';
import { reconcileBalances } from './reconcile-balances.ts';
import { unstoredRows } from './unstored-rows.ts';

/**
 * One pass over the wallet's balances (section 4.5 of the service's document): one answer holds them all, and what it
 * does not name any more is asked for once more. Afterwards the transactions are compared with them; where nothing
 * changed nothing is written.
 */
export async function syncBalances(tools: SyncTools, signal: AbortSignal): Promise<PassReport> {
  const askedAt = performance.now();
  const { records, rejects, observation, kept } = await askWhole(tools, 'balances', () =>
    tools.client.listBalances(signal),
  );
  const unstored = unstoredRows(rejects);
  const isComplete = unstored === 0;
  const counts = await tools.ledger.transaction(async (db) => {
    await storeRejects(db, rejects);
    await closeSnapshotRejects(db, 'balance-list', rejects);
    const stored = await storeBalances(db, records, observation, isComplete, kept);
    await reconcileBalances(tools.ledger, db, askedAt);
    return stored;
  });
  return {
    rowsSeen: records.length + unstored,
    rowsInserted: counts.inserted,
    rowsUpdated: counts.updated,
    isComplete,
  };
}
