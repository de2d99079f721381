import { ignoreRejection } from '../../kernel/ignore-rejection.ts';

/** Upper bound of the share of time that is spent on reading. */
const readingShareMax = 1 / 10;

/**
 * Wraps `read` so that concurrent callers share one call. Its outcome, an error included, is reused for `keepMs`. A
 * slow outcome is kept longer, so that any number of readers costs at most a tenth of the database's time. Up to
 * `staleMs` after it was read, an outcome also serves those who call while the next one is being read; an error never
 * does.
 */
export function cacheFor<T>(read: () => Promise<T>, keepMs: number, staleMs = 0): () => Promise<T> {
  let latest: Promise<T> | undefined;
  let former: { outcome: Promise<T>; readAt: number } | undefined;
  let staleAt = 0;

  async function readNow(): Promise<T> {
    const startedAt = performance.now();
    try {
      const outcome = await read();
      former = { outcome: Promise.resolve(outcome), readAt: performance.now() };
      return outcome;
    } catch (error) {
      former = undefined;
      throw error;
    } finally {
      const endedAt = performance.now();
      staleAt = endedAt + Math.max(keepMs, (endedAt - startedAt) * (1 / readingShareMax - 1));
    }
  }

  return () => {
    if (latest === undefined || performance.now() >= staleAt) {
      staleAt = Number.POSITIVE_INFINITY;
      latest = ignoreRejection(readNow());
    }
    const isReading = staleAt === Number.POSITIVE_INFINITY;
    if (isReading && former && performance.now() < former.readAt + staleMs) return former.outcome;
    return latest;
  };
}

/** Returns the promise's outcome; rejects when the promise has not settled within `ms`. */
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
