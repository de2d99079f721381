/** A job that comes again and again. Its name is also the id of its schedule. */
export type RepeatableJob = {
  /** Letters, digits, dots and hyphens: `:` would break the queue's keys. */
  name: string;
  /** From one run's due time to the next; null when the job is switched off: then its schedule is removed. */
  everyMs: number | null;
  /** How long after the schedule is first stored its first run is due, at most `everyMs`: staggers the jobs. */
  offsetMs: number;
  /** Must be idempotent: a run may come twice, overlap with itself, or end at the signal and come again. */
  run(signal: AbortSignal): Promise<void>;
};

/** A job that is not switched off. */
export type ScheduledJob = RepeatableJob & { everyMs: number };

export function isScheduled(job: RepeatableJob): job is ScheduledJob {
  return job.everyMs !== null;
}
