/** Totals that count the rows of their own page, not those of the list: they are taken as not told. Pure. */
import type { WalkProgress } from './list-checkpoint.ts';
import { type ListState, type PageFacts, withCheckpoint } from './list-state.ts';

/**
 * Returns the page without a total that counts its own rows, in a list in which each page of a scan had such a one. The
 * total of an only page counts the list as well.
 */
export function withoutPageTotal<P extends PageFacts>(state: ListState, facts: P): P {
  const { page, size, listed } = facts;
  const held = state.ledgerCount + state.guests;
  const isOnlyPage = page === 1 && (listed < size || held <= listed);
  const isOfPage = state.checkpoint.hasPageTotals && mayCountPage(facts) && !isOnlyPage;
  return isOfPage ? { ...facts, total: null, isOwnTotal: true } : facts;
}

/**
 * Returns the state after a page as the service has told it. A page with another total than the number of its rows
 * shows that the totals count the list.
 */
export function afterToldTotal(state: ListState, facts: PageFacts): ListState {
  const isOfList = state.checkpoint.hasPageTotals && facts.total !== null && !mayCountPage(facts);
  return isOfList ? withCheckpoint(state, { hasPageTotals: undefined }) : state;
}

const mayCountPage = ({ total, listed, isOwnTotal }: PageFacts): boolean =>
  isOwnTotal === true || total === listed;

/**
 * Counts the pages whose totals count their own rows; null once a total did not. A page counts if all its rows are
 * readable and new: behind the list's end, some services show the last page again.
 */
export function ownTotals(
  { ownTotals: before = 0 }: WalkProgress,
  facts: PageFacts,
  isNew: boolean,
): number | null {
  if (before === null || facts.listed === 0) return before;
  if (!mayCountPage(facts)) return null;
  return facts.keys.length > 0 && facts.unstorable === 0 && isNew ? before + 1 : before;
}

/**
 * Returns the state after a scan. If it has met several pages, and each total counted its own, none of the list is
 * known. The total of an only page counts the list.
 */
export function afterPageTotals(state: ListState, { ownTotals: pages }: WalkProgress): ListState {
  const { hasPageTotals } = state.checkpoint;
  if (pages === 1 && hasPageTotals) return withCheckpoint(state, { hasPageTotals: undefined });
  if (!pages || pages < 2 || hasPageTotals) return state;
  const unknown = { ...state, serviceTotal: null };
  return withCheckpoint(unknown, {
    ...{ hasPageTotals: true, mismatch: null },
    ...{ fallen: 0, fallenBefore: null },
  });
}
