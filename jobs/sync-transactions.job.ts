import { runSyncTask } from '../src/sync/run-sync-task.ts';
import { syncTransactions } from '../src/sync/streams/sync-transactions.ts';
import type { JobDefinition } from './job-definition.ts';

/** Length of one slice of the first full scan. Between two slices a pass reads new rows at the list's start. */
const sliceMs = 20_000;

export const syncTransactionsJob: JobDefinition = {
  name: 'sync-transactions',
  everyMs: (schedule) => schedule.transactionsEveryMs,
  run: (context, signal) =>
    runSyncTask(context, 'transactions', (own) =>
      syncTransactions(own, { signal, ifLeased: 'briefly', sliceMs, effort: 'daemon' }),
    ),
};
