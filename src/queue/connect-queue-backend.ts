import { connectPostgresQueue } from './connect-postgres-queue.ts';
import { connectRedisQueue } from './connect-redis-queue.ts';
import type { FaultLog } from './fault-log.ts';
import type { QueueAddress, QueueBackend } from './queue-backend.ts';

/**
 * Connects, and returns once the backend has answered: BullMQ never recovers if the database is unreachable at first.
 * Throws LedgerError `database-unreachable`, `queue-unreachable` or `schema-newer`.
 */
export async function connectQueueBackend(
  address: QueueAddress,
  prefix: string,
  onFault: FaultLog,
): Promise<QueueBackend> {
  return address.kind === 'postgres'
    ? connectPostgresQueue(address.connectionString, prefix, onFault)
    : connectRedisQueue(address.url, prefix, onFault);
}
