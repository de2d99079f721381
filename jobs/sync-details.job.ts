import { syncDetails } from '../src/sync/details/sync-details.ts';
import { runPart } from '../src/sync/run-part.ts';
import type { JobDefinition } from './job-definition.ts';

export const syncDetailsJob: JobDefinition = {
  name: 'sync-details',
  everyMs: (schedule) => schedule.detailsEveryMs,
  run: (tools, signal) => runPart(tools, 'details', (own) => syncDetails(own, signal)),
};
