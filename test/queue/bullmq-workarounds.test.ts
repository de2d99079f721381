import { readFileSync } from 'node:fs';
import { PostgresConnection, PostgresQueueBackend } from 'bullmq';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { limitWaits, listenClientOf, patchedVersion } from '../../src/queue/bullmq-workarounds.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const notification = (payload: string, channel = 'bullmq_jobs') => ({
  channel,
  payload,
  processId: 1,
});

test('of a thousand notifications two wake the worker, and none of other queues', () => {
  const client = new (listenClientOf('wallet-ledger'))({});
  const seen: (string | undefined)[] = [];
  client.on('notification', ({ channel }) => seen.push(channel));
  const flood = (payload: string) => {
    for (let sent = 0; sent < 1_000; sent += 1) client.emit('notification', notification(payload));
  };
  flood('another queue');
  flood('');
  vi.advanceTimersByTime(1_000);
  expect(seen).toEqual([]);
  flood('wallet-ledger');
  expect(seen).toHaveLength(1);
  // A channel of its own is not held back by the other.
  client.emit('notification', notification('wallet-ledger', 'bullmq_events'));
  expect(seen).toEqual(['bullmq_jobs', 'bullmq_events']);
  vi.advanceTimersByTime(10_000);
  expect(seen).toEqual(['bullmq_jobs', 'bullmq_events', 'bullmq_jobs']);
  client.emit('notification', notification('wallet-ledger'));
  expect(seen).toHaveLength(4);
});

test('the installed BullMQ is the version that is patched', () => {
  const { version } = JSON.parse(readFileSync('node_modules/bullmq/package.json', 'utf8'));
  expect(version).toBe(patchedVersion);
});

test('BullMQ waits for up to an hour, and patched for ten seconds', async () => {
  const connection = new PostgresConnection({ connectionString: 'postgres://localhost/none' });
  const options = { connection: connection.pool };
  const backend = new PostgresQueueBackend(connection, 'jobs', options, true, 'jobs');
  expect(backend.maximumBlockTimeout).toBe(3_600);
  expect(limitWaits(backend).maximumBlockTimeout).toBe(10);
  await connection.pool.end();
});
