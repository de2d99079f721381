import { runSyncTask } from '../src/sync/run-sync-task.ts';
import { syncCoins } from '../src/sync/snapshots/sync-coins.ts';
import type { JobDefinition } from './job-definition.ts';

export const syncCoinsJob: JobDefinition = {
  name: 'sync-coins',
  everyMs: (schedule) => schedule.coinsEveryMs,
  run: (context, signal) => runSyncTask(context, 'coins', (own) => syncCoins(own, signal)),
};
