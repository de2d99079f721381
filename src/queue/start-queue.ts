import { setTimeout as delay } from 'node:timers/promises';
import type { Telemetry } from 'bullmq';
import type { Clock } from '../kernel/clock.ts';
import { LedgerError, toError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { traceRunsApart } from './bullmq-workarounds.ts';
import { connectQueueBackend } from './connect-queue-backend.ts';
import { settlesWithin, withDeadline } from './deadline.ts';
import {
  isScheduled,
  type OnDemandJob,
  type RepeatableJob,
  type ScheduledJob,
} from './define-job.ts';
import { createFaultLog, type FaultLog } from './fault-log.ts';
import { createFailedCleaner, keepSchedules } from './keep-schedules.ts';
import { type JobQueue, openQueue } from './open-queue.ts';
import { openWorker } from './open-worker.ts';
import type { QueueAddress, QueueBackend } from './queue-backend.ts';
import type { QueueBoard } from './queue-board.ts';
import { type QueueSnapshot, takeSnapshot } from './queue-snapshot.ts';
import { createJobRescue } from './rescue-jobs.ts';
import { createJobRunner, runsPerJobMax } from './run-jobs.ts';
import { startWatchdog } from './watchdog.ts';

const attemptsMax = 3;
const attemptPauseMs = 1_000;
const watchdogMs = 15_000;
const readyAnswerMs = 3_000;
/** Part of the closing time that is reserved for the connections. */
const disconnectMs = 2_000;

export type QueueOptions = {
  backend: QueueAddress;
  /** QUEUE_PREFIX: separates several installations on one Redis or database. */
  prefix: string;
  jobs: RepeatableJob[];
  onDemand?: readonly OnDemandJob[];
  /** Reads the intervals (ms; null: off) that apply to all processes; absent: those of the jobs. */
  readIntervals?: () => Promise<Record<string, number | null>>;
  log: Log;
  clock: Clock;
  /** Enables tracing of the queue's steps. */
  isTraced?: boolean;
  /** Callback after each failed run, with the error as it was thrown. */
  onJobError?: (jobName: string, error: Error) => void;
  /** Interval of the checks of schedules and worker, in milliseconds; default 15 s. */
  watchdogEveryMs?: number;
};

export type RunningQueue = {
  /** Adds a job that runs once. One with the same id that has not ended is kept instead. */
  add(name: string, id: string, data: object): Promise<void>;
  /** Returns true if the backend answers and the worker is alive. Never rejects. */
  isReady(): Promise<boolean>;
  snapshot(): Promise<QueueSnapshot>;
  /** Creates the handler of the pages that show the queue, to be served under `basePath`. */
  openBoard(basePath: string): Promise<QueueBoard>;
  /**
   * Takes no more jobs, aborts the running ones and waits for them; ends within `deadlineMs` milliseconds. Never
   * rejects.
   */
  close(deadlineMs: number): Promise<void>;
};

/**
 * Schedules the jobs and runs them, in this process and all others that share the backend. Returns once the worker
 * runs. Throws LedgerError `database-unreachable`, `queue-unreachable` or `schema-newer`.
 */
export async function startQueue(options: QueueOptions): Promise<RunningQueue> {
  const { log, clock, jobs, onDemand = [] } = options;
  const onFault = createFaultLog(log, clock);
  const onJobError = options.onJobError ?? ignore;
  const runner = createJobRunner({ jobs, onDemand, log, clock, onJobError });
  const telemetry = options.isTraced ? await loadQueueTelemetry() : undefined;
  const { backend, queue } = await connectWithRetries(options, onFault, telemetry);
  const runsMax = runsPerJobMax * jobs.length + onDemand.reduce((sum, job) => sum + job.runsMax, 0);
  const rescue = createJobRescue({ backend, isRun: runner.isRunning, log, onFault });
  const startWorker = () => openWorker({ backend, runner, runsMax, rescue, onFault, telemetry });
  const keeping = { queue, backend, log, onFault, clock, cleanFailed: createFailedCleaner(queue) };
  const checkSchedules = async () =>
    keepSchedules({ ...keeping, jobs: await scheduledJobs(options) });

  await checkSchedules().catch((error) => onFault('watchdog', toError(error)));
  let worker = await startWorker().catch(async (error) => {
    await settlesWithin(backend.close(), disconnectMs);
    throw unreachable(options.backend.kind, error);
  });
  let closing: Promise<void> | undefined;

  async function replaceDeadWorker(): Promise<void> {
    if (closing !== undefined || worker.isAlive()) return;
    log.error({}, 'queue: the worker no longer takes jobs; starting a new worker');
    const dead = worker;
    worker = await startWorker();
    void dead.close(watchdogMs);
    if (closing !== undefined) await worker.close(disconnectMs);
  }

  const watchdog = startWatchdog(
    options.watchdogEveryMs ?? watchdogMs,
    async () => {
      await reportHolder(backend, onFault);
      await checkSchedules();
      await rescue.look();
      // The backend has just answered, so a silent worker is not waiting for it.
      await replaceDeadWorker();
    },
    onFault,
  );

  async function shutDown(deadlineMs: number): Promise<void> {
    watchdog.stop();
    rescue.stop();
    runner.stop();
    const { isDrained } = await worker.close(Math.max(deadlineMs - disconnectMs, deadlineMs / 2));
    if (!isDrained)
      log.warn({ running: runner.runningCount() }, 'queue: closed before running jobs had ended');
    await settlesWithin(backend.close(), disconnectMs / 2);
  }

  return {
    async add(name, id, data) {
      await queue.add(name, data, { jobId: id, removeOnComplete: true, removeOnFail: true });
    },
    isReady: async () => (await answers(queue)) && worker.isAlive(),
    snapshot: () => takeSnapshot(queue, backend),
    async openBoard(basePath) {
      const { createQueueBoard } = await import('./queue-board.ts');
      return createQueueBoard(queue, basePath);
    },
    async close(deadlineMs) {
      closing ??= shutDown(deadlineMs);
      await settlesWithin(closing, deadlineMs);
    },
  };
}

function ignore(): void {}

function answers(queue: JobQueue): Promise<boolean> {
  return withDeadline(queue.getJobSchedulersCount(), readyAnswerMs, 'no answer').then(
    () => true,
    () => false,
  );
}

/** Returns the jobs that are not switched off, with the intervals that apply to all processes. */
async function scheduledJobs({ jobs, readIntervals }: QueueOptions): Promise<ScheduledJob[]> {
  const inForce = (await readIntervals?.()) ?? {};
  return jobs
    .map((job) => ({ ...job, everyMs: { [job.name]: job.everyMs, ...inForce }[job.name] ?? null }))
    .filter(isScheduled);
}

async function reportHolder(backend: QueueBackend, onFault: FaultLog): Promise<void> {
  const holder = await backend.findLockHolder();
  if (holder === null) return;
  const message = `the queue waits for locks that another session holds: ${holder}`;
  onFault('locks', new LedgerError('database-unreachable', message));
}

/** Loads BullMQ's tracing only if it is enabled. */
async function loadQueueTelemetry(): Promise<Telemetry> {
  const { BullMQOtel } = await import('bullmq-otel');
  return traceRunsApart(new BullMQOtel({ tracerName: 'wallet-ledger' }));
}

/**
 * Connects with retries. BullMQ never retries a failed first contact, so each attempt starts afresh. An error
 * of `connectQueueBackend` has its own cure and is reported at once.
 */
async function connectWithRetries(
  { backend: address, prefix }: QueueOptions,
  onFault: FaultLog,
  telemetry: Telemetry | undefined,
): Promise<{ backend: QueueBackend; queue: JobQueue }> {
  for (let attempt = 1; ; attempt += 1) {
    const backend = await connectQueueBackend(address, prefix, onFault);
    try {
      return { backend, queue: await openQueue(backend, onFault, { telemetry }) };
    } catch (error) {
      await settlesWithin(backend.close(), disconnectMs);
      if (attempt >= attemptsMax) throw unreachable(address.kind, error);
    }
    await delay(attemptPauseMs);
  }
}

function unreachable(kind: QueueAddress['kind'], cause: unknown): LedgerError {
  return new LedgerError(
    kind === 'postgres' ? 'database-unreachable' : 'queue-unreachable',
    `the queue could not be started: ${toError(cause).message}`,
    { cause },
  );
}
