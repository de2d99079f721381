import { type Lane, lanes } from '../../kernel/ticket.ts';

/**
 * Limits the number of tasks that run at once. The highest waiting lane goes first; each lane is served in order of
 * arrival.
 */
export type Semaphore = {
  /** Runs the work once a slot is free. Rejects with the signal's reason if it aborts before that. */
  run<T>(lane: Lane, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
};

/** Number of slots from which one is kept for the first lane, so that it need not wait for a slow answer. */
const slotsToReserve = 4;
/** Number of times that higher lanes may pass a waiting lane; then it goes first. */
const passesMax = 3;

type Queue = { waiting: Set<() => void>; passes: number; slotsToLeave: number };

export function createSemaphore(count: number): Semaphore {
  let free = count;
  const reserved = count >= slotsToReserve ? 1 : 0;
  const queues = new Map(
    lanes.map((lane): [Lane, Queue] => {
      const slotsToLeave = lane === 'head' ? 0 : reserved;
      return [lane, { waiting: new Set(), passes: 0, slotsToLeave }];
    }),
  );

  function acquire(lane: Lane, signal: AbortSignal | undefined): Promise<void> {
    const queue = queues.get(lane);
    if (!queue || free > queue.slotsToLeave) {
      free -= 1;
      return Promise.resolve();
    }
    const { waiting } = queue;
    return new Promise((resolve, reject) => {
      const start = () => {
        waiting.delete(start);
        signal?.removeEventListener('abort', leave);
        free -= 1;
        resolve();
      };
      const leave = () => {
        waiting.delete(start);
        reject(signal?.reason);
      };
      waiting.add(start);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  function release(): void {
    free += 1;
    const ready = [...queues.values()].filter(
      ({ waiting, slotsToLeave }) => waiting.size > 0 && free > slotsToLeave,
    );
    const next = ready.find(({ passes }) => passes >= passesMax) ?? ready[0];
    if (!next) return;
    for (const queue of ready) queue.passes += 1;
    next.passes = 0;
    const [start] = next.waiting;
    start?.();
  }

  return {
    async run(lane, work, signal) {
      signal?.throwIfAborted();
      await acquire(lane, signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
