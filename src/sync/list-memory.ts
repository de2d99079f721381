/**
 * What is remembered of a list between passes, and what one page of it tells. No I/O.
 *
 * Places count from 1 at the list's first row. `serviceTotal` is the service's count, `ledgerCount` the ledger's.
 */
export type ListOrder = 'newest-first' | 'oldest-first' | 'unordered';

/** An unfinished walk over the whole list, from page 1 upward. */
export type WalkProgress = {
  nextPage: number;
  /** Size of the grid that nextPage counts in; null before the first page. */
  pageSize: number | null;
  /** The service's total when the walk began, and at the last page read. */
  startTotal: number | null;
  lastTotal: number | null;
  /** One page after another: the only kind that needs no trust in the totals. */
  isSequential: boolean;
  /** Neighbours with rising and with falling times, met so far. */
  rising: number;
  falling: number;
  /** Listed rows that could not be stored at all. */
  unstorable: number;
  rewinds: number;
};

export type Checkpoint = {
  /** Page size to ask for, halved whenever the service refuses it. */
  askSize: number;
  /** serviceTotal − ledgerCount as the last complete walk left it; null before the first one ended. */
  gap: number | null;
  /** The service's total when the counts last agreed (but for the gap). */
  settledTotal: number;
  walk: WalkProgress | null;
  /** Walks ended so far. */
  walks: number;
  /** Where answers say a page size that is not what they serve. */
  servedSize: { said: number; served: number } | null;
  /** Counts that disagree without anything to read, and for how many passes they have stood so. */
  unease: { total: number | null; count: number; passes: number } | null;
  /** Page at which the audit goes on; absent before its first run. */
  auditPage?: number;
  /** Rows that the ledger held beyond the service's count when the audit last looked into it. */
  auditedSurplus?: number;
};

export type ListMemory = {
  listOrder: ListOrder | null;
  /** Whether the order is set by the user and not to be learned. */
  isOrderFixed: boolean;
  pageSize: number | null;
  serviceTotal: number | null;
  ledgerCount: number;
  checkpoint: Checkpoint;
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

export function newCheckpoint(askSize: number): Checkpoint {
  return {
    askSize,
    gap: null,
    settledTotal: 0,
    walk: null,
    walks: 0,
    servedSize: null,
    unease: null,
  };
}

export function newWalk(isSequential: boolean): WalkProgress {
  return {
    nextPage: 1,
    pageSize: null,
    startTotal: null,
    lastTotal: null,
    isSequential,
    rising: 0,
    falling: 0,
    unstorable: 0,
    rewinds: 0,
  };
}

/** Rows that the ledger lacks and that no earlier walk has explained; negative: has too many; NaN: no total. */
export function missing(memory: ListMemory): number {
  return (memory.serviceTotal ?? Number.NaN) - memory.ledgerCount - (memory.checkpoint.gap ?? 0);
}

/** Whether the ledger provably holds the whole list: a complete walk has been made and the counts are equal. */
export function isProven(memory: ListMemory): boolean {
  return memory.checkpoint.gap !== null && memory.serviceTotal === memory.ledgerCount;
}

/** The page on which the list ends by the service's total; 1 while size or total are unknown. */
export function lastPage(memory: ListMemory): number {
  return pagesFor(memory.serviceTotal ?? 0, memory);
}

/** Pages that so many rows take; at least 1. */
export function pagesFor(rows: number, memory: ListMemory): number {
  return Math.max(1, Math.ceil(rows / Math.max(1, memory.pageSize ?? rows)));
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

export function isOrdered(memory: ListMemory): boolean {
  return memory.listOrder === 'newest-first' || memory.listOrder === 'oldest-first';
}

/**
 * A row of the page whose rank the ledger can tell by its time alone: no row on its new side has the same time.
 * `rowsOnOldSide` of the service's list are not younger, the row itself included. Null where times or total are
 * missing; where a whole page is of one time, its edge stands for it.
 */
export function rankMark(
  facts: PageFacts,
  memory: ListMemory,
): { time: number; rowsOnOldSide: number } | null {
  const { times, total } = facts;
  if (!isOrdered(memory) || total === null || times.length !== facts.listed) return null;
  const before = (facts.page - 1) * facts.size;
  if (memory.listOrder === 'newest-first') {
    const index =
      facts.page === 1
        ? 0
        : Math.max(
            0,
            times.findIndex((time) => time !== times[0]),
          );
    const time = times[index];
    return time === undefined ? null : { time, rowsOnOldSide: total - before - index };
  }
  const isEnd = before + facts.listed >= total;
  const index = isEnd ? times.length - 1 : times.findLastIndex((time) => time !== times.at(-1));
  const time = times.at(index);
  return time === undefined
    ? null
    : { time, rowsOnOldSide: before + (index < 0 ? times.length : index + 1) };
}

/** Takes over what a page tells about the list itself. */
export function notePage(memory: ListMemory, facts: PageFacts, isLatest: boolean): void {
  if (isLatest && facts.total !== null) memory.serviceTotal = facts.total;
  if (facts.listed > 0) memory.pageSize = facts.size;
  if (!memory.isOrderFixed) memory.listOrder = learnedOrder(memory.listOrder, facts.times);
}

/**
 * The grid a page really lies on. Some services repeat the size asked for and serve less: a first page that is
 * short although the list goes on shows it, and is remembered for the pages that say the same size.
 */
export function withServedSize(memory: ListMemory, facts: PageFacts): PageFacts {
  const { checkpoint } = memory;
  if (facts.page === 1 && facts.listed > 0) {
    const isClamped = facts.listed < facts.size && facts.listed < (facts.total ?? 0);
    checkpoint.servedSize = isClamped ? { said: facts.size, served: facts.listed } : null;
  }
  const { servedSize } = checkpoint;
  if (servedSize?.said !== facts.size) return facts;
  return { ...facts, size: Math.max(servedSize.served, facts.listed) };
}
