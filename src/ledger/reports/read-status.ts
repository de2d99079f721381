import { sql } from 'drizzle-orm';
import { databaseError, type LedgerDb } from '../connection/connect-ledger.ts';
import { type FeedConsumer, feedConsumers } from '../feed/consumer-report.ts';
import { isGivenUp } from '../transactions/detail-checks.ts';
import { rowToStatus, type StatusRow } from './status-row.ts';
import {
  balanceCount,
  balances,
  coverage,
  isoText,
  lastErrors,
  lastRuns,
  poolLevels,
  problems,
  streams,
  unexpectedDeposits,
  unexplainedDifferences,
  wallets,
} from './status-sql.ts';

/** A problem that needs a person: a row of the view `problems`, or one of the queue. `since` is null if unknown. */
export type Problem = {
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

/** Number of transactions and open rejects, as in `LedgerStatus`. */
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
 * State of the ledger at one moment: of one wallet as `readStatus` reads it, or of several (`joinStatus`). Problems and
 * consumers of the feed are those of the whole ledger. Times are ISO 8601, UTC.
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
  /** Number of open rejects. */
  rejects: number;
  /** One entry per configured pool, in the order of the setting. */
  pools: PoolStatus[];
  unexpectedDeposits: UnexpectedDeposits;
  /** First 500 by symbol and chain. */
  balances: BalanceStatus[];
  /** Number of all listed balances. */
  balanceCount: number;
  unexplainedDifferences: UnexplainedDifference[];
  /** Consumers and webhooks of the change feed. */
  feed: FeedConsumer[];
  /** Latest run of each job. */
  lastRuns: RunStatus[];
  /** Errors, latest first. */
  lastErrors: ErrorStatus[];
};

/** Number of latest runs that are read: they cover hours, and reading them takes milliseconds. */
const runsMax = 10_000;

/**
 * Reads the data of `status` for the wallet of the ledger in one statement, so that all counts are of the same moment. Throws LedgerError
 * `database-unreachable`, or `unexpected` if the schema is missing.
 */
export async function readStatus(
  db: LedgerDb,
  pools: readonly PoolTarget[],
): Promise<LedgerStatus> {
  const read = await db
    .execute<StatusRow>(sql`
with recent as materialized (
  select id, job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated, error
    from own.sync_runs order by id desc limit ${runsMax}
)
select ${isoText('now()')} as "readAt",
       engine.wallet() as wallet,
       (${wallets}) as wallets,
       (${problems}) as problems,
       (${coverage}) as coverage,
       (${streams}) as streams,
       -- The streams count what is listed, so that no status walks over the whole history.
       ((select coalesce(sum(ledger_count), 0) from own.streams where name in ('deposit', 'withdraw'))
         + (select count(*) from own.transactions where not is_listed))::float8 as total,
       unfinished.incomplete,
       unfinished.details_to_fetch as "detailsToFetch",
       unfinished.details_refused as "detailsRefused",
       -- A row that is no longer listed may be open for good.
       (select count(*)::float8 from own.transactions where not is_final) as "notFinal",
       (select count(*)::float8 from own.rejects where resolved_at is null) as rejects,
       (${poolLevels}) as levels,
       (${unexpectedDeposits}) as "unexpectedDeposits",
       (${balances}) as balances,
       (${balanceCount}) as "balanceCount",
       (${unexplainedDifferences}) as "unexplainedDifferences",
       (${feedConsumers}) as feed,
       (${lastRuns}) as "lastRuns",
       (${lastErrors}) as "lastErrors"
  from (
    select count(*)::float8 as incomplete, (count(*) filter (where is_final))::float8 as details_to_fetch,
           (count(*) filter (where ${isGivenUp}))::float8 as details_refused
      from ledger.waiting_details
  ) as unfinished`)
    .catch((error) => {
      throw databaseError(error);
    });
  const row = read.rows[0];
  if (!row) throw new Error('the status query returned no row');
  return rowToStatus(row, pools);
}
