import { LedgerError } from '../../kernel/errors.ts';
import type { WalkProgress } from './list-checkpoint.ts';
import { type ListState, lastPage, type PageFacts } from './list-state.ts';

/** Number of pages, beyond twice the list, after which a list counts as endless. */
const endlessMin = 10;

/**
 * Returns the last page to request as a page of the list; a refusal beyond it means the list's end. The list may
 * continue behind a full page, unless the total ends exactly there.
 */
export function upTo(state: ListState, walk: WalkProgress): number {
  const last = lastPage(state);
  const isTotalReached = (walk.nextPage - 1) * (walk.pageSize ?? 0) === state.serviceTotal;
  const atLeast = walk.isLastFull && !isTotalReached ? walk.nextPage : 0;
  const isAlone = walk.isSequential || walk.rewinds > 2;
  return Math.max(atLeast, isAlone ? Math.min(walk.nextPage, last) : last);
}

/** Codes of the errors by which some services answer a page behind the end of a list. */
const endCodes = new Set<string>(['service-refused', 'service-unsettled']);

/** Returns true if the failure to read the next page may mean the end of a list whose total does not show it. */
export function mayBeEnd(error: unknown, walk: WalkProgress, state: ListState): boolean {
  const shown = (walk.nextPage - 1) * (walk.pageSize ?? 0);
  return walk.nextPage > 1 && walk.isLastFull && isEndRefused(error, shown, state);
}

/**
 * Returns true for a refusal of the page behind the rows `shown`, all on full pages, of a list that has no total or a
 * smaller one. It may be the list's end, and it may be a fault.
 */
export function isEndRefused(error: unknown, shown: number, { serviceTotal }: ListState): boolean {
  const isRefusal = error instanceof LedgerError && endCodes.has(error.code);
  return isRefusal && (serviceTotal === null || shown > serviceTotal);
}

/**
 * Returns true if the list has no end: it repeats its last page, each time in another order. The page lies far behind
 * the end, and more than half of the rows were read before. `different`: upper bound of the list's different rows by
 * the ledger. It counts rows, not pages, because an answer may claim a larger size than it serves.
 */
export function isEndless(
  { met }: WalkProgress,
  { page, size }: PageFacts,
  { last, different }: { last: number; different: number },
): boolean {
  return page > 2 * last + endlessMin && met > 2 * different + endlessMin * size;
}
