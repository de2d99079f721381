import { type ChildProcess, spawn } from 'node:child_process';
import { PostgresConnection, PostgresQueueBackend, Queue } from 'bullmq';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { connectPostgresQueue } from '../../src/queue/connect-postgres-queue.ts';
import {
  decideScheduleRepair,
  type StoredSchedule,
} from '../../src/queue/decide-schedule-repair.ts';
import type { RepeatableJob } from '../../src/queue/define-job.ts';
import type { QueueAddress } from '../../src/queue/queue-backend.ts';
import { type RunningQueue, startQueue } from '../../src/queue/start-queue.ts';
import { stopChild } from '../support/embedded-server.ts';
import { forAllSync } from '../support/for-all.ts';
import { freePort } from '../support/free-port.ts';
import { recordLog } from '../support/record-log.ts';
import { redisProgram } from '../support/redis-program.ts';
import { openTcpGate } from '../support/tcp-gate.ts';
import { freshPrefix, openTestBackend } from '../support/test-backends.ts';

const postgres = await openTestBackend.postgres();
const connectionString =
  postgres.address.kind === 'postgres' ? postgres.address.connectionString : '';
const sql = new Client({ connectionString });
await sql.connect();
const redis = redisProgram();
const cleanups: (() => unknown)[] = [];
const eventually = { timeout: 60_000, interval: 50 };

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

afterAll(async () => {
  await sql.end();
  await postgres.close();
});

async function start(
  jobs: RepeatableJob[],
  options: { address?: QueueAddress; prefix?: string; watchdogEveryMs?: number } = {},
) {
  const { log, lines } = recordLog();
  const queue: RunningQueue = await startQueue({
    backend: options.address ?? postgres.address,
    prefix: options.prefix ?? freshPrefix(),
    jobs,
    log,
    clock: systemClock,
    watchdogEveryMs: options.watchdogEveryMs ?? 300,
  });
  cleanups.push(() => queue.close(2_000));
  return { queue, lines };
}

function ticking(
  name = 'tick',
  run: (signal: AbortSignal) => Promise<void> = async () => undefined,
  everyMs = 200,
) {
  const runs: number[] = [];
  const job: RepeatableJob = {
    name,
    everyMs,
    offsetMs: 0,
    async run(signal) {
      runs.push(Date.now());
      await run(signal);
    },
  };
  const goesOn = async () => {
    const before = runs.length;
    await vi.waitFor(() => expect(runs.length).toBeGreaterThan(before + 2), eventually);
  };
  return { job, runs, goesOn };
}

/** BullMQ's own queue, as Bull Board or an operator's script would open it. */
function openOperatorsQueue(prefix: string): Queue {
  const connection = new PostgresConnection({ connectionString, schema: 'queue', max: 2 });
  const queue = new Queue(
    prefix,
    { connection: connection.pool as never },
    (name, options) =>
      new PostgresQueueBackend(
        connection,
        name,
        { ...options, connection: connection.pool },
        false,
      ),
  );
  queue.on('error', () => undefined);
  cleanups.push(async () => {
    await queue.close();
    await connection.close();
  });
  return queue as unknown as Queue;
}

describe('a worker that hung', () => {
  test('[Q1 Q2] loses its lock, is aborted, and another worker does its job: no failure, and the schedule continues', async () => {
    const prefix = freshPrefix();
    const reasons: string[] = [];
    let isFirst = true;
    const { job, runs, goesOn } = ticking('long', async (signal) => {
      if (!isFirst) return;
      isFirst = false;
      await new Promise<void>((_, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push(String(signal.reason));
          reject(signal.reason);
        });
      });
    });
    const { queue } = await start([job], { prefix });
    await vi.waitFor(() => expect(runs).toHaveLength(1), eventually);
    // As after 60 s of standing still: the lock has run out, and somebody else has taken the job.
    await sql.query(
      `update queue.job set lock_token = 'another', processed_by = 'another', locked_until_ms = 0
        where queue = $1 and state = 'active'`,
      [prefix],
    );
    // The next renewal of the lock comes within 20 s.
    await vi.waitFor(
      () => expect(reasons).toEqual([expect.stringContaining('gave the run to another worker')]),
      eventually,
    );
    await goesOn();
    expect((await queue.snapshot()).failed).toBe(0);
  }, 90_000);
});

test('[Q9] a database that goes away between the end of a run and its completion: the schedule goes on', async () => {
  const gate = await openTcpGate(connectionString);
  cleanups.push(() => gate.close());
  let shutAt = -1;
  const { job, runs, goesOn } = ticking('tick', async () => {
    if (runs.length === 3 && shutAt < 0) {
      shutAt = runs.length;
      gate.shut();
    }
  });
  const { queue } = await start([job], {
    address: { kind: 'postgres', connectionString: gate.url },
  });
  await vi.waitFor(() => expect(shutAt).toBe(3), eventually);
  await vi.waitFor(async () => expect(await queue.isReady()).toBe(false), eventually);
  gate.open();
  await goesOn();
}, 60_000);

describe('the connection that a worker listens on', () => {
  async function listen() {
    const gate = await openTcpGate(connectionString);
    cleanups.push(() => gate.close());
    const queue = await connectPostgresQueue(gate.url, freshPrefix(), () => undefined);
    cleanups.push(() => queue.close());
    const { queueName, createBackend } = queue;
    const worker = createBackend(queueName, { connection: {} }, { withBlockingConnection: true });
    cleanups.push(() => worker.close());
    worker.on('error', () => undefined);
    const uncaught: unknown[] = [];
    const note = (error: unknown) => uncaught.push(error);
    process.on('uncaughtException', note);
    cleanups.push(() => process.off('uncaughtException', note));
    return { gate, worker, uncaught };
  }

  test('[D1] ends no process when the server closes it just as it is ready, and is opened again', async () => {
    const { gate, worker, uncaught } = await listen();
    gate.endWhenReady();
    for (let time = 1; time <= 3; time += 1) {
      await expect(worker.waitForJob(1)).rejects.toThrow('terminating connection');
      expect(gate.refusals()).toBeGreaterThanOrEqual(time);
    }
    expect(uncaught).toEqual([]);
    gate.open();
    await worker.waitForJob(0.1);
  }, 30_000);

  test('[D1] ends no process when the server ends it while it is being closed', async () => {
    const { gate, worker, uncaught } = await listen();
    await worker.waitForJob(0.1);
    const closed = worker.close();
    gate.end();
    await closed;
    expect(uncaught).toEqual([]);
  }, 30_000);
});

test('[Q13] an older and a newer release on one queue: each job runs, none fails, unknown ones are left out', async () => {
  const prefix = freshPrefix();
  const common = [ticking('common'), ticking('common')] as const;
  const added = ticking('added');
  const dropped = ticking('dropped');
  const older = await start([common[0].job, dropped.job], { prefix });
  const newer = await start([common[1].job, added.job], { prefix });
  await Promise.all([added.goesOn(), dropped.goesOn()]);
  await vi.waitFor(
    () => expect(common[0].runs.length + common[1].runs.length).toBeGreaterThan(5),
    eventually,
  );
  for (const { queue, lines } of [older, newer]) {
    expect((await queue.snapshot()).failed).toBe(0);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  }
  // Once the old release is gone its schedule is as well.
  await older.queue.close(2_000);
  await vi.waitFor(async () => {
    const { rows } = await sql.query(
      'select scheduler_id as id from queue.scheduler where queue = $1 order by 1',
      [prefix],
    );
    expect(rows.map(({ id }) => id)).toEqual(['added', 'common']);
  }, eventually);
}, 90_000);

describe('the lock under which schedules are changed', () => {
  const lockOf = `hashtext('wallet-ledger schedules'), hashtext($1)`;

  async function waitingForLock(prefix: string): Promise<number> {
    const { rows } = await sql.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_locks
        where locktype = 'advisory' and not granted and classid::bigint = hashtext('wallet-ledger schedules')::bigint & 4294967295
          and objid::bigint = hashtext($1)::bigint & 4294967295`,
      [prefix],
    );
    return rows[0]?.waiting ?? 0;
  }

  test('is not kept by a release that closes while it waits for it: the other one repairs its schedules', async () => {
    const prefix = freshPrefix();
    const older = await start([ticking('dropped').job], { prefix });
    await sql.query(`select pg_advisory_lock(${lockOf})`, [prefix]);
    // The older release waits for the lock before the newer one does, and gets it first.
    await sql.query('delete from queue.scheduler where queue = $1', [prefix]);
    await vi.waitFor(async () => expect(await waitingForLock(prefix)).toBe(1), eventually);
    const newer = start([ticking('added').job], { prefix });
    await vi.waitFor(async () => expect(await waitingForLock(prefix)).toBe(2), eventually);
    await older.queue.close(2_000);
    await sql.query(`select pg_advisory_unlock(${lockOf})`, [prefix]);
    await newer;
    await vi.waitFor(async () => {
      const { rows } = await sql.query(
        'select scheduler_id as id from queue.scheduler where queue = $1',
        [prefix],
      );
      expect(rows).toEqual([{ id: 'added' }]);
    }, eventually);
  }, 90_000);

  test('is given back by a process that closes while it holds it', async () => {
    const prefix = freshPrefix();
    const [first, second] = await Promise.all([
      connectPostgresQueue(connectionString, prefix, () => undefined),
      connectPostgresQueue(connectionString, prefix, () => undefined),
    ]);
    cleanups.push(() => second.close());
    let held: Promise<void> | undefined;
    await new Promise<void>((isHeld) => {
      held = first.exclusively(() => {
        isHeld();
        // As BullMQ answers what is asked of a connection that is closing: never.
        return new Promise<void>(() => undefined);
      });
      held.catch(() => undefined);
    });
    const closed = first.close();
    expect(await second.exclusively(async () => 'ours')).toBe('ours');
    await expect(held).rejects.toThrow('being closed');
    await closed;
  }, 60_000);
});

describe('an operator at the queue', () => {
  test('[Q16] who drains it, takes a schedule away or obliterates it meets a watchdog that repairs it', async () => {
    const prefix = freshPrefix();
    const { job, goesOn } = ticking();
    await start([job], { prefix });
    const operator = openOperatorsQueue(prefix);
    await goesOn();
    const meddling: (() => Promise<unknown>)[] = [
      () => operator.drain(true),
      () => operator.removeJobScheduler('tick'),
      () => operator.obliterate({ force: true }).then(() => operator.resume()),
    ];
    for (const meddle of meddling) {
      await meddle();
      await goesOn();
    }
  }, 60_000);

  test('[Q16] who pauses it is obeyed until it is resumed, and the snapshot says so', async () => {
    const prefix = freshPrefix();
    const { job, runs, goesOn } = ticking();
    const { queue } = await start([job], { prefix });
    const operator = openOperatorsQueue(prefix);
    await goesOn();
    await operator.pause();
    await vi.waitFor(async () => expect((await queue.snapshot()).active).toBe(0), eventually);
    const paused = runs.length;
    // Several passes of the watchdog.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(runs.length - paused).toBeLessThanOrEqual(1);
    expect(await queue.snapshot()).toMatchObject({ isPaused: true });
    await operator.resume();
    await goesOn();
    expect(await queue.snapshot()).toMatchObject({ isPaused: false });
  }, 60_000);
});

test('[Q17] a job that always fails and a backlog of jobs that nobody knows keep no other from running', async () => {
  const prefix = freshPrefix();
  const { job, goesOn } = ticking();
  const poisoned = ticking('poisoned', () => Promise.reject(new Error('always')));
  const operator = openOperatorsQueue(prefix);
  await operator.addBulk(
    Array.from({ length: 3_000 }, (_, index) => ({
      name: 'left over',
      data: { index },
      opts: { removeOnComplete: true },
    })),
  );
  await start([job, poisoned.job], { prefix });
  await goesOn();
  await poisoned.goesOn();
  await vi.waitFor(async () => {
    const { rows } = await sql.query(
      `select count(*)::int as left from queue.job where queue = $1 and name = 'left over'`,
      [prefix],
    );
    expect(rows).toEqual([{ left: 0 }]);
  }, eventually);
  await goesOn();
}, 90_000);

test('[Q11] what is decided of a schedule hangs on distances in time alone, not on the date', () => {
  const day = 86_400_000;
  const dates = [
    Date.UTC(2026, 9, 25, 0, 59, 59, 999),
    Date.UTC(2027, 11, 31, 23, 59, 59, 999),
    Date.UTC(2028, 1, 29, 12),
    2 ** 31 * 1_000 - 1,
    2 ** 31 * 1_000 + 1,
  ];
  const drawn = forAllSync(
    fc.constantFrom(...dates),
    fc.integer({ min: 1_000, max: day }),
    fc.integer({ min: -2 * day, max: 2 * day }),
    fc.constantFrom<StoredSchedule['nextJob']>('waiting', 'active', 'absent'),
  );
  drawn(100, (date, everyMs, aheadMs, nextJob) => {
    const decideAt = (now: number) =>
      decideScheduleRepair(
        now,
        [{ name: 'a', everyMs }],
        [{ name: 'a', everyMs, nextRunAt: now + aheadMs, nextJob }],
      );
    expect(decideAt(date)).toEqual(decideAt(1_700_000_000_000));
  });
});

describe.skipIf(!redis)('the queue on Redis', () => {
  async function startRedis(port: number, ...settings: string[]): Promise<ChildProcess> {
    const server = spawn(
      redis ?? '',
      [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--appendonly',
        'no',
        ...settings,
      ],
      { stdio: 'ignore', cwd: '/tmp' },
    );
    cleanups.push(() => stopChild(server, 'SIGKILL'));
    const client = await openClient(port);
    await vi.waitFor(async () => expect(await client.ping()).toBe('PONG'), eventually);
    return server;
  }

  async function openClient(port: number): Promise<Redis> {
    const client = new Redis(port, '127.0.0.1', { retryStrategy: () => 50 });
    client.on('error', () => undefined);
    cleanups.push(() => client.disconnect());
    return client;
  }

  test('[Q5] a Redis that is killed and comes back empty has its schedules again, and the jobs go on', async () => {
    const port = await freePort();
    const server = await startRedis(port);
    const { job, goesOn } = ticking();
    await start([job], { address: { kind: 'redis', url: `redis://127.0.0.1:${port}` } });
    await goesOn();
    await stopChild(server, 'SIGKILL');
    await startRedis(port);
    await goesOn();
  }, 90_000);

  test('[Q6] a full Redis is logged, retried at a bounded rate, and used again once it has space', async () => {
    const port = await freePort();
    await startRedis(port, '--maxmemory-policy', 'noeviction');
    const client = await openClient(port);
    const { job, runs, goesOn } = ticking('tick', undefined, 1_500);
    const { queue, lines } = await start([job], {
      address: { kind: 'redis', url: `redis://127.0.0.1:${port}` },
    });
    await vi.waitFor(() => expect(runs.length).toBeGreaterThan(1), eventually);
    // Between two runs: what a run that is being finished meets is the recovery of stalled jobs, after minutes.
    await vi.waitFor(async () => expect((await queue.snapshot()).active).toBe(0), eventually);
    await client.config('SET', 'maxmemory', '1');
    const isTold = () =>
      lines.some(
        ({ level, fields }) => level !== 'debug' && JSON.stringify(fields).includes('OOM'),
      ) || lines.some(({ message }) => message.includes('OOM'));
    await vi.waitFor(() => expect(isTold()).toBe(true), eventually);
    const full = { refusal: expect.stringMatching(/^Redis is full: .* its maxmemory is 1$/) };
    expect(await queue.snapshot()).toMatchObject(full);
    const commands = async () =>
      Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1]);
    const before = await commands();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    // A loop that does not pause sends thousands of commands in this time.
    expect((await commands()) - before).toBeLessThan(600);
    await client.config('SET', 'maxmemory', '0');
    expect(await queue.snapshot()).toMatchObject({ refusal: null });
    // A run that could not be finished is taken up again when its lock has run out, 60 s later: now.
    const locks = await client.keys('*:lock');
    if (locks.length > 0) await client.del(locks);
    await vi.waitFor(() => expect(runs.length).toBeGreaterThan(4), {
      ...eventually,
      timeout: 150_000,
    });
    await goesOn();
  }, 240_000);
});
