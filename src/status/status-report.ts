import { printableJson } from '../kernel/printable-json.ts';
import type { LedgerStatus } from '../ledger/reports/ledger-status.ts';
import { listProblems, type ProblemFacts, verdictOn } from './list-problems.ts';

/** Content of the status pages, the metrics and the command `status`. */
export type StatusReport = LedgerStatus &
  ProblemFacts & {
    /** Number of items that are not shown, for each list that is too long. */
    leftOut?: { balances: number; unexplainedDifferences: number; problems: number };
  };

/**
 * Returns the document of `status --json`, without the balance histories: the documented keys first, then all others.
 */
export function toStatusJson(report: StatusReport): string {
  const { transactions, rejects, queue, lastErrors, lastRuns, readAt } = report;
  const { unexpectedDeposits, unexplainedDifferences, processes, feed, leftOut } = report;
  const problems = listProblems(report);
  const verdict = { verdict: verdictOn(problems), problems, wallets: report.wallets };
  const { streams, pools } = report;
  const balances = report.balances.map(({ history, ...balance }) => balance);
  const document = { ...verdict, streams, transactions, rejects, pools, queue, lastErrors };
  const more = {
    unexpectedDeposits,
    unexplainedDifferences,
    processes,
    feed,
    lastRuns,
    balances,
    leftOut,
    readAt,
  };
  return `${printableJson(JSON.stringify({ ...document, ...more }, null, 2))}\n`;
}
