import type { StatusReport } from './status-report.ts';

/** Returns what a report of several wallets says of one of them. Problems, feed and queue are those of the ledger. */
export function reportOfWallet(report: StatusReport, wallet: string): StatusReport {
  const own = <T extends { wallet: string }>(rows: T[]) =>
    rows.filter((row) => row.wallet === wallet);
  const wallets = report.wallets.filter(({ name }) => name === wallet);
  const { leftOut, ...rest } = report;
  return {
    ...rest,
    ...wallets[0]?.counts,
    wallets,
    streams: own(report.streams),
    coverage: own(report.coverage),
    pools: own(report.pools),
    balances: own(report.balances),
    unexplainedDifferences: own(report.unexplainedDifferences),
    lastRuns: own(report.lastRuns),
    lastErrors: own(report.lastErrors),
  };
}
