import type { Clock } from '../kernel/clock.ts';
import { LedgerError, toError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { OnDemandJob, RepeatableJob } from './define-job.ts';
import { createJobFailureLog } from './job-failure-log.ts';
import { safeErrorMessage } from './safe-error-message.ts';

/** Maximum of simultaneous runs of one job in a process, so that a hanging job cannot take the slots of the others. */
export const runsPerJobMax = 2;

export type JobRunner = {
  /** BullMQ's processor. BullMQ passes the signal only to a function that declares all three parameters. */
  process(
    job: { name: string; data?: unknown },
    token: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void>;
  runningCount(): number;
  /** Returns true while this process runs the job that was claimed with this token. */
  isRunning(token: string): boolean;
  /** Aborts the running jobs and starts no more. */
  stop(): void;
};

/** Creates the runner of the jobs. It runs them by name and throws only errors that the queue can store. */
export function createJobRunner(tools: {
  jobs: RepeatableJob[];
  onDemand?: readonly OnDemandJob[];
  log: Log;
  clock: Clock;
  onJobError: (jobName: string, error: Error) => void;
}): JobRunner {
  const { log, clock, onJobError } = tools;
  const repeatable = tools.jobs.map(
    (job): OnDemandJob => ({
      name: job.name,
      runsMax: runsPerJobMax,
      run: (_data, signal) => job.run(signal),
    }),
  );
  const jobs = new Map([...repeatable, ...(tools.onDemand ?? [])].map((job) => [job.name, job]));
  const failures = createJobFailureLog(log, clock);
  const running = new Map<AbortController, string>();
  const tokens = new Set<string | undefined>();
  let isStopped = false;

  const runningCount = (name: string) =>
    [...running.values()].filter((other) => other === name).length;

  async function runJob(
    job: OnDemandJob,
    data: unknown,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const controller = new AbortController();
    const abort = () => controller.abort(interruption('the queue gave the run to another worker'));
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    running.set(controller, job.name);
    const startedAt = clock();
    try {
      await job.run(data, controller.signal);
      failures.onSuccess(job.name);
      log.debug({ job: job.name, ms: clock() - startedAt }, 'job done');
    } catch (thrown) {
      if (controller.signal.aborted) return;
      const error = toError(thrown);
      onJobError(job.name, error);
      failures.onFailure(job.name, error);
      throw storableError(error);
    } finally {
      running.delete(controller);
    }
  }

  return {
    async process({ name, data }, token, signal) {
      const job = jobs.get(name);
      if (!job) {
        // The job comes from another version of the program, or has been disabled since.
        log.debug({ job: name }, 'job skipped: not scheduled here');
      } else if (runningCount(name) >= job.runsMax) {
        log.debug({ job: name }, 'job skipped: an earlier run has not ended');
      } else if (!isStopped) {
        tokens.add(token);
        await runJob(job, data, signal).finally(() => tokens.delete(token));
      }
    },
    runningCount: () => running.size,
    isRunning: (token) => tokens.has(token),
    stop() {
      isStopped = true;
      for (const controller of running.keys()) controller.abort(interruption('stopping'));
    },
  };
}

function interruption(why: string): LedgerError {
  return new LedgerError('interrupted', `job interrupted: ${why}`);
}

/** Returns the error for the queue: without parameters, without a stack, and with storable text. */
function storableError(error: Error): Error {
  const message = safeErrorMessage(error);
  const storable = new Error(message);
  storable.stack = message;
  return storable;
}
