import { randomBytes } from 'node:crypto';
import { migrateQueue } from '../../src/queue/migrate-queue.ts';
import type { QueueAddress } from '../../src/queue/queue-backend.ts';
import { startPostgres } from './start-postgres.ts';
import { startRedis } from './start-redis.ts';

export type TestBackend = { address: QueueAddress; close(): Promise<void> };

/** A migrated, empty backend, or undefined where there is no Redis. */
export const openTestBackend = {
  async postgres(): Promise<TestBackend> {
    const { connectionString, close } = await startPostgres();
    await migrateQueue(connectionString);
    return { address: { kind: 'postgres', connectionString }, close };
  },
  async redis(): Promise<TestBackend | undefined> {
    const redis = await startRedis();
    return redis && { address: { kind: 'redis', url: redis.url }, close: redis.close };
  },
};

/** A queue that no other test shares. */
export function freshPrefix(): string {
  return `test-${randomBytes(6).toString('hex')}`;
}
