import { fillPools } from '../src/sync/pools/fill-pools.ts';
import { runSyncTask } from '../src/sync/run-sync-task.ts';
import type { JobDefinition } from './job-definition.ts';

export const fillPoolsJob: JobDefinition = {
  name: 'fill-pools',
  everyMs: (schedule) => schedule.poolsEveryMs,
  run: (context, signal) =>
    runSyncTask(context, 'pools', (own) => fillPools(own, { signal, whenBusy: 'skip' })),
};
