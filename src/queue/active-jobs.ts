import type { PgPool } from 'bullmq';
import { queueAppName } from './postgres-queue-options.ts';
import type { ActiveJob, ActiveJobs } from './rescue-jobs.ts';

/** Length of a worker's name, with which the names of its connections end. */
const workerNameLength = 36;
/** Longest name that PostgreSQL keeps of a connection. */
const appNameMax = 63;

/** Returns the names of a worker's connections: of those of its pool, and of the one by which BullMQ counts workers. */
export function workerAppNames(
  queueName: string,
  worker: string,
): { pool: string; listen: string } {
  const suffix = `:w:${worker}`;
  return {
    pool: `${queueAppName} ${worker}`,
    listen: `${queueName.slice(0, appNameMax - suffix.length)}${suffix}`,
  };
}

/**
 * Reads which jobs run, and whether their workers have connections, and puts jobs back. BullMQ has no call that tells
 * whose a running job is. No upstream thread is known. Not needed once the tests `[D1] a run …` in
 * test/queue/rescue-jobs.test.ts pass without it.
 */
export function activeJobsOf(pool: PgPool, queueName: string): ActiveJobs {
  return {
    async read() {
      const { rows } = await pool.query<ActiveJob>(
        `select j.id, j.lock_token as token, j.processed_by as worker,
                exists (select from pg_stat_activity a
                         where right(a.application_name, $2) = j.processed_by) as "hasConnection"
           from job j
          where j.queue = $1 and j.state = 'active' and j.lock_token is not null
            and length(j.processed_by) = $2`,
        [queueName, workerNameLength],
      );
      return rows;
    },
    async release({ id, token }) {
      await pool.query('select move_active_to_wait($1, $2, $3, $4)', [
        queueName,
        id,
        token,
        Date.now(),
      ]);
    },
  };
}
