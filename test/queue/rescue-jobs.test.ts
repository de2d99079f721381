import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import type { RepeatableJob } from '../../src/queue/define-job.ts';
import { startQueue } from '../../src/queue/start-queue.ts';
import { recordLog } from '../support/record-log.ts';
import { freshPrefix, openTestBackend } from '../support/test-backends.ts';

const { address, close } = await openTestBackend.postgres();
const sql = new Client({
  connectionString: address.kind === 'postgres' ? address.connectionString : '',
});
await sql.connect();
const cleanups: (() => unknown)[] = [];
const longest = 25_000;

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

afterAll(async () => {
  await sql.end();
  await close();
});

async function start(prefix: string, run: (signal: AbortSignal) => Promise<void>) {
  const job: RepeatableJob = { name: 'tick', everyMs: 500, offsetMs: 0, run };
  const { log, lines } = recordLog();
  const queue = await startQueue({
    backend: address,
    prefix,
    jobs: [job],
    log,
    clock: systemClock,
  });
  cleanups.push(() => queue.close(2_000));
  return { lines };
}

async function query(statement: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
  return (await sql.query(statement, values)).rows;
}

/** Makes the next claim of a run succeed, and its answer be lost with all connections of the workers. */
async function loseAnswers(prefix: string): Promise<void> {
  const name = `lose_${prefix.replaceAll('-', '_')}`;
  await query(`create function ${name}() returns trigger language plpgsql as $$ begin
    if new.next_run_ms <> old.next_run_ms then perform pg_terminate_backend(pg_backend_pid()); end if;
    return new; end $$`);
  await query(`create trigger ${name} before update on queue.scheduler
    for each row when (new.queue = '${prefix}') execute function ${name}()`);
  await vi.waitFor(
    async () =>
      expect(
        await query(`select from queue.job where queue = $1 and state = 'active'`, prefix),
      ).not.toEqual([]),
    { timeout: 10_000, interval: 20 },
  );
  await query(`drop trigger ${name} on queue.scheduler`);
}

test('[D1] a run whose claim lost its connection begins anew within 15 s, and so does its schedule', async () => {
  const prefix = freshPrefix();
  const runs: number[] = [];
  const { lines } = await start(prefix, async () => void runs.push(Date.now()));
  await vi.waitFor(() => expect(runs.length).toBeGreaterThan(1), { timeout: 10_000 });
  await loseAnswers(prefix);
  const lostAt = Date.now();
  const before = runs.length;
  await vi.waitFor(() => expect(runs.length).toBeGreaterThan(before + 2), { timeout: longest });
  expect((runs[before] ?? 0) - lostAt).toBeLessThan(15_000);
  expect(lines).toContainEqual(
    expect.objectContaining({ message: 'queue: a run without a worker is started again' }),
  );
}, 60_000);

test('[D1] a run of a daemon that has ended begins anew in another one within 30 s, and one that is worked does not', async () => {
  const prefix = freshPrefix();
  const worked = { runs: 0 };
  await start(prefix, async (signal) => {
    worked.runs += 1;
    await delay(longest, undefined, { signal }).catch(() => undefined);
  });
  await vi.waitFor(() => expect(worked.runs).toBe(2), { timeout: 10_000 });
  // As a daemon leaves them that was killed: with a lock that holds for another minute.
  await query(
    `insert into queue.job (queue, id, seq, name, state, added_at_ms, processed_at_ms, processed_by, lock_token, locked_until_ms)
     select $1, 'left-' || n, nextval('queue.job_seq'), 'tick', 'active', now, now, worker, worker || ':1', now + 60000
       from (values (1, gen_random_uuid()::text)) as left_behind (n, worker),
            (select (extract(epoch from now()) * 1000)::bigint as now) as t`,
    prefix,
  );
  const left = () =>
    query(`select from queue.job where queue = $1 and id = 'left-1' and state = 'active'`, prefix);
  const at = Date.now();
  await vi.waitFor(async () => expect(await left()).toEqual([]), { timeout: longest + 10_000 });
  expect(Date.now() - at).toBeLessThan(30_000);
  expect(worked.runs).toBe(2);
}, 60_000);
