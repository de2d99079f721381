import type { FeedConsumer } from '../feed/consumer-report.ts';

/**
 * A problem that needs a person: a row of the view `problems`, or one of the queue. `wallet` is empty for a problem of
 * the whole database, and absent for one of the queue. `since` is null if unknown.
 */
export type Problem = {
  wallet?: string;
  name: string;
  severity: 'warning' | 'critical';
  since: string | null;
  what: string;
  cure: string;
};

/** Name of the wallet that something belongs to. */
type OfWallet = { wallet: string };

/** A wallet of the ledger. `isResting`: no daemon reads it any more; its rows are kept. `counts`: null if not read. */
export type WalletStatus = { name: string; isResting: boolean; counts: WalletCounts | null };

/** Number of transactions and of values that could not be decoded, as in `LedgerStatus`. */
export type WalletCounts = Pick<LedgerStatus, 'transactions' | 'rejects' | 'unexpectedDeposits'>;

/** A chain's threshold, below which its pool is filled, and target (ADDRESS_POOLS). */
export type PoolTarget = { slip44: number; threshold: number; target: number };

export type StreamStatus = OfWallet & {
  name: string;
  listOrder: string | null;
  pageSize: number | null;
  /** Last count of the service; null before the first answer. */
  serviceTotal: number | null;
  ledgerCount: number;
  /** The proof, as the database derives it. */
  isComplete: boolean;
  /** Whole seconds since the last successful pass; null if there was none. */
  lagSeconds: number | null;
  /** Oldest verification of any of its days; null while a day lacks one, and for lists without times. */
  verifiedThrough: string | null;
  /** Reason why `isComplete` is false. */
  notCompleteBecause: string | null;
  /** Error of the latest pass; null after a success. */
  lastError: string | null;
  /** Number of times that a row left a state which the settings declare final. */
  finalChanges: number;
};

/**
 * A pool's level. `daysLeft` uses the pace of the last 7 days; null if no address was handed out. `lastError` is that
 * of filling.
 */
export type PoolStatus = OfWallet &
  PoolTarget & {
    /** Name of the chain, as the service gives it with its balances; null if it gives none. */
    chain: string | null;
    available: number;
    daysLeft: number | null;
    lastError: string | null;
  };

/** Recent deposits (view `unexpected_deposits`) to addresses that this ledger neither generated nor handed out. */
export type UnexpectedDeposits = { foreign: number; unknown: number };

/**
 * A balance; `balance` and `frozen` keep the service's digits. `history` holds up to 30 latest changes, oldest first.
 */
export type BalanceStatus = OfWallet & {
  symbol: string;
  chain: string;
  balance: string | null;
  frozen: string | null;
  history: { at: string; balance: string | null }[];
};

/** A difference between balance and transactions that nothing known explains; `amount` is reported minus expected. */
type UnexplainedDifference = OfWallet & { symbol: string; amount: string; since: string };

/** One UTC day of a list; `verifiedAt` is the time at which the service last listed exactly these rows. */
export type CoveredDay = { day: string; transactions: number; verifiedAt: string | null };

/** The days of a list that have rows: one entry per day for the last 366 days, and a sum of the older ones. */
export type CoverageStatus = OfWallet & {
  stream: string;
  /** Days, oldest first. */
  days: CoveredDay[];
  olderDays: number;
  olderTransactions: number;
  olderNeverVerified: number;
  /** Oldest verification among the older days; null if there is none. */
  olderVerifiedThrough: string | null;
};

type RunStatus = OfWallet & {
  job: string;
  startedAt: string;
  finishedAt: string;
  outcome: string;
  requests: number;
  rowsSeen: number;
  rowsInserted: number;
  rowsUpdated: number;
  error: string | null;
};

/** Error of a stream's latest pass, or of a job's latest failed run. */
type ErrorStatus = OfWallet & { at: string; message: string } & (
    | { stream: string }
    | { job: string }
  );

/**
 * State of the ledger at one moment: of one wallet as `readStatus` reads it, or of several (`joinStatus`). Problems of
 * the database and consumers of the feed are those of the whole ledger. Times are ISO 8601, UTC.
 */
export type LedgerStatus = {
  readAt: string;
  /** Wallets of the ledger by name, those that no daemon reads any more included. */
  wallets: WalletStatus[];
  /** Problems that the database detects, critical ones first. */
  problems: Problem[];
  streams: StreamStatus[];
  coverage: CoverageStatus[];
  /**
   * Counts of transactions. `incomplete`: the detail is still to be fetched, or is fetched again because the row is not
   * final. `detailsToFetch`: the part of them that is final. `detailsRefused`: those that the service has refused for
   * about three days, and that are asked for every two days.
   */
  transactions: {
    total: number;
    incomplete: number;
    final: number;
    detailsToFetch: number;
    detailsRefused: number;
  };
  /** Number of values that could not be decoded. One that a list and a detail repeat counts once. */
  rejects: number;
  /** One entry per configured pool, in the order of the setting. */
  pools: PoolStatus[];
  unexpectedDeposits: UnexpectedDeposits;
  /** First 500 by symbol and chain. */
  balances: BalanceStatus[];
  /** Number of all listed balances. */
  balanceCount: number;
  unexplainedDifferences: UnexplainedDifference[];
  /** Number of processes of wallet-ledger that are connected to the database: daemons and running commands. */
  processes: number;
  /** Consumers and webhooks of the change feed. */
  feed: FeedConsumer[];
  /** Latest run of each job. */
  lastRuns: RunStatus[];
  /** Errors, latest first. */
  lastErrors: ErrorStatus[];
};
