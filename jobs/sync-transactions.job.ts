import { runSyncTask } from '../src/sync/run-sync-task.ts';
import { syncTransactionLists } from '../src/sync/sync-transaction-lists.ts';
import type { JobDefinition } from './job-definition.ts';

export const syncTransactionsJob: JobDefinition = {
  name: 'sync-transactions',
  everyMs: (schedule) => schedule.transactionsEveryMs,
  run: (context, signal) =>
    runSyncTask(context, 'transactions', (own) =>
      syncTransactionLists(own, {
        signal,
        ifLeased: 'ask',
        sliceMs: own.settings.scanSliceMs,
        effort: 'daemon',
      }),
    ),
};
