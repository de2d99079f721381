/** Lets at most a number of pieces of work run at once; the others wait in the order they came. */
export type Semaphore = {
  /** Rejects with the signal's reason when it aborts before the work has a slot. */
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
};

export function createSemaphore(count: number): Semaphore {
  let free = count;
  const waiting = new Set<() => void>();

  function acquire(signal: AbortSignal | undefined): Promise<void> {
    if (free > 0) {
      free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const start = () => {
        waiting.delete(start);
        signal?.removeEventListener('abort', leave);
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

  /** A freed slot passes straight to the one who waits longest. */
  function release(): void {
    const [next] = waiting;
    if (next) next();
    else free += 1;
  }

  return {
    async run(work, signal) {
      signal?.throwIfAborted();
      await acquire(signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
