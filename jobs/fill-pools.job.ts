import { fillPools } from '../src/sync/pools/fill-pools.ts';
import { runPart } from '../src/sync/run-part.ts';
import type { JobDefinition } from './job-definition.ts';

export const fillPoolsJob: JobDefinition = {
  name: 'fill-pools',
  everyMs: (schedule) => schedule.poolsEveryMs,
  run: (tools, signal) =>
    runPart(tools, 'pools', (own) => fillPools(own, { signal, whenBusy: 'skip' })),
};
