import { ignoreRejection } from '../../kernel/ignore-rejection.ts';

/** Upper bound of the share of time that is spent reading. */
const readingShareMax = 1 / 10;
/** Upper bound of the time for which a failure is kept, because it may end at any moment. */
const failureKeepMs = 5_000;

/**
 * Wraps `read` so that concurrent callers share one call. Its outcome, an error included, is reused for `keepMs`. After
 * two slow readings in a row, the outcome is kept longer, so that any number of readers costs at most a tenth of the
 * database's time. A single slow reading, as after an outage, has no such effect. Up to `staleMs` after it was read, an
 * outcome also serves callers while the next one is being read; an error never does.
 */
export function cacheFor<T>(read: () => Promise<T>, keepMs: number, staleMs = 0): () => Promise<T> {
  let latest: Promise<T> | undefined;
  let former: { outcome: Promise<T>; readAt: number } | undefined;
  let staleAt = 0;
  let formerTookMs = 0;

  async function readNow(): Promise<T> {
    const startedAt = performance.now();
    let keepMax = Number.POSITIVE_INFINITY;
    try {
      const outcome = await read();
      former = { outcome: Promise.resolve(outcome), readAt: performance.now() };
      return outcome;
    } catch (error) {
      former = undefined;
      keepMax = failureKeepMs;
      throw error;
    } finally {
      const endedAt = performance.now();
      const tookMs = endedAt - startedAt;
      const restMs = Math.min(tookMs, formerTookMs) * (1 / readingShareMax - 1);
      staleAt = endedAt + Math.min(Math.max(keepMs, restMs), keepMax);
      formerTookMs = tookMs;
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
