import type { LedgerStatus, PoolStatus, PoolTarget, WalletStatus } from './ledger-status.ts';

type Rows =
  | 'streams'
  | 'coverage'
  | 'balances'
  | 'unexplainedDifferences'
  | 'lastRuns'
  | 'lastErrors';

/** Rows as they are read, without the wallet that they all belong to. */
type RowsRead = { [Name in Rows]: Omit<LedgerStatus[Name][number], 'wallet'>[] };

/** Row of the statement that reads the status of one wallet. */
export type StatusRow = RowsRead &
  Omit<LedgerStatus, 'transactions' | 'pools' | 'wallets' | Rows> & {
    wallet: string;
    wallets: Omit<WalletStatus, 'counts'>[];
    total: number;
    incomplete: number;
    detailsToFetch: number;
    detailsRefused: number;
    notFinal: number;
    levels: Record<string, Pick<PoolStatus, 'chain' | 'available' | 'daysLeft' | 'lastError'>>;
  };

/** Returns the status, with one entry per configured pool. */
export function rowToStatus(row: StatusRow, pools: readonly PoolTarget[]): LedgerStatus {
  const { total, incomplete, detailsToFetch, detailsRefused, notFinal, levels, wallet, ...rest } =
    row;
  const transactions = {
    total,
    incomplete,
    final: total - notFinal,
    detailsToFetch,
    detailsRefused,
  };
  const counts = { transactions, rejects: row.rejects, unexpectedDeposits: row.unexpectedDeposits };
  const own = <T>(rows: T[]) => rows.map((each) => ({ wallet, ...each }));
  return {
    ...rest,
    streams: own(row.streams),
    coverage: own(row.coverage),
    balances: own(row.balances),
    unexplainedDifferences: own(row.unexplainedDifferences),
    lastRuns: own(row.lastRuns),
    lastErrors: own(row.lastErrors) as LedgerStatus['lastErrors'],
    wallets: row.wallets.map((each) => ({ ...each, counts: each.name === wallet ? counts : null })),
    transactions,
    pools: pools.map(({ slip44, threshold, target }) => ({
      wallet,
      slip44,
      available: levels[slip44]?.available ?? 0,
      threshold,
      target,
      chain: levels[slip44]?.chain ?? null,
      daysLeft: levels[slip44]?.daysLeft ?? null,
      lastError: levels[slip44]?.lastError ?? null,
    })),
  };
}
