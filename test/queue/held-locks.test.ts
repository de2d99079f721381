import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { migrateQueue } from '../../src/queue/migrate-queue.ts';
import { startQueue } from '../../src/queue/start-queue.ts';
import { recordLog } from '../support/record-log.ts';
import { startPostgres } from '../support/start-postgres.ts';
import { freshPrefix } from '../support/test-backends.ts';

const eventually = { timeout: 60_000, interval: 50 };

async function emptyDatabase(): Promise<string> {
  const { connectionString, close } = await startPostgres();
  onTestFinished(close);
  return connectionString;
}

/** A session beside the program's, and how errors name it. */
async function openStranger(connectionString: string) {
  const client = new Client({ connectionString, application_name: 'nosy' });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return { client, name: `process ${rows[0]?.pid}` };
}

test('who holds the lock of the queue delays each run by seconds, is named in the log and the status, and nothing is lost', async () => {
  const connectionString = await emptyDatabase();
  await migrateQueue(connectionString);
  const prefix = freshPrefix();
  const { log, lines } = recordLog();
  const ticks: number[] = [];
  const queue = await startQueue({
    backend: { kind: 'postgres', connectionString },
    prefix,
    jobs: [{ name: 'tick', everyMs: 200, offsetMs: 0, run: async () => void ticks.push(0) }],
    log,
    clock: systemClock,
    watchdogEveryMs: 500,
  });
  onTestFinished(() => queue.close(2_000));
  await vi.waitFor(() => expect(ticks.length).toBeGreaterThan(2), eventually);
  expect((await queue.snapshot()).heldBy).toBeNull();

  const { client, name } = await openStranger(connectionString);
  await client.query(`select pg_advisory_lock(hashtext('bullmq:finalization'), hashtext($1))`, [
    prefix,
  ]);
  const before = ticks.length;
  const heldBy = expect.stringMatching(new RegExp(`^${name}, role .*, application nosy`));
  await vi.waitFor(
    async () => expect(await queue.snapshot()).toMatchObject({ heldBy }),
    eventually,
  );
  await vi.waitFor(
    () =>
      expect(lines).toContainEqual({
        level: expect.stringMatching(/warn|error/),
        fields: expect.objectContaining({ source: 'locks' }),
        message: expect.stringContaining(name),
      }),
    eventually,
  );
  // The worker's four runs at a time take 4 s, two waits for the lock; without the bound of a wait they take 20 s.
  await vi.waitFor(() => expect(ticks.length).toBeGreaterThan(before + 11), {
    timeout: 35_000,
    interval: 50,
  });
  expect(await queue.isReady()).toBe(true);

  await client.end();
  const after = ticks.length;
  await vi.waitFor(() => expect(ticks.length).toBeGreaterThan(after + 2), eventually);
  expect(await queue.snapshot()).toMatchObject({ heldBy: null, failed: 0 });
}, 180_000);

test('a migration of the queue waits for its lock a bounded time, and names who holds it', async () => {
  const connectionString = await emptyDatabase();
  const { client, name } = await openStranger(connectionString);
  // BullMQ's own lock of its migrations.
  await client.query(`select pg_advisory_lock(x'42554c4c'::int, hashtext('queue'))`);
  const { log, lines } = recordLog();
  await expect(migrateQueue(connectionString, { log, waitMs: 1_500 })).rejects.toMatchObject({
    code: 'database-unreachable',
    message: expect.stringContaining(`a lock was not released in time; held by ${name}, role `),
    cure: expect.stringContaining('pg_terminate_backend'),
  });
  expect(lines).toContainEqual({
    level: 'warn',
    fields: { holder: expect.stringContaining(name) },
    message: 'waiting for a lock that another session holds',
  });
  await client.end();
  await migrateQueue(connectionString);
});
