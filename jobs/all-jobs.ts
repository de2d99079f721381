import { auditHistoryJob } from './audit-history.job.ts';
import { fillPoolsJob } from './fill-pools.job.ts';
import type { JobDefinition } from './job-definition.ts';
import { syncAddressesJob } from './sync-addresses.job.ts';
import { syncBalancesJob } from './sync-balances.job.ts';
import { syncCoinsJob } from './sync-coins.job.ts';
import { syncDetailsJob } from './sync-details.job.ts';
import { syncTransactionsJob } from './sync-transactions.job.ts';

/** All repeatable jobs. A new job needs one file and one line here. */
export const allJobs: JobDefinition[] = [
  syncTransactionsJob,
  syncDetailsJob,
  syncBalancesJob,
  syncCoinsJob,
  syncAddressesJob,
  fillPoolsJob,
  auditHistoryJob,
];
