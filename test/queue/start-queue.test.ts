import { afterAll, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { connectQueueBackend } from '../../src/queue/connect-queue-backend.ts';
import type { RepeatableJob } from '../../src/queue/define-job.ts';
import { createFaultLog } from '../../src/queue/fault-log.ts';
import { openQueue } from '../../src/queue/open-queue.ts';
import { readQueueSnapshot } from '../../src/queue/queue-snapshot.ts';
import { type QueueOptions, type RunningQueue, startQueue } from '../../src/queue/start-queue.ts';
import { recordLog } from '../support/record-log.ts';
import { freshPrefix, openTestBackend } from '../support/test-backends.ts';

const backends = {
  PostgreSQL: await openTestBackend.postgres(),
  Redis: await openTestBackend.redis(),
};

afterAll(async () => {
  for (const backend of Object.values(backends)) await backend?.close();
});

const eventually = { timeout: 60_000, interval: 20 };

describe.each(['PostgreSQL', 'Redis'] as const)('the queue on %s', (kind) => {
  const backend = backends[kind];
  const running: RunningQueue[] = [];
  afterAll(async () => {
    await Promise.all(running.map((queue) => queue.close(3_000)));
  });

  async function start(
    prefix: string,
    jobs: RepeatableJob[],
    options: Partial<QueueOptions> = {},
  ): Promise<RunningQueue> {
    if (!backend) throw new Error('skipped');
    const queue = await startQueue({
      backend: backend.address,
      prefix,
      jobs,
      log: recordLog().log,
      clock: systemClock,
      ...options,
    });
    running.push(queue);
    return queue;
  }

  /** BullMQ's own view of the queue. */
  async function inspect<T>(
    prefix: string,
    look: (queue: Awaited<ReturnType<typeof openQueue>>) => Promise<T>,
  ): Promise<T> {
    if (!backend) throw new Error('skipped');
    const onFault = createFaultLog(recordLog().log, systemClock);
    const connected = await connectQueueBackend(backend.address, prefix, onFault);
    try {
      return await look(await openQueue(connected, onFault));
    } finally {
      await connected.close();
    }
  }

  const schedules = (prefix: string) =>
    inspect(prefix, async (queue) =>
      (await queue.getJobSchedulers()).map(({ key, every }) => ({ key, every })),
    );

  function counted(name: string, everyMs: number | null, offsetMs = 0) {
    const runs: number[] = [];
    const job: RepeatableJob = {
      name,
      everyMs,
      offsetMs,
      async run() {
        runs.push(Date.now());
      },
    };
    return { job, runs };
  }

  // Each test has a queue of its own, and they mostly wait.
  describe.skipIf(!backend).concurrent('and its jobs', () => {
    it('runs a job again and again at its interval, and keeps nothing of the runs', async () => {
      const prefix = freshPrefix();
      const { job, runs } = counted('often', 250, 100);
      const queue = await start(prefix, [job]);
      await vi.waitFor(() => expect(runs.length).toBeGreaterThanOrEqual(6), eventually);
      const first = runs.slice(0, 6);
      const tookMs = Math.max(...first) - Math.min(...first);
      // Neither at once nor now and then; a busy machine may draw two runs together.
      expect(tookMs).toBeGreaterThan(500);
      expect(tookMs).toBeLessThan(8_000);
      expect(await queue.isReady()).toBe(true);
      await queue.close(3_000);
      const counts = await inspect(prefix, (view) => view.getJobCounts());
      expect(counts).toMatchObject({ completed: 0, failed: 0, active: 0, waiting: 0, delayed: 1 });
    });

    it('staggers first runs by their offsets', async () => {
      const early = counted('early', 60_000, 0);
      const late = counted('late', 60_000, 5_000);
      await start(freshPrefix(), [late.job, early.job]);
      await vi.waitFor(() => expect(late.runs).toHaveLength(1), eventually);
      expect(early.runs).toHaveLength(1);
      expect(Number(late.runs[0]) - Number(early.runs[0])).toBeGreaterThan(500);
    });

    it('lets a changed interval take effect on restart, and drops the schedules of removed and switched-off jobs', async () => {
      const prefix = freshPrefix();
      const slow = counted('changed', 3_600_000, 3_600_000);
      const before = [slow.job, counted('removed', 60_000).job, counted('off', 60_000).job];
      await (await start(prefix, before)).close(3_000);
      expect(await schedules(prefix)).toHaveLength(3);
      const fast = counted('changed', 200);
      await start(prefix, [fast.job, counted('off', null).job]);
      await vi.waitFor(() => expect(fast.runs.length).toBeGreaterThanOrEqual(3), eventually);
      expect(slow.runs).toEqual([]);
      await vi.waitFor(
        async () => expect(await schedules(prefix)).toEqual([{ key: 'changed', every: 200 }]),
        eventually,
      );
    });

    it('[Q12] keeps one schedule where several queues start at once', async () => {
      const prefix = freshPrefix();
      const { job, runs } = counted('shared', 500, 500);
      const startedAt = Date.now();
      await Promise.all([1, 2, 3].map(() => start(prefix, [job])));
      await vi.waitFor(() => expect(runs.length).toBeGreaterThanOrEqual(4), eventually);
      const due = (Date.now() - startedAt) / 500;
      expect(runs.length).toBeLessThanOrEqual(due + 1);
      expect(await schedules(prefix)).toEqual([{ key: 'shared', every: 500 }]);
    });

    it('keeps the intervals in force, whatever the jobs of its own settings say', async () => {
      const prefix = freshPrefix();
      const inForce = { shared: 3_600_000, late: 300 as number | null };
      const { log, lines } = recordLog();
      const late = counted('late', null);
      for (const everyMs of [1_000, null]) {
        await start(prefix, [counted('shared', everyMs, 3_600_000).job, late.job], {
          log,
          readIntervals: async () => inForce,
          watchdogEveryMs: 100,
        });
      }
      await vi.waitFor(() => expect(late.runs.length).toBeGreaterThanOrEqual(3), eventually);
      const changes = () => lines.filter(({ message }) => message === 'schedule changed');
      expect(changes()).toHaveLength(2);
      inForce.late = null;
      await vi.waitFor(
        async () => expect(await schedules(prefix)).toEqual([{ key: 'shared', every: 3_600_000 }]),
        eventually,
      );
    });

    it('[Q17] goes on after an error that the database could not store', async () => {
      const prefix = freshPrefix();
      let runs = 0;
      const errors: string[] = [];
      const job: RepeatableJob = {
        name: 'poisoned',
        everyMs: 200,
        offsetMs: 0,
        run() {
          runs += 1;
          throw new Error(`bad \u0000 ${'\ud800'} ${'x'.repeat(2_000)}`);
        },
      };
      const queue = await start(prefix, [job], { onJobError: (name) => errors.push(name) });
      await vi.waitFor(() => expect(runs).toBeGreaterThanOrEqual(4), eventually);
      expect(errors.length).toBeGreaterThanOrEqual(4);
      await queue.close(3_000);
      const [failed] = await inspect(prefix, (view) => view.getFailed());
      expect(failed?.failedReason).toMatch(/^bad \ufffd \ufffd x{100}/);
      if (!backend) return;
      const { log } = recordLog();
      const options = { backend: backend.address, prefix, log, clock: systemClock };
      expect((await readQueueSnapshot(options)).failed).toBeGreaterThanOrEqual(4);
    });

    it('[Q15] aborts a running job when it closes, and waits for it', async () => {
      const prefix = freshPrefix();
      let end: 'open' | 'started' | 'checkpointed' = 'open';
      const job: RepeatableJob = {
        name: 'long',
        everyMs: 60_000,
        offsetMs: 0,
        run: (signal) =>
          new Promise((_, reject) => {
            end = 'started';
            signal.addEventListener('abort', () => {
              setTimeout(() => {
                end = 'checkpointed';
                reject(signal.reason);
              }, 100);
            });
          }),
      };
      const queue = await start(prefix, [job]);
      await vi.waitFor(() => expect(end).toBe('started'), eventually);
      expect((await queue.snapshot()).active).toBe(1);
      const startedAt = Date.now();
      await queue.close(10_000);
      expect(end).toBe('checkpointed');
      expect(Date.now() - startedAt).toBeLessThan(3_000);
      const counts = await inspect(prefix, (view) => view.getJobCounts());
      expect(counts).toMatchObject({ active: 0, failed: 0 });
    });

    it('closes by the deadline although a job ignores its abort signal', async () => {
      const { job, runs } = counted('deaf', 60_000);
      const deaf = { ...job, run: () => job.run(new AbortController().signal).then(never) };
      const queue = await start(freshPrefix(), [deaf]);
      await vi.waitFor(() => expect(runs).toHaveLength(1), eventually);
      const startedAt = Date.now();
      await queue.close(1_500);
      expect(Date.now() - startedAt).toBeLessThan(2_000);
    });

    it('[Q4 Q16] has its schedules back after everything in the queue was lost', async () => {
      const prefix = freshPrefix();
      const { job, runs } = counted('lost', 300);
      const other = counted('other', 60_000, 60_000);
      await start(prefix, [job, other.job], { watchdogEveryMs: 300 });
      await vi.waitFor(() => expect(runs.length).toBeGreaterThanOrEqual(2), eventually);
      await inspect(prefix, (view) => view.obliterate({ force: true }));
      await inspect(prefix, (view) => view.resume());
      const before = runs.length;
      await vi.waitFor(() => expect(runs.length).toBeGreaterThan(before + 3), eventually);
      expect((await schedules(prefix)).map(({ key }) => key)).toEqual(
        expect.arrayContaining(['lost', 'other']),
      );
    });
  });
});

const never = () => new Promise<void>(() => undefined);
