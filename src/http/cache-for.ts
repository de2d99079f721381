/** Of the time, at the most this share goes into reading. */
const readingShareMax = 1 / 10;

/**
 * Wraps `read` so that callers share one reading under way and, for `keepMs` after it, its outcome, failures
 * included. A slow reading is kept longer, so that readers without number cost a tenth of the database's time.
 */
export function cacheFor<T>(read: () => Promise<T>, keepMs: number): () => Promise<T> {
  let latest: Promise<T> | undefined;
  let staleAt = 0;

  async function readNow(): Promise<T> {
    const startedAt = performance.now();
    try {
      return await read();
    } finally {
      const endedAt = performance.now();
      staleAt = endedAt + Math.max(keepMs, (endedAt - startedAt) * (1 / readingShareMax - 1));
    }
  }

  return () => {
    if (latest === undefined || performance.now() >= staleAt) {
      staleAt = Number.POSITIVE_INFINITY;
      latest = readNow();
    }
    return latest;
  };
}

/** The promise's outcome, or a rejection when it has not settled in time. */
export async function answerWithin<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
