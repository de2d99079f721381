import type { LedgerStatus } from '../ledger/read-status.ts';
import type { QueueSnapshot } from '../queue/queue-snapshot.ts';

/** Everything that status pages, metrics and the command `status` tell. `queue` null: it does not answer. */
export type StatusReport = LedgerStatus & { queue: QueueSnapshot | null };

/** The document of `status --json`: the contract's keys first, then what else there is; without the histories. */
export function toStatusJson(report: StatusReport): string {
  const { streams, transactions, rejects, pools, queue, lastErrors, lastRuns, readAt } = report;
  const { unexpectedDeposits, unexplainedDifferences } = report;
  const balances = report.balances.map(({ history, ...balance }) => balance);
  const document = { streams, transactions, rejects, pools, queue, lastErrors };
  const more = { unexpectedDeposits, unexplainedDifferences, lastRuns, balances, readAt };
  return `${JSON.stringify({ ...document, ...more }, null, 2)}\n`;
}
