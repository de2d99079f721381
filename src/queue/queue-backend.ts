import type { BackendFactory, IQueueBackend } from 'bullmq';
import type { StoredSchedule } from './decide-schedule-repair.ts';
import type { ActiveJobs } from './rescue-jobs.ts';

export type QueueAddress =
  | { kind: 'postgres'; connectionString: string }
  | { kind: 'redis'; url: string };

/** The differences between the two backends; all other code is shared. */
export type QueueBackend = {
  kind: QueueAddress['kind'];
  queueName: string;
  /** Builds the backend of BullMQ's Queue and Worker. */
  createBackend: BackendFactory<IQueueBackend>;
  /** Runs `work` while no other process does, if two at once could do harm. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Checks and repairs the values that the backend derives from the clocks of several machines. `now` is in Unix
   * milliseconds.
   */
  checkClocks(now: number): Promise<void>;
  /** Reads all schedules at once; null where BullMQ's own calls have to do it. */
  readSchedules: (() => Promise<StoredSchedule[]>) | null;
  /** Jobs that run according to the backend; null if only their locks show whether a worker runs them. */
  activeJobs: ActiveJobs | null;
  /** Milliseconds for which a claim of a job is valid, and between two searches for expired claims. */
  locks: { durationMs: number; searchEveryMs: number };
  /** Names the sessions of others that hold locks which the queue needs; null if there are none. */
  findLockHolder(): Promise<string | null>;
  /** Says why the queue's server refuses to store anything; null if it does not. */
  findRefusal(): Promise<string | null>;
  /** Closes the connections opened here; a worker closes its own. */
  close(): Promise<void>;
};
