/** Bounds of what is kept: for how long, how many answers, and the sum of their sizes. */
export type KeepBounds = { keepMs: number; entriesMax: number; sizeMax: number };

type Kept<T> = { answer: Promise<T>; size: number; staleAt: number };

/**
 * Returns a function that reads the answer to a key. Concurrent callers share one read, and the answer is reused for
 * `keepMs`. Unlike `cacheFor`, it serves any number of keys and forgets a failure at once. Beyond the bounds the oldest
 * answers are forgotten first.
 */
export function keepAnswers<T>(
  { keepMs, entriesMax, sizeMax }: KeepBounds,
  sizeOf: (answer: T) => number,
): (key: string, read: () => Promise<T>) => Promise<T> {
  const kept = new Map<string, Kept<T>>();
  let sizeOfAll = 0;

  function forget(key: string): void {
    sizeOfAll -= kept.get(key)?.size ?? 0;
    kept.delete(key);
  }

  function keepWithinBounds(): void {
    for (const key of kept.keys()) {
      if (kept.size <= entriesMax && sizeOfAll <= sizeMax) return;
      forget(key);
    }
  }

  /** Ignores an entry that was forgotten while it was read. */
  async function settle(key: string, entry: Kept<T>): Promise<void> {
    try {
      const size = sizeOf(await entry.answer);
      if (kept.get(key) !== entry) return;
      entry.size = size;
      entry.staleAt = performance.now() + keepMs;
      sizeOfAll += size;
      keepWithinBounds();
    } catch {
      if (kept.get(key) === entry) forget(key);
    }
  }

  return (key, read) => {
    const found = kept.get(key);
    if (found && performance.now() < found.staleAt) return found.answer;
    forget(key);
    const entry = { answer: read(), size: 0, staleAt: Number.POSITIVE_INFINITY };
    kept.set(key, entry);
    keepWithinBounds();
    void settle(key, entry);
    return entry.answer;
  };
}
