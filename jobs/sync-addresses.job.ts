import { syncAddresses } from '../src/sync/pools/sync-addresses.ts';
import { runPart } from '../src/sync/run-part.ts';
import type { JobDefinition } from './job-definition.ts';

const sliceMs = 20_000;

export const syncAddressesJob: JobDefinition = {
  name: 'sync-addresses',
  everyMs: (schedule) => schedule.addressesEveryMs,
  run: (tools, signal) =>
    runPart(tools, 'addresses', (own) =>
      syncAddresses(own, { signal, whenLeased: 'briefly', sliceMs, effort: 'daemon' }),
    ),
};
