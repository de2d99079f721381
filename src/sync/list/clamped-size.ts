import { type ListState, type PageFacts, withCheckpoint } from './list-state.ts';

/**
 * Returns the state after a page that may show a clamped size: some services repeat the requested size and serve fewer
 * rows.
 *
 * A short first page of a list that continues shows the clamp. The state keeps it for pages that claim the same size,
 * until one of them holds more rows. A scan that began earlier is no longer clean, because the page may just have
 * lacked rows.
 */
export function afterSizes(state: ListState, { page, size, listed, total }: PageFacts): ListState {
  const { clampedSize: known, walk } = state.checkpoint;
  const isRefuted = known?.claimed === size && listed > known.actual;
  if (listed === 0 || (page > 1 && !isRefuted)) return state;
  const isClamped = listed < size && (page > 1 || listed < (total ?? 0));
  const isNew = isClamped && known?.claimed !== size;
  return withCheckpoint(state, {
    clampedSize: isClamped ? { claimed: size, actual: listed } : null,
    walk: walk && isNew && walk.nextPage > 1 ? { ...walk, isClean: false } : walk,
  });
}

/** Returns the page with the size that the service really serves, so that its place in the list is right. */
export function onActualGrid<P extends PageFacts>(state: ListState, facts: P): P {
  const { clampedSize } = state.checkpoint;
  if (clampedSize?.claimed !== facts.size) return facts;
  return { ...facts, size: Math.max(clampedSize.actual, facts.listed) };
}
