import { SchemaMigrationRequiredError } from 'bullmq';
import type { Clock } from '../kernel/clock.ts';
import { LedgerError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { connectQueueBackend } from './connect-queue-backend.ts';
import { settlesWithin, withDeadline } from './deadline.ts';
import { createFaultLog } from './fault-log.ts';
import { type JobQueue, openQueue } from './open-queue.ts';
import type { QueueAddress, QueueBackend } from './queue-backend.ts';

const answerMs = 10_000;
const closeMs = 2_000;

/**
 * Queue part of `status --json`. `waiting` counts runs that are due; `failed` counts those of the last hour. While
 * `isPaused`, none is started. `heldBy` names the sessions that hold locks which the queue needs. `refusal` says why
 * its server stores nothing.
 */
export type QueueSnapshot = {
  backend: QueueAddress['kind'];
  waiting: number;
  active: number;
  failed: number;
  isPaused: boolean;
  heldBy: string | null;
  refusal: string | null;
};

export async function takeSnapshot(queue: JobQueue, backend: QueueBackend): Promise<QueueSnapshot> {
  const [counts, isPaused, heldBy, refusal] = await withDeadline(
    Promise.all([
      queue.getJobCounts('waiting', 'active', 'failed'),
      queue.isPaused(),
      backend.findLockHolder(),
      backend.findRefusal(),
    ]),
    answerMs,
    'the queue did not answer',
  );
  const count = (state: string) => counts[state] ?? 0;
  return {
    backend: backend.kind,
    waiting: count('waiting') + count('paused'),
    active: count('active'),
    failed: count('failed'),
    isPaused,
    heldBy,
    refusal,
  };
}

/**
 * Counts the queue's jobs without running any. Throws LedgerError, also if the queue's tables are missing. A command
 * that only looks may be given a standby server on purpose, so that PostgreSQL stores nothing is no finding of it.
 */
export async function readQueueSnapshot(options: {
  backend: QueueAddress;
  prefix: string;
  log: Log;
  clock: Clock;
}): Promise<QueueSnapshot> {
  const onFault = createFaultLog(options.log, options.clock);
  const backend = await connectQueueBackend(options.backend, options.prefix, onFault);
  try {
    const queue = await openQueue(backend, onFault, { isOnlyRead: true });
    const snapshot = await takeSnapshot(queue, backend);
    return { ...snapshot, refusal: backend.kind === 'postgres' ? null : snapshot.refusal };
  } finally {
    await settlesWithin(backend.close(), closeMs);
  }
}

/** Returns true for the error of a database that has no tables of the queue. */
export function isQueueAbsent(error: unknown): boolean {
  return error instanceof LedgerError && error.cause instanceof SchemaMigrationRequiredError;
}
