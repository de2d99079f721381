import { type IQueueBackend, type Telemetry, Worker } from 'bullmq';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { settlesWithin, withDeadline } from './deadline.ts';
import type { FaultLog } from './fault-log.ts';
import type { QueueBackend } from './queue-backend.ts';
import { type JobRunner, runsPerJobMax } from './run-jobs.ts';

const concurrencyMin = 4;
const readyMs = 15_000;
/** A worker with free places asks for a job at least every ten seconds. */
const silenceMaxMs = 60_000;
/** BullMQ asks again at once after most faults: without this, a restarting database meets a busy loop. */
const pauseAfterFaultMs = 1_000;
const disconnectMs = 1_000;

export type RunningWorker = {
  /** Whether it still asks for jobs, or has no free place to. */
  isAlive(): boolean;
  /** Takes no more jobs, waits for those that run, at most so long, then lets go of them. Never rejects. */
  close(waitMs: number): Promise<{ isDrained: boolean }>;
};

/** Builds the worker, and starts it once it is connected. Rejects when it cannot connect. */
export async function openWorker(tools: {
  backend: QueueBackend;
  runner: JobRunner;
  jobsCount: number;
  onFault: FaultLog;
  telemetry?: Telemetry | undefined;
}): Promise<RunningWorker> {
  const { backend, runner, onFault, telemetry } = tools;
  const concurrency = Math.max(concurrencyMin, runsPerJobMax * tools.jobsCount);
  // The monotonic clock: a machine's time that is set right must not look like silence.
  const pulse = { at: performance.now() };
  const closing = new AbortController();
  const worker = new Worker(
    backend.queueName,
    runner.process,
    {
      connection: {},
      autorun: false,
      concurrency,
      lockDuration: 60_000,
      lockRenewTime: 20_000,
      stalledInterval: 30_000,
      maxStalledCount: 1,
      drainDelay: 5,
      runRetryDelay: 5_000,
      ...(telemetry && { telemetry }),
    },
    (...args) => watchFetches(backend.createBackend(...args), pulse, closing.signal),
  );
  worker.on('error', (error) => {
    if (!closing.signal.aborted) onFault('worker', error);
  });
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) worker.cancelJob(id, 'lock lost');
  });

  const close = async (waitMs: number) => {
    closing.abort();
    const isDrained = await settlesWithin(worker.close(), waitMs);
    if (!isDrained) await settlesWithin(worker.disconnect(), disconnectMs);
    return { isDrained };
  };
  try {
    await withDeadline(worker.waitUntilReady(), readyMs, 'the worker got no connection');
  } catch (error) {
    await close(disconnectMs);
    throw error;
  }
  worker.run().catch((error) => onFault('worker', error));
  return {
    isAlive: () =>
      worker.isRunning() &&
      (runner.runningCount() >= concurrency || performance.now() - pulse.at < silenceMaxMs),
    close,
  };
}

/** Notes each request for a job, and makes the failed ones take their time. */
function watchFetches(backend: IQueueBackend, pulse: { at: number }, closing: AbortSignal) {
  const watch =
    <Args extends unknown[], Result>(fetch: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      pulse.at = performance.now();
      try {
        return await fetch.apply(backend, args);
      } catch (error) {
        await abortableSleep(pauseAfterFaultMs, closing).catch(() => undefined);
        throw error;
      }
    };
  backend.moveToActive = watch(backend.moveToActive);
  backend.waitForJob = watch(backend.waitForJob);
  return backend;
}
