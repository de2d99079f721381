import { storeBalances } from '../ledger/balance-store.ts';
import type { Ledger } from '../ledger/connect-ledger.ts';
import { readMovement, recordReconciliation } from '../ledger/reconciliation-store.ts';
import { storeRejects } from '../ledger/reject-store.ts';
import { askWhole } from './ask-whole.ts';
import type { PassReport, SyncTools } from './sync-tools.ts';
import { unstoredRows } from './unstored-rows.ts';

/** What the ledger looked like when this process last summed it up: sums over a long history are not for every poll. */
const reconciled = new WeakMap<Ledger, { movement: string; at: number }>();
/** Changes made by SQL from outside leave no other trace: so often it is summed up all the same. */
const reconcileAnywayMs = 600_000;

/**
 * One pass over the wallet's balances (section 4.5 of the service's document): one answer holds them all, and
 * what it does not name any more is asked for once more. Afterwards
 * the transactions are compared with them; where nothing changed nothing is written.
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
    const stored = await storeBalances(db, records, observation, isComplete, kept);
    const movement = await readMovement(db);
    const last = reconciled.get(tools.ledger);
    if (movement !== last?.movement || askedAt > last.at + reconcileAnywayMs) {
      await recordReconciliation(db, performance.now() - askedAt);
      reconciled.set(tools.ledger, { movement, at: askedAt });
    }
    return stored;
  });
  return {
    rowsSeen: records.length + unstored,
    rowsInserted: counts.inserted,
    rowsUpdated: counts.updated,
    isComplete,
  };
}
