import { auditHistory } from '../src/sync/checks/audit-history.ts';
import { runSyncTask } from '../src/sync/run-sync-task.ts';
import type { JobDefinition } from './job-definition.ts';

export const auditHistoryJob: JobDefinition = {
  name: 'audit-history',
  everyMs: (schedule) => schedule.auditEveryMs,
  run: (context, signal) => runSyncTask(context, 'audit', (own) => auditHistory(own, signal)),
};
