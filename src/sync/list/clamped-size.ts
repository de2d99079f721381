import { type ListState, type PageFacts, withCheckpoint } from './list-state.ts';

/**
 * Returns the state after a page that may show a clamped size: some services repeat the requested size and serve fewer
 * rows. A short first page of a list that continues shows the clamp. The state keeps the clamp for pages that claim the
 * same size, until one of them has more rows, or the first page is short and its total counts no more rows. A scan that
 * began earlier is no longer clean, because the page may also have lacked rows.
 */
export function afterSizes(state: ListState, facts: PageFacts): ListState {
  const { clampedSize: known, walk } = state.checkpoint;
  const { page, size, listed, total } = facts;
  if (listed === 0 || showsNoSize(state, facts)) return state;
  const isClamped = listed < size && (page > 1 || listed < (total ?? 0));
  const isNew = isClamped && known?.claimed !== size;
  return withCheckpoint(state, {
    clampedSize: isClamped ? { claimed: size, actual: listed } : null,
    walk: walk && isNew && walk.nextPage > 1 ? { ...walk, isClean: false } : walk,
  });
}

/**
 * Returns true for a page that fits into the known size. The first page counts only if its total does not show the
 * size.
 */
function showsNoSize({ checkpoint }: ListState, { page, size, listed, total }: PageFacts): boolean {
  const { clampedSize: known } = checkpoint;
  if (known?.claimed !== size) return page > 1;
  return listed <= known.actual && (page > 1 || (total ?? 0) < listed);
}

/** Returns the page with the size that the service really serves, so that its place in the list is right. */
export function onActualGrid<P extends PageFacts>(state: ListState, facts: P): P {
  const { clampedSize } = state.checkpoint;
  if (clampedSize?.claimed !== facts.size) return facts;
  return { ...facts, size: Math.max(clampedSize.actual, facts.listed) };
}
