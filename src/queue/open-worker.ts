import { randomUUID } from 'node:crypto';
import { type Telemetry, Worker } from 'bullmq';
import { watchFetches } from './bullmq-workarounds.ts';
import { settlesWithin, withDeadline } from './deadline.ts';
import type { FaultLog } from './fault-log.ts';
import type { QueueBackend } from './queue-backend.ts';
import type { JobRescue } from './rescue-jobs.ts';
import type { JobRunner } from './run-jobs.ts';

const concurrencyMin = 4;
const readyMs = 15_000;
/** Silence after which a worker counts as dead; one with free slots requests a job at least every ten seconds. */
const silenceMaxMs = 60_000;
const disconnectMs = 1_000;

export type RunningWorker = {
  /** Returns true if the worker still requests jobs, or has no free slot. */
  isAlive(): boolean;
  /**
   * Takes no more jobs, waits up to `waitMs` milliseconds for running ones, then disconnects even if some still run.
   * Never rejects.
   */
  close(waitMs: number): Promise<{ isDrained: boolean }>;
};

/** Creates the worker and starts it once it is connected. Rejects if it cannot connect. */
export async function openWorker(tools: {
  backend: QueueBackend;
  runner: JobRunner;
  /** Simultaneous runs of all jobs. */
  runsMax: number;
  onFault: FaultLog;
  rescue: JobRescue;
  telemetry?: Telemetry | undefined;
}): Promise<RunningWorker> {
  const { backend, runner, rescue, onFault, telemetry } = tools;
  const { durationMs, searchEveryMs } = backend.locks;
  const name = randomUUID();
  const concurrency = Math.max(concurrencyMin, tools.runsMax);
  // The monotonic clock, because a corrected system time must not look like silence.
  const pulse = { at: performance.now() };
  const closing = new AbortController();
  const worker = new Worker(
    backend.queueName,
    runner.process,
    {
      connection: {},
      autorun: false,
      concurrency,
      name,
      lockDuration: durationMs,
      lockRenewTime: durationMs / 3,
      stalledInterval: searchEveryMs,
      maxStalledCount: 1,
      drainDelay: 5,
      runRetryDelay: 5_000,
      ...(telemetry && { telemetry }),
    },
    (...args) =>
      watchFetches(backend.createBackend(...args), pulse, closing.signal, rescue.lookSoon),
  );
  worker.on('error', (error) => {
    if (closing.signal.aborted) return;
    onFault('worker', error);
    rescue.lookSoon();
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
    await withDeadline(worker.waitUntilReady(), readyMs, 'the worker could not connect in time');
  } catch (error) {
    await close(disconnectMs);
    throw error;
  }
  rescue.adopt(name);
  worker.run().catch((error) => onFault('worker', error));
  return {
    isAlive: () =>
      worker.isRunning() &&
      (runner.runningCount() >= concurrency || performance.now() - pulse.at < silenceMaxMs),
    close,
  };
}
