import { setImmediate } from 'node:timers/promises';

/** Yields to the event loop once. */
export const breathe = (): Promise<void> => setImmediate();

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
