/** A job that runs periodically. Its name is also the id of its schedule. */
export type RepeatableJob = {
  /** Letters, digits, dots and hyphens; `:` would break the queue's keys. */
  name: string;
  /** Milliseconds between the due times of two runs; null disables the job and removes its schedule. */
  everyMs: number | null;
  /** Milliseconds from storing the schedule to its first run, limited to `everyMs`; staggers the jobs. */
  offsetMs: number;
  /** Runs the job. Must be idempotent: a run may be repeated, overlap with another, or be aborted and repeated. */
  run(signal: AbortSignal): Promise<void>;
};

/** Jobs that are added one by one, when there is work: `RunningQueue.add`. */
export type OnDemandJob = {
  /** Same form as the name of a repeatable job. */
  name: string;
  /** Maximum of simultaneous runs in a process. They do not use the slots of other jobs. */
  runsMax: number;
  /** Runs a job. Must be idempotent, as the run of a repeatable job; a job may also be lost. */
  run(data: unknown, signal: AbortSignal): Promise<void>;
};

/** A job that is not disabled. */
export type ScheduledJob = RepeatableJob & { everyMs: number };

export function isScheduled(job: RepeatableJob): job is ScheduledJob {
  return job.everyMs !== null;
}
