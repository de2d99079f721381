/**
 * What the program knows of a list between passes, and what one page tells about it. Pure: deciders take a state and
 * return the next one; `ListSession.apply` is the one place that replaces it.
 *
 * Places count from 1 at the list's first row. `serviceTotal` is the service's count, `ledgerCount` the ledger's.
 */
import type { ListOrder } from '../../kernel/list-order.ts';
import type { Checkpoint } from './list-checkpoint.ts';
import { dayMs } from './read-days.ts';

export type ListState = {
  readonly listOrder: ListOrder | null;
  /** The user has set the order; it is not learned. */
  readonly isOrderFixed: boolean;
  readonly pageSize: number | null;
  readonly serviceTotal: number | null;
  readonly ledgerCount: number;
  /** Rows that this list shows and the ledger counts in another one. */
  readonly guests: number;
  /** Passes over the list so far. */
  readonly passes: number;
  /** A clean full scan stands behind the counts. */
  readonly isBacked: boolean;
  /** serviceTotal − ledgerCount as the last full scan left it. */
  readonly acceptedDifference: number;
  readonly checkpoint: Checkpoint;
};

/** One page as the decisions see it. */
export type PageFacts = {
  page: number;
  /** Items per page by the answer's own word. */
  size: number;
  total: number | null;
  /** Rows in the answer. */
  listed: number;
  /** Rows without a usable key. */
  unstorable: number;
  /** Keys of the rows, in the list's order. */
  keys: string[];
  /** Times (Unix ms) of the rows in the list's order, unreadable ones left out, and the keys of these rows. */
  times: number[];
  datedKeys: string[];
  firstTime: number | null;
  lastTime: number | null;
  /** Equal for two pages with the same rows. */
  fingerprint: string;
  /** Sent after the page before it had been answered; false: fetched ahead. */
  isFresh: boolean;
  observation: number;
  /** Rises in the order in which answers came in. */
  answered: number;
};

/** Rows that the ledger lacks and that no full scan has explained; negative: has too many; NaN: no total. */
export function missingRows(state: ListState): number {
  const held = state.ledgerCount + state.guests + state.acceptedDifference;
  return (state.serviceTotal ?? Number.NaN) - held;
}

/**
 * The ledger provably lists just what the service lists: a clean full scan stands behind it, the counts are equal, and
 * no difference waits to be explained. The database derives `streams.is_complete` from the same facts.
 */
export function isProven(state: ListState): boolean {
  const { isBacked, acceptedDifference, guests, serviceTotal, ledgerCount } = state;
  const isEqual = serviceTotal === ledgerCount && acceptedDifference === 0 && guests === 0;
  return isBacked && isEqual && doubtOf(state) === null;
}

/** What was seen that equal counts do not explain, in words; null: nothing. */
export function doubtOf({ checkpoint, acceptedDifference }: ListState): string | null {
  const { differingDays, fallen, isScanUnclean, unmatched, walk } = checkpoint;
  const [day] = differingDays;
  if (day !== undefined) {
    const days = differingDays.length === 1 ? '1 day' : `${differingDays.length} days`;
    const date = new Date(day * dayMs).toISOString().slice(0, 10);
    return `the rows of ${days} differ from what the list showed, first ${date}`;
  }
  if (walk?.hadDifferingDays)
    return 'the rows of some days differed, and the list is being read from end to end again';
  if (fallen > 0)
    return `the service's total fell by ${fallen}, and which rows went is not known yet`;
  if (isScanUnclean)
    return 'the list changed while it was read from end to end, so that reading proves nothing';
  if (checkpoint.isTotalOlder) return 'rows were listed with answers that gave no total';
  // Differences of either kind may cancel each other out.
  return unmatched > 0 && acceptedDifference === 0
    ? `${unmatched} rows were found only in the list or only in the ledger`
    : null;
}

/** The page on which the list ends by the service's total; 1 while size or total are unknown. */
export function lastPage(state: ListState): number {
  return pagesFor(state.serviceTotal ?? 0, state);
}

/** Pages that so many rows take; at least 1. */
export function pagesFor(rows: number, state: ListState): number {
  return Math.max(1, Math.ceil(rows / Math.max(1, state.pageSize ?? rows)));
}

/** The next state with a changed checkpoint. */
export function withCheckpoint(state: ListState, change: Partial<Checkpoint>): ListState {
  return { ...state, checkpoint: { ...state.checkpoint, ...change } };
}

/** So many differing days stand for any number: only a scan that notes its keys explains them. */
export const differingDaysMax = 366;

/** The next state, these days among the differing ones. */
export function withDifferingDays(state: ListState, found: number[]): ListState {
  if (found.length === 0) return state;
  const days = new Set([...state.checkpoint.differingDays, ...found]);
  const kept = [...days].sort((a, b) => a - b).slice(0, differingDaysMax);
  return withCheckpoint(state, { differingDays: kept });
}

/** Neighbours whose times rise and fall within one page. */
export function timeSteps(times: number[]): { rising: number; falling: number } {
  let rising = 0;
  let falling = 0;
  for (let index = 1; index < times.length; index += 1) {
    const step = (times[index] ?? 0) - (times[index - 1] ?? 0);
    if (step > 0) rising += 1;
    if (step < 0) falling += 1;
  }
  return { rising, falling };
}

export function orderOf(steps: { rising: number; falling: number }): ListOrder | null {
  if (steps.rising > 0 && steps.falling > 0) return 'unordered';
  if (steps.rising > 0) return 'oldest-first';
  return steps.falling > 0 ? 'newest-first' : null;
}

/** Few neighbours may be an exception; from here on a page with only the other direction means a turned list. */
const turnedPageSteps = 5;

/** The order after seeing one more page: learned when unknown, given up or turned when the page contradicts it. */
function learnedOrder(current: ListOrder | null, times: number[]): ListOrder | null {
  const steps = timeSteps(times);
  const seen = orderOf(steps);
  if (seen === null || current === seen || current === 'unordered') return current;
  if (current === null) return seen;
  return steps.rising + steps.falling >= turnedPageSteps ? seen : 'unordered';
}

export function isOrdered(state: ListState): boolean {
  return state.listOrder === 'newest-first' || state.listOrder === 'oldest-first';
}

/**
 * A row of the page whose rank the ledger can tell by its time alone: no row on its new side has the same time.
 * `rowsNotNewer` rows of the service's list are not younger, the row itself included. Null where times or total are
 * missing; where a whole page is of one time, its edge stands for it.
 */
export function rankProbe(
  facts: PageFacts,
  state: ListState,
): { time: number; rowsNotNewer: number } | null {
  const { times, total } = facts;
  if (!isOrdered(state) || total === null || times.length !== facts.listed) return null;
  const before = (facts.page - 1) * facts.size;
  if (state.listOrder === 'newest-first') {
    const index =
      facts.page === 1
        ? 0
        : Math.max(
            0,
            times.findIndex((time) => time !== times[0]),
          );
    const time = times[index];
    return time === undefined ? null : { time, rowsNotNewer: total - before - index };
  }
  const isEnd = before + facts.listed >= total;
  const index = isEnd ? times.length - 1 : times.findLastIndex((time) => time !== times.at(-1));
  const time = times.at(index);
  return time === undefined
    ? null
    : { time, rowsNotNewer: before + (index < 0 ? times.length : index + 1) };
}

/** The page tells how long the list is now. A total of 0 is what some services say of a page behind the end. */
export function isTotalTold({ page, total, listed }: PageFacts, isLatest: boolean): boolean {
  return isLatest && total !== null && (listed > 0 || total > 0 || page === 1);
}

/** A page without a total holds rows beyond the total that is known. */
function isBeyondTotal({ page, size, total, listed }: PageFacts, known: number | null): boolean {
  return total === null && known !== null && listed > 0 && (page - 1) * size + listed > known;
}

/** The state after a page: what it tells about the list itself. `isLatest`: no later answer was taken before. */
export function afterPage(state: ListState, facts: PageFacts, isLatest: boolean): ListState {
  const { serviceTotal, checkpoint } = state;
  const isTelling = isTotalTold(facts, isLatest);
  const total = isTelling ? facts.total : serviceTotal;
  const fall = Math.max(0, (serviceTotal ?? 0) - (total ?? 0));
  const fallen = checkpoint.fallen + fall;
  const unseen = withoutKeys(checkpoint.unseen, facts.keys);
  // Until now no total could fall: equal counts do not say which rows have gone since the scan.
  const isScanUnclean =
    checkpoint.isScanUnclean || (state.isBacked && serviceTotal === null && total !== null);
  const isTotalOlder =
    (checkpoint.isTotalOlder && !isTelling) || isBeyondTotal(facts, serviceTotal);
  const isNews =
    fall > 0 ||
    unseen !== checkpoint.unseen ||
    isTotalOlder !== checkpoint.isTotalOlder ||
    isScanUnclean !== checkpoint.isScanUnclean;
  return {
    ...state,
    checkpoint: isNews
      ? { ...checkpoint, fallen, unseen, isTotalOlder, isScanUnclean }
      : checkpoint,
    serviceTotal: total,
    pageSize: facts.listed > 0 ? facts.size : state.pageSize,
    listOrder: state.isOrderFixed ? state.listOrder : learnedOrder(state.listOrder, facts.times),
  };
}

/** The same array where none of the keys is in it. */
function withoutKeys(from: string[], keys: string[]): string[] {
  if (from.length === 0) return from;
  const out = new Set(keys);
  const left = from.filter((key) => !out.has(key));
  return left.length === from.length ? from : left;
}
