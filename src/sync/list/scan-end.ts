import { LedgerError } from '../../kernel/errors.ts';
import type { WalkProgress } from './list-checkpoint.ts';
import { type ListState, lastPage, type PageFacts } from './list-state.ts';

/** Number of pages, beyond twice the list, after which a list counts as endless. */
const endlessMin = 10;

/**
 * Returns the last page to request as a page of the list; a refusal beyond it means the list's end. The list may
 * continue after a full page, unless the total ends exactly there.
 */
export function upTo(state: ListState, walk: WalkProgress): number {
  const last = lastPage(state);
  const isTotalReached = (walk.nextPage - 1) * (walk.pageSize ?? 0) === state.serviceTotal;
  const atLeast = walk.isLastFull && !isTotalReached ? walk.nextPage : 0;
  const isAlone = walk.isSequential || walk.rewinds > 2;
  return Math.max(atLeast, isAlone ? Math.min(walk.nextPage, last) : last);
}

/**
 * Code for a page that came instead of the requested one. Some services send their last page for a later one, others
 * always send the same page.
 */
const pageIgnoredCode = 'service-parameters';

/** Codes of the errors by which some services answer a page after the end of a list. */
const endCodes = new Set<string>(['service-refused', 'service-unsettled', pageIgnoredCode]);

/** Returns true if the failure to read the next page may mean the list's end. */
export function mayBeEnd(
  error: unknown,
  { nextPage }: WalkProgress,
  state: Pick<ListState, 'serviceTotal'>,
): boolean {
  return nextPage > 1 && (isRefusal(error) || isFailureBehind(error, state));
}

/**
 * Returns true for an answer such as HTTP 500 to a page of a list without a total: some services fail in this way
 * after the end. A service that is down does the same, so only a page of another size shows that the list ends there.
 */
export function isFailureBehind(
  error: unknown,
  { serviceTotal }: Pick<ListState, 'serviceTotal'>,
): boolean {
  return serviceTotal === null && error instanceof LedgerError && error.isAnswered;
}

/**
 * Returns true for a refusal of the page after `shown` rows, all on full pages, if the total does not say that more
 * follow. It may be the list's end or a fault.
 */
export function isEndRefused(error: unknown, shown: number, state: ListState): boolean {
  return isRefusal(error) && isTotalShown(shown, state);
}

/** Returns true for a refusal that may mean that the page lies after the list's end. */
export function isRefusal(error: unknown): boolean {
  return error instanceof LedgerError && endCodes.has(error.code);
}

/** Returns true if the service may ignore the page number, so that every page but the first is out of reach. */
export function isPageIgnored(error: unknown): boolean {
  return error instanceof LedgerError && error.code === pageIgnoredCode;
}

/** Returns true if the total, if there is one, does not say that rows follow. */
export function isTotalShown(shown: number, { serviceTotal }: ListState): boolean {
  return serviceTotal === null || shown >= serviceTotal;
}

/**
 * Returns true if a refused page does not show the list's end: earlier pages were short although others followed, so a
 * short last page does not show it either.
 */
export function isEndUnknown(walk: WalkProgress, { serviceTotal }: ListState): boolean {
  return walk.hasShortPages && !walk.isLastFull && walk.met !== serviceTotal;
}

/** The last page that a list shows; the pages before it were full. */
export type LastPage = { page: number; size: number; listed: number; keys: readonly string[] };

/** A page that ends with `lastKey`, the last row shown, and has `rows` rows if the list ends there. */
export type EndPage = { page: number; size: number; rows: number; lastKey: string | undefined };

/**
 * Returns the page of another size that shows whether a list ends with this page, although the service refuses the one
 * after it: at that size the end lies within a page. Smaller sizes are preferred. The service must have served as many
 * rows as that page can have, so for a short page there may be none: null.
 */
export function endPage({ page, size: usual, listed, keys }: LastPage): EndPage | null {
  const shown = (page - 1) * usual + listed;
  const isWithin = (size: number): boolean => size > 1 && shown % size > 0;
  let size = (page > 1 ? usual : listed) - 1;
  while (size > 1 && !isWithin(size)) size -= 1;
  while (listed >= usual && !isWithin(size)) size += 1;
  if (!isWithin(size)) return null;
  return { page: Math.ceil(shown / size), size, rows: shown % size, lastKey: keys.at(-1) };
}

/**
 * Returns true if the page shows that the list ends there. Some services report the number of rows in the answer as its
 * page size.
 */
export function isEndShown({ listed, size, keys }: PageFacts, end: EndPage): boolean {
  const isSized = size === end.size || size === listed;
  const last = keys.at(-1);
  return isSized && listed === end.rows && last !== undefined && last === end.lastKey;
}

/**
 * Returns true if the list has no end because it repeats its last page, each time in another order. The page lies far
 * after the end, and more than half of the rows were read before. `different`: upper bound of the list's different
 * rows by the ledger. Counts rows, not pages, because an answer may claim a larger size than it has.
 */
export function isEndless(
  { met }: WalkProgress,
  { page, size }: PageFacts,
  { last, different }: { last: number; different: number },
): boolean {
  return page > 2 * last + endlessMin && met > 2 * different + endlessMin * size;
}
