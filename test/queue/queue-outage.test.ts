import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import type { QueueAddress } from '../../src/queue/queue-backend.ts';
import { isQueueAbsent, readQueueSnapshot } from '../../src/queue/queue-snapshot.ts';
import { type RunningQueue, startQueue } from '../../src/queue/start-queue.ts';
import { freePort } from '../support/free-port.ts';
import { queryOnce } from '../support/on-database.ts';
import { type LogLine, recordLog } from '../support/record-log.ts';
import { startPostgres } from '../support/start-postgres.ts';
import { startRedis } from '../support/start-redis.ts';
import { openTcpGate } from '../support/tcp-gate.ts';
import { freshPrefix, openTestBackend } from '../support/test-backends.ts';

const postgres = await openTestBackend.postgres();
const redis = await openTestBackend.redis();
const ownRedis = await startRedis();
const unmigrated = await startPostgres();
const running: RunningQueue[] = [];
const eventually = { timeout: 60_000, interval: 20 };

afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(running.splice(0).map((queue) => queue.close(2_000)));
});

afterAll(async () => {
  for (const opened of [postgres, redis, ownRedis, unmigrated]) await opened?.close();
});

async function startTicking(address: QueueAddress, prefix = freshPrefix()) {
  const ticks: number[] = [];
  const { log, lines } = recordLog();
  const queue = await startQueue({
    backend: address,
    prefix,
    jobs: [{ name: 'tick', everyMs: 200, offsetMs: 0, run: async () => void ticks.push(0) }],
    log,
    clock: systemClock,
    watchdogEveryMs: 300,
  });
  running.push(queue);
  const goesOn = async () => {
    const before = ticks.length;
    await vi.waitFor(() => expect(ticks.length).toBeGreaterThan(before + 2), eventually);
  };
  await goesOn();
  return { queue, lines, goesOn };
}

const warnings = (lines: LogLine[]) => lines.filter(({ level }) => level !== 'debug').length;

function throughGate(address: QueueAddress, url: string): QueueAddress {
  return address.kind === 'postgres' ? { ...address, connectionString: url } : { ...address, url };
}

const urlOf = (address: QueueAddress) =>
  address.kind === 'postgres' ? address.connectionString : address.url;

describe.each([
  ['PostgreSQL', postgres],
  ['Redis', redis],
] as const)('an outage of the queue on %s', (_, backend) => {
  it.skipIf(!backend)('ends with the jobs going on, a few log lines later', async () => {
    if (!backend) return;
    const gate = await openTcpGate(urlOf(backend.address));
    const { queue, lines, goesOn } = await startTicking(throughGate(backend.address, gate.url));
    const before = warnings(lines);
    gate.shut();
    await vi.waitFor(async () => expect(await queue.isReady()).toBe(false), eventually);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    // A loop that does not pause makes about a thousand attempts in this time.
    expect(gate.refusals()).toBeLessThan(50);
    expect(warnings(lines) - before).toBeLessThan(20);
    gate.open();
    await goesOn();
    await vi.waitFor(async () => expect(await queue.isReady()).toBe(true), eventually);
    await queue.close(2_000);
    await gate.close();
  });

  it.skipIf(!backend)('does not keep the queue from closing in time', async () => {
    if (!backend) return;
    const gate = await openTcpGate(urlOf(backend.address));
    const { queue } = await startTicking(throughGate(backend.address, gate.url));
    gate.shut();
    const startedAt = Date.now();
    await queue.close(2_000);
    expect(Date.now() - startedAt).toBeLessThan(2_500);
    await gate.close();
  });

  it.skipIf(!backend)('[Q7] at the start is an error that says where, at once', async () => {
    if (!backend) return;
    const port = await freePort();
    const url = new URL(urlOf(backend.address));
    url.host = `127.0.0.1:${port}`;
    const startedAt = Date.now();
    const start = startTicking(throughGate(backend.address, url.toString()));
    const isPostgres = backend.address.kind === 'postgres';
    await expect(start).rejects.toMatchObject({
      code: isPostgres ? 'database-unreachable' : 'queue-unreachable',
      exitCode: 5,
      message: expect.stringContaining(String(port)),
    });
    expect(Date.now() - startedAt).toBeLessThan(3_000);
  });

  it.skipIf(!backend)('that a worker does not survive brings a new worker', async () => {
    if (!backend) return;
    const { lines, goesOn } = await startTicking(backend.address);
    vi.spyOn(Worker.prototype, 'isRunning').mockReturnValueOnce(false);
    await vi.waitFor(
      () => expect(lines.some(({ message }) => message.includes('new worker'))).toBe(true),
      eventually,
    );
    await goesOn();
  });
});

describe('the queue on PostgreSQL', () => {
  const query = (statement: string, values?: unknown[]) =>
    queryOnce(urlOf(postgres.address), statement, values);

  it('[Q8] goes on when its connections are killed again and again', async () => {
    const { goesOn, queue } = await startTicking(postgres.address);
    for (let round = 0; round < 3; round += 1) {
      await query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`,
      );
      await goesOn();
    }
    expect(await queue.isReady()).toBe(true);
  });

  it('[Q10] forgets a stalled check that a wrong clock has stamped in the future', async () => {
    const prefix = freshPrefix();
    await startTicking(postgres.address, prefix);
    const future = String(Date.now() + 3_600_000);
    await query(
      `insert into queue.meta (queue, field, value) values ($1, 'stalled-check', $2)
         on conflict (queue, field) do update set value = excluded.value`,
      [prefix, future],
    );
    await vi.waitFor(async () => {
      const rows = await query(
        `select 1 from queue.meta where queue = $1 and field = 'stalled-check' and value = $2`,
        [prefix, future],
      );
      expect(rows).toEqual([]);
    }, eventually);
  });

  it('[Q17] forgets failed jobs after an hour', async () => {
    const prefix = freshPrefix();
    await query(
      `insert into queue.job (queue, id, seq, name, state, added_at_ms, finished_at_ms)
       select $1, 'failed-' || n, n, 'tick', 'failed', 0, case n when 1 then 0 else $2::bigint end
         from generate_series(1, 2) n`,
      [prefix, Date.now() - 60_000],
    );
    const { queue } = await startTicking(postgres.address, prefix);
    await vi.waitFor(async () => expect((await queue.snapshot()).failed).toBe(1), eventually);
  });

  it('works where the URL carries options of its own', async () => {
    const url = new URL(urlOf(postgres.address));
    url.searchParams.set('options', '-c timezone=Asia/Tokyo');
    await startTicking({ kind: 'postgres', connectionString: url.toString() });
  });

  it('names the cure where it was never migrated, and does not count as empty', async () => {
    const address = { kind: 'postgres', ...unmigrated } as const;
    await expect(startTicking(address)).rejects.toMatchObject({
      code: 'database-unreachable',
      cure: 'run `wallet-ledger migrate`',
    });
    const { log } = recordLog();
    const options = { backend: address, prefix: freshPrefix(), log, clock: systemClock };
    const failure = await readQueueSnapshot(options).catch((error) => error);
    expect(isQueueAbsent(failure)).toBe(true);
  });
});

describe('the queue on Redis', () => {
  it.skipIf(!ownRedis?.isPrivate)('[Q4] has its schedules back after FLUSHALL', async () => {
    if (!ownRedis) return;
    const { goesOn } = await startTicking({ kind: 'redis', url: ownRedis.url });
    const client = new Redis(ownRedis.url);
    await client.flushall();
    client.disconnect();
    await goesOn();
  });
});
