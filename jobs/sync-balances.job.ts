import { runSyncTask } from '../src/sync/run-sync-task.ts';
import { syncBalances } from '../src/sync/snapshots/sync-balances.ts';
import type { JobDefinition } from './job-definition.ts';

export const syncBalancesJob: JobDefinition = {
  name: 'sync-balances',
  everyMs: (schedule) => schedule.balancesEveryMs,
  run: (context, signal) => runSyncTask(context, 'balances', (own) => syncBalances(own, signal)),
};
