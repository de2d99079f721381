import { runPart } from '../src/sync/run-part.ts';
import { syncBalances } from '../src/sync/snapshots/sync-balances.ts';
import type { JobDefinition } from './job-definition.ts';

export const syncBalancesJob: JobDefinition = {
  name: 'sync-balances',
  everyMs: (schedule) => schedule.balancesEveryMs,
  run: (tools, signal) => runPart(tools, 'balances', (own) => syncBalances(own, signal)),
};
