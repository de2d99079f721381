import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { safeErrorMessage } from './safe-error-message.ts';

/** Duration after which a failure is an error, and shortest time between two lines about the same failure. */
const persistentMs = 60_000;

type Failure = { message: string; since: number; loggedAt: number; unlogged: number };

/**
 * Logs the failures of jobs: the first one as a warning, as an error once the job has failed for a minute, and then at
 * most once a minute with the number of failed runs since the last line. Logs another failure of the job at once, and
 * its next success.
 */
export function createJobFailureLog(log: Log, clock: Clock) {
  const failures = new Map<string, Failure>();
  return {
    onFailure(job: string, error: Error): void {
      const now = clock();
      const message = safeErrorMessage(error);
      const known = failures.get(job);
      const failure = known ?? {
        message,
        since: now,
        loggedAt: Number.NEGATIVE_INFINITY,
        unlogged: 0,
      };
      failures.set(job, failure);
      failure.unlogged += 1;
      if (failure.message === message && now - failure.loggedAt < persistentMs) return;
      const level = now - failure.since < persistentMs ? 'warn' : 'error';
      log[level]({ job, times: failure.unlogged, error }, `job failed: ${message}`);
      Object.assign(failure, { message, loggedAt: now, unlogged: 0 });
    },
    onSuccess(job: string): void {
      const failure = failures.get(job);
      if (!failure) return;
      failures.delete(job);
      const seconds = Math.round((clock() - failure.since) / 1_000);
      log.info({ job, seconds }, 'job works again');
    },
  };
}
