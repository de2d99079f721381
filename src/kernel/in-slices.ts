const waiting: (() => void)[] = [];

/**
 * Yields to the event loop, at least once. Resumes one caller per turn of the loop, so that the slices of several large
 * answers do not add up.
 */
export function breathe(): Promise<void> {
  return new Promise((resume) => {
    waiting.push(resume);
    if (waiting.length === 1) setImmediate(resumeNext);
  });
}

function resumeNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(resumeNext);
}

/**
 * Maps the items in slices of at most `sliceMax` total weight, and of at least one item. Yields to the event loop
 * between slices, so that a large answer does not delay the health check.
 */
export async function mapInSlices<T, R>(
  items: readonly T[],
  sliceMax: number,
  weightOf: (item: T) => number,
  map: (item: T) => R,
): Promise<R[]> {
  const results: R[] = [];
  let weight = 0;
  for (const item of items) {
    const own = weightOf(item);
    if (weight > 0 && weight + own > sliceMax) {
      await breathe();
      weight = 0;
    }
    weight += own;
    results.push(map(item));
  }
  return results;
}
