import { runPart } from '../src/sync/run-part.ts';
import { syncTransactions } from '../src/sync/streams/sync-transactions.ts';
import type { JobDefinition } from './job-definition.ts';

/** A first walk is done in slices, between which new rows at the list's start are fetched. */
const sliceMs = 20_000;

export const syncTransactionsJob: JobDefinition = {
  name: 'sync-transactions',
  everyMs: (schedule) => schedule.transactionsEveryMs,
  run: (tools, signal) =>
    runPart(tools, 'transactions', (own) =>
      syncTransactions(own, { signal, whenLeased: 'briefly', sliceMs, effort: 'daemon' }),
    ),
};
