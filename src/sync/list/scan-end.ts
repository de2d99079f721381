import { LedgerError } from '../../kernel/errors.ts';
import type { WalkProgress } from './list-checkpoint.ts';
import { type ListState, lastPage } from './list-state.ts';

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

/** Returns true if the failure to read the next page may mean the end of a list without a total. */
export function mayBeEnd(error: unknown, walk: WalkProgress, { serviceTotal }: ListState): boolean {
  const isRefusal = error instanceof LedgerError && endCodes.has(error.code);
  return isRefusal && walk.nextPage > 1 && walk.isLastFull && serviceTotal === null;
}
