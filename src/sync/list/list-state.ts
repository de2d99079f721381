import type { ListOrder } from '../../kernel/vocabulary.ts';
/**
 * State of a list between passes, and the information in one page about it. Pure: deciders take a state and return the
 * next one; `ListSession.apply` is the one place that replaces it.
 *
 * Places count from 1 at the list's first row. `serviceTotal` is the service's count, `ledgerCount` the ledger's.
 */
import type { Checkpoint } from './list-checkpoint.ts';
import { type DatedRows, dayMs } from './read-days.ts';

export type ListState = {
  readonly listOrder: ListOrder | null;
  /** The user has set the order; it is not learned. */
  readonly isOrderFixed: boolean;
  readonly pageSize: number | null;
  readonly serviceTotal: number | null;
  /** Observation of the answer that the total comes from; 0: not known. */
  readonly totalObservation: number;
  readonly ledgerCount: number;
  /** Rows that this list shows and the ledger counts in the other list. */
  readonly guests: number;
  /** Rows that both lists show, guests included. */
  readonly conflicts: number;
  /** Number of times that the list was leased so far, audit slices included. */
  readonly passes: number;
  /** A clean full scan backs the counts. */
  readonly isBacked: boolean;
  /** serviceTotal − (ledgerCount + guests), as accepted by the last clean full scan. */
  readonly acceptedDifference: number;
  readonly checkpoint: Checkpoint;
};

/** Facts about one page, for the decisions. */
export type PageFacts = DatedRows & {
  /** Items per page as the answer claims; after `onActualGrid`, those that the service really serves. */
  size: number;
  total: number | null;
  /** Rows without a usable key. */
  unstorable: number;
  /** Keys of the rows, in the list's order. */
  keys: string[];
  firstTime: number | null;
  lastTime: number | null;
  /** Hash of the rows: equal for two pages with the same rows. */
  fingerprint: string;
  /** The service refused the page, which by the total lies after the list's end. It has no size and no total. */
  isRefused?: boolean | undefined;
  /** The request was sent after the answer to the page before; false: fetched ahead. */
  isFresh: boolean;
  observation: number;
  /** Number of the answer, in the order in which answers arrived. */
  answered: number;
};

/**
 * Counts the rows that the ledger lacks and no full scan has explained. Negative: the ledger has too many. NaN: no
 * total is known.
 */
export function missingRows(state: ListState): number {
  const held = state.ledgerCount + state.guests + state.acceptedDifference;
  return (state.serviceTotal ?? Number.NaN) - held;
}

/** Returns true until a scan of the list has ended. */
export function isFirstScan({ isBacked, checkpoint }: ListState): boolean {
  return !isBacked && checkpoint.walks === 0;
}

/**
 * Returns true if the ledger provably lists exactly the rows that the service lists. A clean full scan backs the
 * counts, the counts are equal, and there is no doubt. The database derives `streams.is_complete` from the same facts.
 */
export function isProven(state: ListState): boolean {
  const { isBacked, acceptedDifference, conflicts, serviceTotal, ledgerCount } = state;
  const isEqual = serviceTotal === ledgerCount && acceptedDifference === 0 && conflicts === 0;
  return isBacked && isEqual && doubtOf(state) === null;
}

/** Describes the observation that equal counts do not explain; null: there is none. */
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
    return "the service's total fell, and no reading has shown yet which rows it no longer counts";
  if (isScanUnclean)
    return 'the list changed, or its end was refused, while it was read, so the full scan proves nothing';
  if (checkpoint.isTotalOlder)
    return "the list shows rows that the service's total does not count yet";
  // Differences in both directions may cancel each other out.
  return unmatched > 0 && acceptedDifference === 0
    ? `${unmatched} rows were found only in the list or only in the ledger`
    : null;
}

/** Returns the page on which the list ends by the service's total; 1 while size or total are unknown. */
export function lastPage(state: ListState): number {
  return pagesFor(state.serviceTotal ?? 0, state);
}

/** Returns the number of pages for these rows; at least 1. */
export function pagesFor(rows: number, state: ListState): number {
  return Math.max(1, Math.ceil(rows / Math.max(1, state.pageSize ?? rows)));
}

/** Returns the next state with a changed checkpoint. */
export function withCheckpoint(state: ListState, change: Partial<Checkpoint>): ListState {
  return { ...state, checkpoint: { ...state.checkpoint, ...change } };
}

/**
 * Upper bound of the differing days that are kept. A full array stands for any number of days; only a scan that notes
 * its keys explains them.
 */
export const differingDaysMax = 366;

/** Returns the next state with these days among the differing ones. */
export function withDifferingDays(state: ListState, found: number[]): ListState {
  if (found.length === 0) return state;
  const days = new Set([...state.checkpoint.differingDays, ...found]);
  const kept = [...days].sort((a, b) => a - b).slice(0, differingDaysMax);
  return withCheckpoint(state, { differingDays: kept });
}

/** Counts adjacent rows with rising and with falling times within one page. */
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

/**
 * Number of adjacent pairs from which a page in the other direction means a reversed list; fewer may be an exception.
 */
const turnedPageSteps = 5;

/**
 * Returns the order after one more page: learned if unknown, reversed or set to unordered if the page contradicts it.
 */
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
 * Returns a row of the page whose rank the ledger can find by its time: no row on its new side has the same time.
 * `rowsNotNewer` counts the rows of the service's list that are not younger, itself included. Returns null without an
 * order, or if times or the total are missing. If all rows of a page have one time, the row at its edge is used.
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

/**
 * Returns true if the page shows the present length of the list. Some services report a total of 0 for a page after
 * the end.
 */
export function isTotalReported({ page, total, listed }: PageFacts, isLatest: boolean): boolean {
  return isLatest && total !== null && (listed > 0 || total > 0 || page === 1);
}

/**
 * Returns true if the known total does not count all rows. The rows of the page go beyond its total or, without one,
 * beyond the known total; or those of an earlier page did, and no page with rows has reported a total since.
 */
function isOlderTotal(state: ListState, facts: PageFacts, isReporting: boolean): boolean {
  const { page, size, total, listed } = facts;
  const counted = total ?? state.serviceTotal;
  const isBeyond = counted !== null && listed > 0 && (page - 1) * size + listed > counted;
  const isReportedAgain = isReporting && (listed > 0 || page === 1);
  return isBeyond || (state.checkpoint.isTotalOlder && !isReportedAgain);
}

/** Returns the state after a page. `isLatest`: no later answer was processed before. */
export function afterPage(state: ListState, facts: PageFacts, isLatest: boolean): ListState {
  const { serviceTotal, checkpoint } = state;
  const isReporting = isTotalReported(facts, isLatest);
  const total = isReporting ? facts.total : serviceTotal;
  const fall = Math.max(0, (serviceTotal ?? 0) - (total ?? 0));
  const fallen = checkpoint.fallen + fall;
  const unseen = withoutKeys(checkpoint.unseen, facts.keys);
  // A fall could not show before the first total: equal counts do not show which rows were removed since the scan.
  const isScanUnclean =
    checkpoint.isScanUnclean || (state.isBacked && serviceTotal === null && total !== null);
  const isTotalOlder = isOlderTotal(state, facts, isReporting);
  return {
    ...state,
    checkpoint: { ...checkpoint, fallen, unseen, isTotalOlder, isScanUnclean },
    totalObservation: isReporting ? facts.observation : state.totalObservation,
    serviceTotal: total,
    pageSize: facts.listed > 0 ? facts.size : state.pageSize,
    listOrder: state.isOrderFixed ? state.listOrder : learnedOrder(state.listOrder, facts.times),
  };
}

/** Returns the same array if none of the keys is in it. */
export function withoutKeys(from: string[], keys: string[]): string[] {
  if (from.length === 0) return from;
  const out = new Set(keys);
  const left = from.filter((key) => !out.has(key));
  return left.length === from.length ? from : left;
}
