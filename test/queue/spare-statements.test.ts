import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { connectQueueBackend } from '../../src/queue/connect-queue-backend.ts';
import type { RepeatableJob } from '../../src/queue/define-job.ts';
import { createFaultLog } from '../../src/queue/fault-log.ts';
import { openQueue } from '../../src/queue/open-queue.ts';
import { type RunningQueue, startQueue } from '../../src/queue/start-queue.ts';
import { countStatements, type StatementCounter } from '../support/count-statements.ts';
import { recordLog } from '../support/record-log.ts';
import { freshPrefix, openTestBackend } from '../support/test-backends.ts';

const backend = await openTestBackend.postgres();
const { address } = backend;
if (address.kind !== 'postgres') throw new Error('the queue is not in PostgreSQL');
const { connectionString } = address;
const running: RunningQueue[] = [];
const counters: StatementCounter[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((queue) => queue.close(3_000)));
  await Promise.all(counters.splice(0).map((counter) => counter.close()));
});
afterAll(() => backend.close());

const eventually = { timeout: 60_000, interval: 10 };

async function counted(): Promise<StatementCounter> {
  const counter = await countStatements(connectionString);
  counters.push(counter);
  return counter;
}

async function start(url: string, prefix: string, jobs: RepeatableJob[]): Promise<void> {
  const { log } = recordLog();
  const queue = await startQueue({
    backend: { kind: 'postgres', connectionString: url },
    prefix,
    jobs,
    log,
    clock: systemClock,
  });
  running.push(queue);
}

function repeated(name: string, everyMs: number) {
  const runs = { count: 0 };
  const job: RepeatableJob = {
    name,
    everyMs,
    offsetMs: 0,
    async run() {
      runs.count += 1;
    },
  };
  return { job, runs };
}

/** Statements of the worker; the watchdog's are not those of a run. */
const ofWorker =
  /move_to|next_delay|next_signal|has_waiting|state = 'waiting'|update_job_scheduler/;

test('three statements are enough for each run of a schedule', async () => {
  const counter = await counted();
  const jobs = ['one', 'two', 'three'].map((name) => repeated(name, 400));
  await start(
    counter.url,
    freshPrefix(),
    jobs.map(({ job }) => job),
  );
  const total = () => jobs.reduce((sum, { runs }) => sum + runs.count, 0);
  const haveRun = (count: number) =>
    vi.waitFor(() => expect(total()).toBeGreaterThanOrEqual(count), eventually);
  await haveRun(6);
  const before = { runs: total(), statements: counter.count(ofWorker) };
  await haveRun(before.runs + 45);
  const runs = total() - before.runs;
  const statements = counter.count(ofWorker) - before.statements;
  // A run that has just begun has cost two of its three.
  expect(statements / runs).toBeLessThan(3.5);
});

test('all schedules are read in one statement', async () => {
  const counter = await counted();
  const prefix = freshPrefix();
  const jobs = Array.from({ length: 12 }, (_, place) => repeated(`job-${place}`, 3_600_000).job);
  await start(connectionString, prefix, jobs);
  await start(counter.url, prefix, jobs);
  expect(counter.count(/from scheduler/i)).toBe(1);
});

test('a job that another process adds, or puts back, wakes a worker that expects none', async () => {
  const prefix = freshPrefix();
  const { job, runs } = repeated('rare', 3_600_000);
  await start(connectionString, prefix, [job]);
  await vi.waitFor(() => expect(runs.count).toBe(1), eventually);
  const connected = await connectQueueBackend(
    address,
    prefix,
    createFaultLog(recordLog().log, systemClock),
  );
  try {
    const queue = await openQueue(connected, () => undefined, { isOnlyRead: true });
    for (let added = 1; added <= 20; added += 1) {
      await queue.add('rare', {}, { removeOnComplete: true });
      await vi.waitFor(() => expect(runs.count).toBe(1 + added), eventually);
    }
    await queue.pause();
    await queue.add('rare', {}, { removeOnComplete: true });
    await queue.resume();
    await vi.waitFor(() => expect(runs.count).toBe(22), eventually);
    const [scheduled] = await queue.getDelayed();
    await scheduled?.promote();
    await vi.waitFor(() => expect(runs.count).toBe(23), eventually);
  } finally {
    await connected.close();
  }
});
