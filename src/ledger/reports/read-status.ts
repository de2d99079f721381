import { sql } from 'drizzle-orm';
import { databaseError, type LedgerDb } from '../connection/connect-ledger.ts';
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
} from './status-sql.ts';

/** Something that needs a person: a row of the view `problems`, or of the queue. `since` null: not known. */
export type Problem = {
  name: string;
  severity: 'warning' | 'critical';
  since: string | null;
  what: string;
  cure: string;
};

/** When a chain's pool is refilled, and up to where (ADDRESS_POOLS). */
export type PoolTarget = { slip44: number; threshold: number; target: number };

export type StreamStatus = {
  name: string;
  listOrder: string | null;
  pageSize: number | null;
  /** What the service last counted; null before the first answer. */
  serviceTotal: number | null;
  ledgerCount: number;
  /** The proof, as the database derives it. */
  isComplete: boolean;
  /** Whole seconds since a pass last ended well; null when none ever did. */
  lagSeconds: number | null;
  /** Oldest verification of any of its days; null while a day was never verified, and for lists without times. */
  verifiedThrough: string | null;
  /** Why `isComplete` is false, in words. */
  notCompleteBecause: string | null;
  /** Of the latest pass; null when it ended well. */
  lastError: string | null;
  /** How often a row left a state that the settings take as final. */
  finalChanges: number;
};

/** `daysLeft`: at the pace of the last 7 days; null when no address was handed out. `lastError`: of filling it. */
export type PoolStatus = PoolTarget & {
  available: number;
  daysLeft: number | null;
  lastError: string | null;
};

/** Recent deposits (view `unexpected_deposits`) to addresses that were neither generated nor handed out here. */
export type UnexpectedDeposits = { foreign: number; unknown: number };

/** `balance` and `frozen` with the service's own digits; `history`: up to 30 latest changes, oldest first. */
export type BalanceStatus = {
  symbol: string;
  chain: string;
  balance: string | null;
  frozen: string | null;
  history: { at: string; balance: string | null }[];
};

/** Balances that the transactions do not add up to, and nothing known explains it; `amount`: reported less expected. */
type UnexplainedDifference = { symbol: string; amount: string; since: string };

/** One UTC day of a list; `verifiedAt`: when the service was last seen to list exactly these rows. */
export type CoveredDay = { day: string; transactions: number; verifiedAt: string | null };

/** The days of a list that have rows: those of the last 366 days one by one, the older ones summed up. */
export type CoverageStatus = {
  stream: string;
  /** Oldest first. */
  days: CoveredDay[];
  olderDays: number;
  olderTransactions: number;
  olderNeverVerified: number;
  /** Oldest verification among the older days; null when there is none. */
  olderVerifiedThrough: string | null;
};

type RunStatus = {
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

/** Of a stream: the error of its latest pass. Of a job: its latest failed run. */
type ErrorStatus = { at: string; message: string } & ({ stream: string } | { job: string });

/** What the ledger knows of itself at one moment. Times are ISO 8601, UTC. */
export type LedgerStatus = {
  readAt: string;
  /** Those that the database sees, critical ones first. */
  problems: Problem[];
  streams: StreamStatus[];
  coverage: CoverageStatus[];
  /**
   * `incomplete`: the detail is still to be fetched, or to be fetched again since the row is not final;
   * `detailsToFetch`: only of rows that are final.
   */
  transactions: { total: number; incomplete: number; final: number; detailsToFetch: number };
  /** Open ones. */
  rejects: number;
  /** One per configured pool, in the order of the setting. */
  pools: PoolStatus[];
  unexpectedDeposits: UnexpectedDeposits;
  /** The first 500 by symbol and chain. */
  balances: BalanceStatus[];
  /** Of all listed balances. */
  balanceCount: number;
  unexplainedDifferences: UnexplainedDifference[];
  /** The latest run of each job. */
  lastRuns: RunStatus[];
  /** The latest first. */
  lastErrors: ErrorStatus[];
};

/** So many of the latest runs are looked at: hours of them, read in milliseconds. */
const runsMax = 10_000;

/**
 * Everything behind `status`, from one statement, so that all counts are of the same moment. Throws LedgerError
 * `database-unreachable`, or `unexpected` before the schema is there.
 */
export async function readStatus(
  db: LedgerDb,
  pools: readonly PoolTarget[],
): Promise<LedgerStatus> {
  const read = await db
    .execute<StatusRow>(sql`
with recent as materialized (
  select id, job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated, error
    from ledger.sync_runs order by id desc limit ${runsMax}
)
select ${isoText('now()')} as "readAt",
       (${problems}) as problems,
       (${coverage}) as coverage,
       (${streams}) as streams,
       -- The streams count what is listed, so that no status walks over the whole history.
       ((select coalesce(sum(ledger_count), 0) from ledger.streams where name in ('deposit', 'withdraw'))
         + (select count(*) from ledger.transactions where not is_listed))::float8 as total,
       unfinished.incomplete,
       unfinished.details_to_fetch as "detailsToFetch",
       -- A row that is no longer listed may be open for good.
       (select count(*)::float8 from ledger.transactions where not is_final) as "notFinal",
       (select count(*)::float8 from ledger.rejects where resolved_at is null) as rejects,
       (${poolLevels}) as levels,
       (${unexpectedDeposits}) as "unexpectedDeposits",
       (${balances}) as balances,
       (${balanceCount}) as "balanceCount",
       (${unexplainedDifferences}) as "unexplainedDifferences",
       (${lastRuns}) as "lastRuns",
       (${lastErrors}) as "lastErrors"
  from (
    select count(*)::float8 as incomplete, (count(*) filter (where is_final))::float8 as details_to_fetch
      from ledger.transactions where next_check_at is not null
  ) as unfinished`)
    .catch((error) => {
      throw databaseError(error);
    });
  const row = read.rows[0];
  if (!row) throw new Error('the status query returned no row');
  return rowToStatus(row, pools);
}

type StatusRow = Omit<LedgerStatus, 'transactions' | 'pools'> & {
  total: number;
  incomplete: number;
  detailsToFetch: number;
  notFinal: number;
  levels: Record<string, Pick<PoolStatus, 'available' | 'daysLeft' | 'lastError'>>;
};

function rowToStatus(row: StatusRow, pools: readonly PoolTarget[]): LedgerStatus {
  const { total, incomplete, detailsToFetch, notFinal, levels, ...rest } = row;
  return {
    ...rest,
    transactions: { total, incomplete, final: total - notFinal, detailsToFetch },
    pools: pools.map(({ slip44, threshold, target }) => ({
      slip44,
      available: levels[slip44]?.available ?? 0,
      threshold,
      target,
      daysLeft: levels[slip44]?.daysLeft ?? null,
      lastError: levels[slip44]?.lastError ?? null,
    })),
  };
}
