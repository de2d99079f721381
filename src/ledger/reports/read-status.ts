import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { databaseError } from '../connection/database-error.ts';
import { feedConsumers } from '../feed/consumer-report.ts';
import { ownWallet } from '../own-tables.ts';
import {
  mayCountByTotals,
  waitingCounts,
  waitingCountsOfView,
} from '../transactions/count-waiting.ts';
import type { LedgerStatus, PoolTarget } from './ledger-status.ts';
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
  processes,
  streams,
  unexpectedDeposits,
  unexplainedDifferences,
  unreadableValues,
  wallets,
} from './status-sql.ts';

/** Number of latest runs that are read: they cover hours, and reading them takes milliseconds. */
const runsMax = 10_000;

/**
 * Reads the data of `status` for the wallet of the ledger in one statement, so that all counts are of the same moment.
 * Throws LedgerError `database-unreachable`, or `unexpected` if the schema is missing.
 */
export async function readStatus(
  db: LedgerDb,
  pools: readonly PoolTarget[],
): Promise<LedgerStatus> {
  const row = await readRow(db).catch((error) => {
    throw databaseError(error);
  });
  if (!row) throw new Error('the status query returned no row');
  return rowToStatus(row, pools);
}

async function readRow(db: LedgerDb): Promise<StatusRow | undefined> {
  const waiting = (await mayCountByTotals(db)) ? waitingCounts : waitingCountsOfView;
  const read = await db.execute<StatusRow>(sql`
with recent as materialized (
  select id, job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated, error
    from own.sync_runs order by id desc limit ${runsMax}
)
select ${isoText('now()')} as "readAt",
       ${ownWallet} as wallet,
       (${wallets}) as wallets,
       (${problems}) as problems,
       (${coverage}) as coverage,
       (${streams}) as streams,
       -- Uses the counts of the streams, so that reading the status does not read the whole history.
       ((select coalesce(sum(ledger_count), 0) from own.streams where name in ('deposit', 'withdraw'))
         + (select count(*) from own.transactions where not is_listed))::float8 as total,
       waiting.incomplete::float8 as incomplete,
       waiting.final_incomplete::float8 as "detailsToFetch",
       waiting.refused::float8 as "detailsRefused",
       -- A row that is no longer listed may be open for good.
       (select count(*)::float8 from own.transactions where not is_final) as "notFinal",
       (${unreadableValues}) as rejects,
       (${poolLevels}) as levels,
       (${unexpectedDeposits}) as "unexpectedDeposits",
       (${balances}) as balances,
       (${balanceCount}) as "balanceCount",
       (${unexplainedDifferences}) as "unexplainedDifferences",
       (${processes}) as processes,
       (${feedConsumers}) as feed,
       (${lastRuns}) as "lastRuns",
       (${lastErrors}) as "lastErrors"
  from ${waiting} as waiting`);
  return read.rows[0];
}
