import type { JobsOptions } from 'bullmq';
import type { Clock } from '../kernel/clock.ts';
import { toError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { nextRunId } from './bullmq-workarounds.ts';
import {
  decideScheduleRepair,
  placeOf,
  type ScheduleRepair,
  type StoredSchedule,
} from './decide-schedule-repair.ts';
import type { ScheduledJob } from './define-job.ts';
import type { FaultLog } from './fault-log.ts';
import type { JobQueue } from './open-queue.ts';
import type { QueueBackend } from './queue-backend.ts';

/**
 * Finished jobs are removed at once: keeping a fixed number deadlocks BullMQ's PostgreSQL backend, and `sync_runs` has
 * the history. A failed run is not retried, because its schedule runs it again.
 */
const runOptions: JobsOptions = { attempts: 1, removeOnComplete: true };

/** Retention of failed jobs for Bull Board and `status`; they are removed in bounded steps. */
const failedKeptMs = 3_600_000;
const removedAtOnceMax = 1_000;
const cleanEveryMs = 300_000;

type Tools = {
  queue: JobQueue;
  backend: QueueBackend;
  jobs: ScheduledJob[];
  log: Log;
  onFault: FaultLog;
  clock: Clock;
  cleanFailed: () => Promise<void>;
};

/** Returns a function that removes old failed jobs, at most once in five minutes. */
export function createFailedCleaner(queue: JobQueue): () => Promise<void> {
  let dueAt = 0;
  return async () => {
    if (performance.now() < dueAt) return;
    await queue.clean(failedKeptMs, removedAtOnceMax, 'failed');
    dueAt = performance.now() + cleanEveryMs;
  };
}

/** Runs one pass of the watchdog: makes the queue's schedules match the jobs. Rejects if the backend is unreachable. */
export async function keepSchedules(tools: Tools): Promise<void> {
  const { backend, clock, cleanFailed } = tools;
  if ((await findRepairs(tools)).length > 0) {
    await backend.exclusively(async () => {
      for (const repair of await findRepairs(tools)) await applyRepair(tools, repair);
    });
  }
  await cleanFailed();
  await backend.checkClocks(clock());
}

async function findRepairs({ queue, backend, jobs, clock }: Tools): Promise<ScheduleRepair[]> {
  const stored = await (backend.readSchedules?.() ?? askForSchedules(queue));
  return decideScheduleRepair(clock(), jobs, stored);
}

async function askForSchedules(queue: JobQueue): Promise<StoredSchedule[]> {
  const schedulers = await queue.getJobSchedulers(0, -1, true);
  // Asks in the order in which a run passes through these states, so that a run that moves meanwhile is not missed.
  const waiting = new Set(await queue.getRanges(['delayed', 'wait'], 0, -1));
  const active = new Set(await queue.getRanges(['active'], 0, -1));
  return await Promise.all(
    schedulers.map(async (scheduler): Promise<StoredSchedule> => {
      const { key, every, next } = scheduler;
      const id = nextRunId(scheduler);
      const nextJob = active.has(id) ? 'active' : waiting.has(id) ? 'waiting' : await seek(id);
      return { name: key, everyMs: every ?? null, nextRunAt: next ?? null, nextJob };
    }),
  );

  /** Asks for a single run: it may wait elsewhere, as in a paused queue. */
  async function seek(id: string): Promise<StoredSchedule['nextJob']> {
    return placeOf(await queue.getJobState(id));
  }
}

/**
 * Reports a repair that fails (for example with BullMQ's "slots busy") and continues with the others; the next pass
 * retries it.
 */
async function applyRepair(tools: Tools, { kind, name }: ScheduleRepair): Promise<void> {
  const { queue, jobs, log, onFault } = tools;
  log.info({ job: name, change: kind }, 'schedule changed');
  try {
    if (kind === 'remove' || kind === 'replace') await queue.removeJobScheduler(name);
    const job = jobs.find((candidate) => candidate.name === name);
    if (!job || kind === 'remove') return;
    if (kind === 'nudge') await nudge(queue, name);
    else await putSchedule(tools, job);
  } catch (error) {
    onFault(`schedule ${name}`, toError(error));
  }
}

async function putSchedule({ queue, clock }: Tools, job: ScheduledJob): Promise<void> {
  const startDate = clock() + Math.min(job.offsetMs, job.everyMs);
  await queue.upsertJobScheduler(
    job.name,
    { every: job.everyMs, startDate },
    { name: job.name, opts: runOptions },
  );
}

/** The fixed id limits the nudges of all processes to one at a time. */
async function nudge(queue: JobQueue, name: string): Promise<void> {
  await queue.add(name, {}, { ...runOptions, jobId: `nudge-${name}`, removeOnFail: true });
}
