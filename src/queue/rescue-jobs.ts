import { toError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { FaultLog } from './fault-log.ts';

/** A job that the queue stores as running, with the lock and the name of the worker that claimed it. */
export type ActiveJob = { id: string; token: string; worker: string; hasConnection: boolean };

/** The jobs that run according to the backend. `release` lets another worker claim one that still has this lock. */
export type ActiveJobs = {
  read(): Promise<ActiveJob[]>;
  release(job: ActiveJob): Promise<void>;
};

export type JobRescue = {
  /** Marks the worker of this name as one of this process. A daemon that ended earlier may have left runs behind. */
  adopt(worker: string): void;
  /** Checks once, and again as long as it suspects a job. Rejects if the backend is unreachable. */
  look(): Promise<void>;
  /** Checks soon: a failed statement may have claimed a job although its answer was lost. */
  lookSoon(): void;
  stop(): void;
};

const soonMs = 1_000;
const againMs = 3_000;
/**
 * Time for which a job must have no worker before it is released. A worker that starts or ends one is in that state for
 * milliseconds, and one that lost its connections opens others within seconds.
 */
const abandonedMs = 9_000;

/**
 * Finds jobs that count as running although no worker runs them, and lets them be claimed again. These are jobs of this
 * process that it does not run (`isRun`), because the answer to their claim was lost, and jobs of workers without a
 * connection. BullMQ itself waits until their locks expire, up to 90 s. A process that still runs but has no connection
 * loses its jobs to another one, and aborts them at its next renewal.
 */
export function createJobRescue(tools: {
  backend: { activeJobs: ActiveJobs | null };
  isRun(token: string): boolean;
  log: Log;
  onFault: FaultLog;
}): JobRescue {
  const { isRun, log, onFault } = tools;
  const jobs = tools.backend.activeJobs;
  const ownWorkers = new Set<string>();
  /** Times at which each suspected job was first seen, by the monotonic clock. */
  const suspects = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const isWorked = ({ worker, token, hasConnection }: ActiveJob) =>
    ownWorkers.has(worker) ? isRun(token) : hasConnection;

  async function look(): Promise<void> {
    if (!jobs) return;
    const seenAt = performance.now();
    const idle = (await jobs.read()).filter((job) => !isWorked(job));
    suspect(idle, seenAt);
    for (const job of idle) {
      const key = keyOf(job);
      if (isStopped || seenAt - (suspects.get(key) ?? seenAt) < abandonedMs) continue;
      await jobs.release(job);
      suspects.delete(key);
      log.warn({ job: job.id }, 'queue: a run without a worker is started again');
    }
    if (suspects.size > 0) lookIn(againMs);
  }

  /** Makes these jobs the suspected ones. */
  function suspect(idle: ActiveJob[], seenAt: number): void {
    const since = new Map(suspects);
    suspects.clear();
    for (const job of idle) suspects.set(keyOf(job), since.get(keyOf(job)) ?? seenAt);
  }

  function lookIn(ms: number): void {
    if (timer || isStopped || !jobs) return;
    timer = setTimeout(() => {
      timer = undefined;
      look().catch((error) => {
        onFault('rescue', toError(error));
        lookIn(againMs);
      });
    }, ms).unref();
  }

  return {
    adopt(worker) {
      ownWorkers.add(worker);
      lookIn(soonMs);
    },
    look,
    lookSoon: () => lookIn(soonMs),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

function keyOf({ id, token }: ActiveJob): string {
  return `${id} ${token}`;
}
