import { setImmediate } from 'node:timers/promises';

/** Lets the event loop do what else is waiting. */
export const breathe = (): Promise<void> => setImmediate();

/**
 * Maps the items in slices of a total weight of `sliceMax`, an item at the least. Between two slices the event loop is
 * free, so that a large answer does not keep the health check waiting.
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
