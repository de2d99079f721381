import { type IQueueBackend, Queue, type Telemetry } from 'bullmq';
import { withDeadline } from './deadline.ts';
import type { FaultLog } from './fault-log.ts';
import type { QueueBackend } from './queue-backend.ts';

const readyMs = 15_000;
/** Length of the event stream, kept short because no process reads it. */
const eventsMax = 1_000;

export type JobQueue = Queue<unknown, void, string, unknown, void, string, IQueueBackend>;

/**
 * Opens BullMQ's queue on a connected backend; closing the backend closes it. `isOnlyRead` leaves its stored settings
 * unchanged.
 */
export async function openQueue(
  backend: QueueBackend,
  onFault: FaultLog,
  {
    telemetry,
    isOnlyRead = false,
  }: { telemetry?: Telemetry | undefined; isOnlyRead?: boolean } = {},
): Promise<JobQueue> {
  const queue: JobQueue = new Queue(
    backend.queueName,
    {
      connection: {},
      streams: { events: { maxLen: eventsMax } },
      skipMetasUpdate: isOnlyRead,
      ...(telemetry && { telemetry }),
    },
    backend.createBackend,
  );
  queue.on('error', (error) => onFault('queue', error));
  await withDeadline(queue.waitUntilReady(), readyMs, 'the queue could not connect in time');
  return queue;
}
