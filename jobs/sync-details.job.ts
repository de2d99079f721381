import { syncDetails } from '../src/sync/details/sync-details.ts';
import { runSyncTask } from '../src/sync/run-sync-task.ts';
import type { JobDefinition } from './job-definition.ts';

export const syncDetailsJob: JobDefinition = {
  name: 'sync-details',
  everyMs: (schedule) => schedule.detailsEveryMs,
  run: (context, signal) => runSyncTask(context, 'details', (own) => syncDetails(own, signal)),
};
