import type { LedgerStatus } from '../ledger/reports/ledger-status.ts';

/**
 * Returns the part of a report of several wallets that is about one of them. Feed, queue and the problems of no wallet
 * are those of the whole ledger.
 */
export function reportOfWallet<Report extends LedgerStatus>(
  report: Report,
  wallet: string,
): Report {
  const own = <T extends { wallet: string }>(rows: T[]) =>
    rows.filter((row) => row.wallet === wallet);
  const wallets = report.wallets.filter(({ name }) => name === wallet);
  return {
    ...report,
    // These numbers count the items of all wallets together.
    leftOut: undefined,
    ...wallets[0]?.counts,
    wallets,
    problems: report.problems.filter((problem) => [wallet, '', undefined].includes(problem.wallet)),
    streams: own(report.streams),
    coverage: own(report.coverage),
    pools: own(report.pools),
    balances: own(report.balances),
    unexplainedDifferences: own(report.unexplainedDifferences),
    lastRuns: own(report.lastRuns),
    lastErrors: own(report.lastErrors),
  };
}
