/**
 * What the program knows of a list between passes, and what one page tells about it. Pure: deciders take a state and
 * return the next one; `ListSession.apply` is the one place that replaces it.
 *
 * Places count from 1 at the list's first row. `serviceTotal` is the service's count, `ledgerCount` the ledger's.
 */
import type { ListOrder } from '../kernel/list-order.ts';
import type { Checkpoint } from './list-checkpoint.ts';

export type ListState = {
  readonly listOrder: ListOrder | null;
  /** The user has set the order; it is not learned. */
  readonly isOrderFixed: boolean;
  readonly pageSize: number | null;
  readonly serviceTotal: number | null;
  readonly ledgerCount: number;
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
  /** Times of the rows in the list's order, unreadable ones left out. */
  times: number[];
  firstTime: number | null;
  lastTime: number | null;
  /** Equal for two pages with the same rows. */
  fingerprint: string;
  /** Sent after the page before it had been answered; false: fetched ahead. */
  isFresh: boolean;
  observation: number;
};

/** Rows that the ledger lacks and that no full scan has explained; negative: has too many; NaN: no total. */
export function missingRows(state: ListState): number {
  return (state.serviceTotal ?? Number.NaN) - state.ledgerCount - state.acceptedDifference;
}

/** The ledger provably holds the whole list: a full scan has been made and the counts are equal. */
export function isProven(state: ListState): boolean {
  return state.isBacked && state.serviceTotal === state.ledgerCount;
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

/** The state after a page: what it tells about the list itself. `isLatest`: no later answer was taken before. */
export function afterPage(state: ListState, facts: PageFacts, isLatest: boolean): ListState {
  return {
    ...state,
    serviceTotal: isLatest && facts.total !== null ? facts.total : state.serviceTotal,
    pageSize: facts.listed > 0 ? facts.size : state.pageSize,
    listOrder: state.isOrderFixed ? state.listOrder : learnedOrder(state.listOrder, facts.times),
  };
}

/**
 * The state after a first page that may show a clamped size: some services repeat the size asked for and serve less.
 * A first page that is short although the list goes on shows it; it is remembered for pages that claim the same size.
 */
export function afterFirstPage(state: ListState, facts: PageFacts): ListState {
  if (facts.page !== 1 || facts.listed === 0) return state;
  const isClamped = facts.listed < facts.size && facts.listed < (facts.total ?? 0);
  const clampedSize = isClamped ? { claimed: facts.size, actual: facts.listed } : null;
  return withCheckpoint(state, { clampedSize });
}

/** The page on the grid that it really lies on. */
export function onActualGrid<P extends PageFacts>(state: ListState, facts: P): P {
  const { clampedSize } = state.checkpoint;
  if (clampedSize?.claimed !== facts.size) return facts;
  return { ...facts, size: Math.max(clampedSize.actual, facts.listed) };
}
