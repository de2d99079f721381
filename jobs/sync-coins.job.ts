import { runPart } from '../src/sync/run-part.ts';
import { syncCoins } from '../src/sync/snapshots/sync-coins.ts';
import type { JobDefinition } from './job-definition.ts';

export const syncCoinsJob: JobDefinition = {
  name: 'sync-coins',
  everyMs: (schedule) => schedule.coinsEveryMs,
  run: (tools, signal) => runPart(tools, 'coins', (own) => syncCoins(own, signal)),
};
