import type { BackendFactory, IQueueBackend } from 'bullmq';
import { connectPostgresQueue } from './connect-postgres-queue.ts';
import { connectRedisQueue } from './connect-redis-queue.ts';
import type { FaultLog } from './fault-log.ts';

/** Where the queue lives. */
export type QueueAddress =
  | { kind: 'postgres'; connectionString: string }
  | { kind: 'redis'; url: string };

/** What differs between the two backends; everything else is the same code. */
export type QueueBackend = {
  kind: QueueAddress['kind'];
  queueName: string;
  /** What BullMQ's Queue and Worker are built with. */
  createBackend: BackendFactory<IQueueBackend>;
  /** Runs `work` while no other process does, where two at once could do harm. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /** Looks after what the backend derives from the clocks of several machines. */
  checkClocks(now: number): Promise<void>;
  /** Closes the connections that are ours; those of a worker close with it. */
  close(): Promise<void>;
};

/**
 * Connects, and returns only once the backend has answered: BullMQ built on an unreachable database would stay
 * dead for ever. Throws LedgerError `database-unreachable`, `queue-unreachable` or `schema-newer`.
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
