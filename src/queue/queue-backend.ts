import type { BackendFactory, IQueueBackend } from 'bullmq';
import { connectPostgresQueue } from './connect-postgres-queue.ts';
import { connectRedisQueue } from './connect-redis-queue.ts';
import type { FaultLog } from './fault-log.ts';

export type QueueAddress =
  | { kind: 'postgres'; connectionString: string }
  | { kind: 'redis'; url: string };

/** The differences between the two backends; all other code is shared. */
export type QueueBackend = {
  kind: QueueAddress['kind'];
  queueName: string;
  /** Builds the backend of BullMQ's Queue and Worker. */
  createBackend: BackendFactory<IQueueBackend>;
  /** Runs `work` while no other process does, if two at once could do harm. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Checks and repairs the values that the backend derives from the clocks of several machines. `now` is in Unix
   * milliseconds.
   */
  checkClocks(now: number): Promise<void>;
  /** Closes the connections opened here; a worker closes its own. */
  close(): Promise<void>;
};

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
