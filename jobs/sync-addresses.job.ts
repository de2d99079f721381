import { syncAddresses } from '../src/sync/pools/sync-addresses.ts';
import { runSyncTask } from '../src/sync/run-sync-task.ts';
import type { JobDefinition } from './job-definition.ts';

const sliceMs = 20_000;

export const syncAddressesJob: JobDefinition = {
  name: 'sync-addresses',
  everyMs: (schedule) => schedule.addressesEveryMs,
  run: (context, signal) =>
    runSyncTask(context, 'addresses', (own) =>
      syncAddresses(own, { signal, ifLeased: 'briefly', sliceMs, effort: 'daemon' }),
    ),
};
