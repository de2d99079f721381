import type { LedgerStatus } from '../ledger/reports/read-status.ts';
import type { QueueSnapshot } from '../queue/queue-snapshot.ts';
import { listProblems, verdictOn } from './list-problems.ts';

/**
 * Everything that status pages, metrics and the command `status` tell. `queue` null: it does not answer, or, with
 * `isQueueHidden`, the role of the database may not see it.
 */
export type StatusReport = LedgerStatus & {
  queue: QueueSnapshot | null;
  isQueueHidden?: boolean;
  /** How many items of a list are not shown, because there are too many. */
  leftOut?: { balances: number; unexplainedDifferences: number; problems: number };
};

/** Name of the only wallet. */
const wallet = 'main';

/** The document of `status --json`: the documented keys first, then all others; without the histories. */
export function toStatusJson(report: StatusReport): string {
  const { transactions, rejects, queue, lastErrors, lastRuns, readAt } = report;
  const { unexpectedDeposits, unexplainedDifferences, leftOut } = report;
  const problems = listProblems(report);
  const verdict = { verdict: verdictOn(problems), problems, wallets: [{ name: wallet }] };
  const streams = report.streams.map((stream) => ({ wallet, ...stream }));
  const pools = report.pools.map((pool) => ({ wallet, ...pool }));
  const balances = report.balances.map(({ history, ...balance }) => balance);
  const document = { ...verdict, streams, transactions, rejects, pools, queue, lastErrors };
  const more = { unexpectedDeposits, unexplainedDifferences, lastRuns, balances, leftOut, readAt };
  return `${JSON.stringify({ ...document, ...more }, null, 2)}\n`;
}
