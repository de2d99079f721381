import { sql } from 'drizzle-orm';
import type { LedgerDb } from './connection/connect-ledger.ts';

/** Milliseconds between two runs of each job, by name; null: the job is switched off. */
export type Intervals = Record<string, number | null>;

/** The intervals that apply now. `setBy`: host and process of the daemon that set them. */
export type StoredIntervals = { intervals: Intervals; setBy: string };

/**
 * Applies the intervals to all daemons of the queue, until another daemon starts. Returns the earlier ones, or null if
 * there were none or they are the same.
 */
export async function setIntervals(
  db: LedgerDb,
  queue: string,
  { intervals, setBy }: StoredIntervals,
): Promise<StoredIntervals | null> {
  const text = JSON.stringify(intervals);
  const replaced = await db.execute<StoredIntervals>(sql`
    with earlier as (
      select intervals, set_by from engine.intervals where queue = ${queue} and intervals <> ${text}::jsonb for update
    ),
    stored as (
      insert into engine.intervals (queue, intervals, set_by, set_at)
      values (${queue}, ${text}::jsonb, ${setBy}, now())
      on conflict (queue) do update
        set intervals = excluded.intervals, set_by = excluded.set_by, set_at = excluded.set_at
        where engine.intervals.intervals <> excluded.intervals
    )
    select intervals, set_by as "setBy" from earlier`);
  return replaced.rows[0] ?? null;
}

/** Reads the intervals that apply now; null if no daemon has set any. */
export async function readIntervals(db: LedgerDb, queue: string): Promise<StoredIntervals | null> {
  const stored = await db.execute<StoredIntervals>(
    sql`select intervals, set_by as "setBy" from engine.intervals where queue = ${queue}`,
  );
  return stored.rows[0] ?? null;
}
