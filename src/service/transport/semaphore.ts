/** Limits the number of tasks that run at once; the others wait in order of arrival. */
export type Semaphore = {
  /** Runs the work once a slot is free. Rejects with the signal's reason if it aborts before that. */
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

  /** Passes a freed slot directly to the task that has waited longest. */
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
