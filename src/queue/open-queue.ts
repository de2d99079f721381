import { type IQueueBackend, Queue, type Telemetry } from 'bullmq';
import { withDeadline } from './deadline.ts';
import type { FaultLog } from './fault-log.ts';
import type { QueueBackend } from './queue-backend.ts';

const readyMs = 15_000;
/** Nobody reads the event stream: it is kept short. */
const eventsMax = 1_000;

export type JobQueue = Queue<unknown, void, string, unknown, void, string, IQueueBackend>;

/** BullMQ's queue on a connected backend. Closing the backend closes it. `isOnlyRead`: its settings are not written. */
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
  await withDeadline(queue.waitUntilReady(), readyMs, 'the queue got no connection');
  return queue;
}
