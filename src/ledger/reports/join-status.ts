import type { LedgerStatus } from './ledger-status.ts';

/**
 * Joins the statuses of several wallets of one ledger, in their order. Problems of the database and consumers of the
 * feed concern the whole ledger; they are taken from the last status. Throws without any.
 */
export function joinStatus(statuses: readonly LedgerStatus[]): LedgerStatus {
  const last = statuses.at(-1);
  if (!last) throw new Error('there is no status to join');
  const all = <T>(rows: (status: LedgerStatus) => T[]) => statuses.flatMap(rows);
  const sum = (count: (status: LedgerStatus) => number) =>
    statuses.reduce((total, status) => total + count(status), 0);
  return {
    readAt: last.readAt,
    wallets: last.wallets.map(
      (wallet) =>
        all(({ wallets }) => wallets).find((other) => other.name === wallet.name && other.counts) ??
        wallet,
    ),
    problems: [
      ...all(({ problems }) => problems.filter(({ wallet }) => wallet !== '')),
      ...last.problems.filter(({ wallet }) => wallet === ''),
    ],
    processes: last.processes,
    feed: last.feed,
    streams: all(({ streams }) => streams),
    coverage: all(({ coverage }) => coverage),
    pools: all(({ pools }) => pools),
    balances: all(({ balances }) => balances),
    unexplainedDifferences: all((status) => status.unexplainedDifferences),
    lastRuns: all(({ lastRuns }) => lastRuns),
    lastErrors: all(({ lastErrors }) => lastErrors).sort((a, b) => (a.at < b.at ? 1 : -1)),
    balanceCount: sum(({ balanceCount }) => balanceCount),
    rejects: sum(({ rejects }) => rejects),
    transactions: {
      total: sum(({ transactions }) => transactions.total),
      incomplete: sum(({ transactions }) => transactions.incomplete),
      final: sum(({ transactions }) => transactions.final),
      detailsToFetch: sum(({ transactions }) => transactions.detailsToFetch),
      detailsRefused: sum(({ transactions }) => transactions.detailsRefused),
    },
    unexpectedDeposits: {
      foreign: sum(({ unexpectedDeposits }) => unexpectedDeposits.foreign),
      unknown: sum(({ unexpectedDeposits }) => unexpectedDeposits.unknown),
    },
  };
}
