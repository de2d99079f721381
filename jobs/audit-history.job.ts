import { auditHistory } from '../src/sync/checks/audit-history.ts';
import { runPart } from '../src/sync/run-part.ts';
import type { JobDefinition } from './job-definition.ts';

export const auditHistoryJob: JobDefinition = {
  name: 'audit-history',
  everyMs: (schedule) => schedule.auditEveryMs,
  run: (tools, signal) => runPart(tools, 'audit', (own) => auditHistory(own, signal)),
};
