import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';

export type SyncRun = {
  job: string;
  durationMs: number;
  outcome: 'done' | 'incomplete' | 'interrupted' | 'failed';
  requests: number;
  rowsSeen: number;
  rowsInserted: number;
  rowsUpdated: number;
  error: string | null;
};

/** Milliseconds after which rows are deleted; null keeps them for ever. */
export type Retention = { runsMs: number | null; resolvedMs: number | null };

/** Characters of an error that are kept. */
const errorMax = 2_000;
/** Rows that one pass deletes at most, so that a shorter retention takes effect in small steps. */
const deletedMax = 1_000;

/**
 * Stores a finished pass, and deletes what is older than the retention: passes, resolved rejects, and differences that
 * a later one of the same coin or asset has replaced. The last difference of 0 stays, because it shows that the coin
 * needs no opening in the books. Leaves out rows that another transaction holds: it may be opening a reject again.
 */
export async function recordRun(db: LedgerDb, run: SyncRun, retention: Retention): Promise<void> {
  const before = (ms: number | null) => sql`now() - ${ms}::float8 * interval '1 millisecond'`;
  await db.execute(sql`
    with dropped_runs as (
      delete from own.sync_runs where id = any(array(
        select id from own.sync_runs where finished_at < ${before(retention.runsMs)}
         order by finished_at limit ${deletedMax} for update skip locked))
    ),
    dropped_rejects as (
      delete from own.rejects where id = any(array(
        select id from own.rejects where resolved_at < ${before(retention.resolvedMs)}
         order by resolved_at limit ${deletedMax} for update skip locked))
    ),
    dropped_differences as (
      delete from own.reconciliation_runs where id = any(array(
        select r.id from own.reconciliation_runs r
         where r.observed_at < ${before(retention.resolvedMs)}
           and (r.difference <> 0
                or exists (select from own.reconciliation_runs n
                            where n.symbol = r.symbol and coalesce(n.slip44, -1) = coalesce(r.slip44, -1)
                              and coalesce(n.contract_address, '') = coalesce(r.contract_address, '') and n.id > r.id
                              and n.difference = 0))
           and exists (select from own.reconciliation_runs n
                        where n.symbol = r.symbol and coalesce(n.slip44, -1) = coalesce(r.slip44, -1)
                          and coalesce(n.contract_address, '') = coalesce(r.contract_address, '') and n.id > r.id)
         order by r.observed_at limit ${deletedMax} for update of r skip locked))
    )
    insert into own.sync_runs
      (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated, error)
    values (${run.job}, now() - ${run.durationMs} * interval '1 millisecond', now(), ${run.outcome}, ${run.requests},
            ${run.rowsSeen}, ${run.rowsInserted}, ${run.rowsUpdated}, left(${run.error}::text, ${errorMax}))`);
}
