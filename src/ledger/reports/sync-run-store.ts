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

const keptFor = sql`interval '30 days'`;

/** Stores a finished pass, and deletes those older than 30 days. */
export async function recordRun(db: LedgerDb, run: SyncRun): Promise<void> {
  await db.execute(sql`
    with dropped as (delete from ledger.sync_runs where finished_at < now() - ${keptFor})
    insert into ledger.sync_runs
      (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated, error)
    values (${run.job}, now() - ${run.durationMs} * interval '1 millisecond', now(), ${run.outcome}, ${run.requests},
            ${run.rowsSeen}, ${run.rowsInserted}, ${run.rowsUpdated}, ${run.error})`);
}
