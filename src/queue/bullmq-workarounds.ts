import { ROOT_CONTEXT } from '@opentelemetry/api';
import type {
  IQueueBackend,
  PgPool,
  PostgresConnection,
  PostgresQueueBackend,
  Telemetry,
} from 'bullmq';
import pg from 'pg';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { placeOf, type StoredSchedule } from './decide-schedule-repair.ts';
import type { QueueNews } from './queue-news.ts';

/**
 * All patches of BullMQ's internals, and all code that depends on them, except `spareStatements` and `activeJobsOf`.
 * Each names the upstream thread and the test that shows when it can be removed. A test compares this version with the
 * installed one: check each patch before an upgrade.
 */
export const patchedVersion = '6.7.0';

/**
 * Interval between two wake-ups. Each costs the database several transactions, and any role that may connect can send
 * thousands.
 */
const wakeUpsEveryMs = 100;

/**
 * Builds the client class of the connection on which BullMQ waits for jobs. BullMQ listens for its errors only between
 * ready and close. An error just before or after would end the process, or BullMQ would keep a dead connection as
 * ready.
 *
 * Upstream: https://github.com/taskforcesh/bullmq/pull/4781 rebuilds a lost connection, but not one that is lost in the
 * moments before and after. Not needed once the tests `[D1] ends no process when the server ends it …` in
 * test/queue/queue-troubles.test.ts and those of test/queue/bullmq-workarounds.test.ts pass without it.
 *
 * Passes on the first notification of its queue in each tenth of a second at once, and the last of the others at its
 * end. Drops notifications of other queues and those of the process's own sessions (`news`).
 */
export function listenClientOf(queueName: string, news?: QueueNews): typeof pg.Client {
  return class ListenClient extends pg.Client {
    private lost: Error | null = null;
    /** Channels with a recent notification, and the notification to pass on at the end of the interval. */
    private readonly held = new Map<string, pg.Notification | null>();

    constructor(config: pg.ClientConfig) {
      super(config);
      this.on('error', (error) => {
        this.lost = error;
      });
    }

    override async connect(): Promise<pg.Client> {
      await super.connect();
      if (this.lost) throw this.lost;
      return this;
    }

    override emit(event: string | symbol, ...values: unknown[]): boolean {
      if (event !== 'notification') return super.emit(event, ...values);
      const notification = values[0] as pg.Notification;
      if (notification.payload !== queueName || news?.isOwn(notification.processId)) return false;
      news?.onOthers();
      if (this.held.has(notification.channel)) {
        this.held.set(notification.channel, notification);
        return true;
      }
      return this.passOn(notification);
    }

    override end(): Promise<void> {
      this.on('error', () => undefined);
      return super.end();
    }

    private passOn(notification: pg.Notification): boolean {
      const { channel } = notification;
      this.held.set(channel, null);
      setTimeout(() => {
        const last = this.held.get(channel);
        this.held.delete(channel);
        if (last) this.passOn(last);
      }, wakeUpsEveryMs).unref();
      return super.emit('notification', notification);
    }
  };
}

/** Makes BullMQ wait for notifications with this program's client. See `listenClientOf`. */
export function useListenClient(
  connection: PostgresConnection,
  queueName: string,
  news?: QueueNews,
): void {
  const Client = listenClientOf(queueName, news);
  Object.defineProperty(connection, 'pgModule', { value: { Client } });
}

/**
 * Longest wait for a job, in seconds. With BullMQ's default of an hour, a worker could sleep that long after a fault
 * during its wait.
 */
const blockMax = 10;

/**
 * Limits each wait for a job. On Redis, BullMQ itself waits for at most ten seconds since
 * https://github.com/taskforcesh/bullmq/pull/2543. Not needed once `BullMQ waits for up to an hour` in
 * test/queue/bullmq-workarounds.test.ts fails.
 */
export function limitWaits(backend: PostgresQueueBackend): PostgresQueueBackend {
  return Object.defineProperty(backend, 'maximumBlockTimeout', { value: blockMax });
}

/** Delay after a failed request: BullMQ retries most faults at once, a busy loop while the database restarts. */
const pauseAfterFaultMs = 1_000;

/**
 * Records the time of each request for a job, and delays the result of failed requests. Upstream:
 * https://github.com/taskforcesh/bullmq/issues/389 and, for workers that stop unnoticed,
 * https://github.com/taskforcesh/bullmq/issues/3185. Not needed once test/queue/queue-outage.test.ts passes without it.
 */
export function watchFetches(
  backend: IQueueBackend,
  pulse: { at: number },
  closing: AbortSignal,
  onFailure: () => void,
): IQueueBackend {
  const watch =
    <Args extends unknown[], Result>(fetch: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      pulse.at = performance.now();
      try {
        return await fetch.apply(backend, args);
      } catch (error) {
        onFailure();
        await abortableSleep(pauseAfterFaultMs, closing).catch(() => undefined);
        throw error;
      }
    };
  backend.moveToActive = watch(backend.moveToActive);
  backend.waitForJob = watch(backend.waitForJob);
  return backend;
}

/** A `stalled-check` stamp further in the future than this was written with a wrong clock. */
const stalledCheckAheadMaxMs = 60_000;

/**
 * Returns the time of the database, and removes a stamp from the future. BullMQ judges locks by the clock of the
 * calling process. A process with a fast clock would stop the recovery of stalled jobs in all processes until its stamp
 * has passed. No upstream thread is known. Not needed once `[Q10] forgets a stalled check …` in
 * test/queue/queue-outage.test.ts passes without it.
 */
export async function repairStalledCheck(pool: PgPool, queueName: string): Promise<number | null> {
  const { rows } = await pool.query<{ now: string; stamp: string | null }>(
    `select (extract(epoch from clock_timestamp()) * 1000)::bigint as now,
            (select value from meta where queue = $1 and field = 'stalled-check') as stamp`,
    [queueName],
  );
  const [row] = rows;
  if (!row) return null;
  const serverNow = Number(row.now);
  if (Number(row.stamp ?? 0) > serverNow + stalledCheckAheadMaxMs) {
    await pool.query(
      `delete from meta where queue = $1 and field = 'stalled-check' and value = $2`,
      [queueName, row.stamp],
    );
  }
  return serverNow;
}

/**
 * Returns the id that BullMQ gives to the job of a schedule's next run. BullMQ has no call that tells whether the run
 * exists, and a schedule without it never runs again: https://github.com/taskforcesh/bullmq/issues/3063. Not needed
 * once `[Q16] who drains it …` in test/queue/queue-troubles.test.ts passes without it.
 */
export function nextRunId({ key, next }: { key: string; next?: number }): string {
  return `repeat:${key}:${next}`;
}

/**
 * Reads in one statement the schedules and where the jobs of their next runs are. BullMQ reads one schedule at a time.
 * Not needed once `all schedules are read in one statement` in test/queue/spare-statements.test.ts passes without it.
 */
export async function readSchedules(pool: PgPool, queueName: string): Promise<StoredSchedule[]> {
  const { rows } = await pool.query<{
    name: string;
    every_ms: string | null;
    next_run_ms: string | null;
    state: string | null;
  }>(
    `select s.scheduler_id as name, s.every_ms, s.next_run_ms, j.state
       from scheduler s
       left join job j on j.queue = s.queue and j.id = 'repeat:' || s.scheduler_id || ':' || s.next_run_ms
      where s.queue = $1`,
    [queueName],
  );
  const toTime = (ms: string | null) => (ms === null ? null : Number(ms));
  return rows.map(({ name, every_ms, next_run_ms, state }) => ({
    name,
    everyMs: toTime(every_ms),
    nextRunAt: toTime(next_run_ms),
    nextJob: placeOf(state ?? 'unknown'),
  }));
}

/**
 * Gives each run of a job a trace of its own. BullMQ would continue the trace from run to run, so the trace of a
 * schedule would never end: https://github.com/taskforcesh/bullmq/issues/2942. Not needed once `a daemon sends the runs
 * of its jobs, each a trace of its own …` in test/e2e/tracing.test.ts passes without it.
 */
export function traceRunsApart(telemetry: Telemetry): Telemetry {
  Object.assign(telemetry.contextManager, { getMetadata: () => '', root: () => ROOT_CONTEXT });
  return telemetry;
}
