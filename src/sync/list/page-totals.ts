/** Totals that count the rows of their own page, not those of the list: they are taken as not told. Pure. */
import type { WalkProgress } from './list-checkpoint.ts';
import { type ListState, type PageFacts, withCheckpoint } from './list-state.ts';

/** Returns true if the total may count the rows of this page alone. An empty page shows nothing. */
export function mayCountPage({ total, listed }: PageFacts): boolean {
  return listed === 0 || total === listed;
}

/** Returns the page without a total that counts its own rows, in a list in which each page of a scan had such a one. */
export function withoutPageTotal<P extends PageFacts>({ checkpoint }: ListState, facts: P): P {
  return checkpoint.hasPageTotals && mayCountPage(facts) ? { ...facts, total: null } : facts;
}

/**
 * Returns the state after a page as the service has told it. A page with another total than the number of its rows
 * shows that the totals count the list.
 */
export function afterToldTotal(state: ListState, facts: PageFacts): ListState {
  const isOfList = state.checkpoint.hasPageTotals && facts.total !== null && !mayCountPage(facts);
  return isOfList ? withCheckpoint(state, { hasPageTotals: undefined }) : state;
}

/**
 * Returns the last page up to which each total counted the rows of its own page; null once one did not, undefined
 * before the first rows.
 */
export function ownTotalsUpTo(walk: WalkProgress, facts: PageFacts): number | null | undefined {
  if (walk.ownTotalsUpTo === null || facts.listed === 0) return walk.ownTotalsUpTo;
  return mayCountPage(facts) ? Math.max(walk.ownTotalsUpTo ?? 0, facts.page) : null;
}

/** Returns the state after a scan. If it has met several pages, and each total counted its own, none is known. */
export function afterPageTotals(state: ListState, walk: WalkProgress): ListState {
  if ((walk.ownTotalsUpTo ?? 0) < 2 || state.checkpoint.hasPageTotals) return state;
  const unknown = { ...state, serviceTotal: null };
  return withCheckpoint(unknown, {
    hasPageTotals: true,
    mismatch: null,
    fallen: 0,
    fallenBefore: null,
  });
}
