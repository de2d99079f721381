import type { TaskName } from '../kernel/vocabulary.ts';
import { syncAllDetails } from './details/sync-details.ts';
import { fillPools } from './pools/fill-pools.ts';
import { syncAddresses } from './pools/sync-addresses.ts';
import { createPartRunner } from './run-parts.ts';
import { runSyncTask } from './run-sync-task.ts';
import { syncBalances } from './snapshots/sync-balances.ts';
import { syncCoins } from './snapshots/sync-coins.ts';
import type { SyncOptions } from './streams/sync-stream.ts';
import type { SyncContext, SyncReport } from './sync-context.ts';
import { syncTransactionLists } from './sync-transaction-lists.ts';

type Part = (context: SyncContext, pass: SyncOptions) => Promise<SyncReport>;

const syncTasks = {
  transactions: (context, pass) => syncTransactionLists(context, pass),
  details: (context, pass) => syncAllDetails(context, pass.signal, pass.onProgress),
  balances: (context, pass) => syncBalances(context, pass.signal),
  coins: (context, pass) => syncCoins(context, pass.signal),
  addresses: (context, pass) => syncAddresses(context, pass),
  pools: (context, pass) => fillPools(context, { signal: pass.signal, whenBusy: 'wait' }),
} as const satisfies Record<TaskName, Part>;

/**
 * Runs one pass of each named task, one after the other. Returns the names of the tasks that ended incomplete. Throws
 * the first refusal of the service once the other tasks have run.
 */
export async function runParts(
  context: SyncContext,
  names: readonly TaskName[],
  pass: SyncOptions,
): Promise<string[]> {
  const parts = createPartRunner(context.log);
  for (const name of names)
    await parts.run(name, () => runSyncTask(context, name, (own) => syncTasks[name](own, pass)));
  return parts.end();
}
