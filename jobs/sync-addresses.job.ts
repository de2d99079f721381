import { runPart } from '../src/sync/run-part.ts';
import { syncAddresses } from '../src/sync/sync-addresses.ts';
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
