/**
 * Proof by a contiguous reading of an ordered list: the number of different rows that the service listed on each UTC
 * day read completely. Every row read is in the ledger, so equal counts of a day mean equal sets.
 *
 *   newest first:   page 1 ──▶ │ today (since the head) │ yesterday │ … │ oldest day │ end
 *   a reading that begins in the middle leaves its first, partial day out
 *
 * A page repeats rows if others arrived before it; these lie on the side already read and are left out. A row left out
 * by mistake makes a day's count too small, so that the day is not verified.
 */
import { z } from 'zod';
import type { ListOrder, ReadDays } from '../../kernel/vocabulary.ts';

export const dayMs = 86_400_000;
/** Upper bound of the rows of one millisecond that are compared by key; with more the reading ends. */
const edgeKeysMax = 1_000;
/** Upper bound of the days with rows that cannot be stored; with more the reading ends. */
export const unstoredMax = 366;

const int = z.number().int();

export const readingSchema = z.object({
  isNewestFirst: z.boolean(),
  /** Time of the last row read (Unix ms), and the keys of all rows of that time. */
  edge: int,
  edgeKeys: z.array(z.string()),
  /** UTC day (days since 1970) of the edge, its rows so far, and whether its beginning was read as well. */
  day: int,
  rows: int,
  isDayWhole: z.boolean(),
  /** Time of the list's first row if a newest-first reading began there; rows beyond it arrived later. */
  head: int.nullable(),
  /** The reading begins at the first row of an oldest-first list, and has not passed its first page yet. */
  isStartOpen: z.boolean(),
  /** Days of listed rows that the ledger cannot store: their counts prove nothing. Absent: none. */
  unstored: z.array(int).optional(),
  /** A row without a readable time that cannot be stored may be of the next page's first day. */
  isNextUnsure: z.boolean().optional(),
});

/** Facts about one page that are needed to read days. */
export type DatedRows = {
  page: number;
  /** Rows in the answer. */
  listed: number;
  /** Times (Unix ms) of the rows in the list's order, without unreadable ones, and the keys of these rows. */
  times: number[];
  datedKeys: string[];
  /** Rows without a usable key, and the times (Unix ms) of those that show one. */
  unstorable?: number;
  unstorableTimes?: number[];
};

/** Position of a reading. */
export type Reading = Readonly<z.infer<typeof readingSchema>>;

/** Returns the days of the page's rows that cannot be stored; all days of the page if one of them shows no time. */
export function unstoredDays({ times, unstorable = 0, unstorableTimes = [] }: DatedRows): number[] {
  const hidden = unstorable > unstorableTimes.length ? times : [];
  return [...new Set([...unstorableTimes, ...hidden].map(dayOf))];
}

/** Returns the days of rows that cannot be stored, up to and on this page, and if the next page may have one, too. */
function unstoredSoFar(reading: Reading, facts: DatedRows) {
  const { unstorable = 0, unstorableTimes = [], times } = facts;
  const isHidden = unstorable > unstorableTimes.length;
  const days = new Set([...(reading.unstored ?? []), ...unstoredDays(facts)]);
  const [first] = times;
  if (isHidden) days.add(dayOf(reading.edge));
  if (reading.isNextUnsure && first !== undefined) days.add(dayOf(first));
  const isNextUnsure = isHidden || (reading.isNextUnsure === true && first === undefined);
  if (days.size === 0 && !isNextUnsure) return {};
  return { unstored: [...days], isNextUnsure };
}

export function dayOf(time: number): number {
  return Math.floor(time / dayMs);
}

/**
 * Begins a reading at a page. Returns null if the page shows no time or the list has no order. An unknown order counts
 * as newest first: all times so far are equal.
 */
export function beginReading(facts: DatedRows, order: ListOrder | null): Reading | null {
  const [edge] = facts.times;
  if (edge === undefined || order === 'unordered') return null;
  const isAtStart = facts.page === 1;
  return {
    isNewestFirst: order !== 'oldest-first',
    edge,
    edgeKeys: [],
    day: dayOf(edge),
    rows: 0,
    isDayWhole: isAtStart,
    head: isAtStart && order !== 'oldest-first' ? edge : null,
    isStartOpen: isAtStart && order === 'oldest-first',
  };
}

/** Returns true if the reading still follows the known order of the list. */
export function isReadingInOrder(reading: Reading, order: ListOrder | null): boolean {
  return order === null || order === (reading.isNewestFirst ? 'newest-first' : 'oldest-first');
}

/** Returns the reading after a page, null if it can prove nothing any more, and the days that the page completed. */
export function readOn(
  reading: Reading,
  facts: DatedRows,
): { reading: Reading | null; days: ReadDays | null } {
  const { isNewestFirst, head, isStartOpen } = reading;
  const [edgeKey, ...others] = reading.edgeKeys;
  const otherKeys = others.length > 0 ? new Set(others) : null;
  const place: Place = { ...reading, edgeKey, otherKeys, closed: [] };
  facts.times.forEach((time, index) => {
    const isReadBefore = isNewestFirst ? time > place.edge : time < place.edge;
    if (!isReadBefore) passRow(place, time, facts.datedKeys[index] ?? '');
  });
  const { edge, day, rows, isDayWhole, closed } = place;
  const edgeKeys = place.edgeKey === undefined ? [] : [place.edgeKey, ...(place.otherKeys ?? [])];
  const isBounded = edgeKeys.length <= edgeKeysMax;
  const unstored = unstoredSoFar(reading, facts);
  const isKnown = isBounded && (unstored.unstored ?? []).length <= unstoredMax;
  const moved = { ...reading, edge, edgeKeys, day, rows, isDayWhole };
  const next = { ...moved, ...unstored };
  const isHeadNew = reading.edgeKeys.length === 0 && head !== null;
  const isNothing = day === reading.day && !isHeadNew && !isStartOpen;
  const [begun, last] = [firstWholeDay(reading), day + (isNewestFirst ? 1 : -1)];
  // An oldest-first list begins with its oldest row: nothing lies before it.
  const start = isStartOpen ? null : begun;
  const [low, high] = isNewestFirst ? [last, start] : [start, last];
  return {
    reading: isKnown ? { ...next, isStartOpen: false } : null,
    days: isNothing ? null : { low, high, rows: closed, head, isHeadNew, ...unstoredIn(next) },
  };
}

function unstoredIn({ unstored }: Reading): Pick<ReadDays, 'unstored'> {
  return unstored === undefined ? {} : { unstored };
}

/** Position of a reading within a page. */
type Place = {
  edge: number;
  /** The first row of the edge's time, and the others: a set for each row of a history would be its largest object. */
  edgeKey: string | undefined;
  otherKeys: Set<string> | null;
  day: number;
  rows: number;
  isDayWhole: boolean;
  closed: [day: number, rows: number][];
};

/** Moves the position by one row at or after the edge. */
function passRow(place: Place, time: number, key: string): void {
  if (time === place.edge) {
    if (key === place.edgeKey || place.otherKeys?.has(key)) return;
    place.rows += 1;
    if (place.edgeKey === undefined) place.edgeKey = key;
    else place.otherKeys = (place.otherKeys ?? new Set()).add(key);
    return;
  }
  if (dayOf(time) !== place.day) {
    if (place.isDayWhole) place.closed.push([place.day, place.rows]);
    place.day = dayOf(time);
    place.rows = 0;
    place.isDayWhole = true;
  }
  place.edge = time;
  place.edgeKey = key;
  place.otherKeys = null;
  place.rows += 1;
}

/** Returns the first day whose beginning was read: the day of the edge, or the next one. */
function firstWholeDay({ day, isDayWhole, isNewestFirst }: Reading): number {
  if (isDayWhole) return day;
  return day + (isNewestFirst ? -1 : 1);
}

/** Returns the days that the end of the list completes. */
export function endReading(reading: Reading): ReadDays {
  const { isNewestFirst, day, rows, isDayWhole, head } = reading;
  const begun = firstWholeDay(reading);
  const closed: [number, number][] = isDayWhole ? [[day, rows]] : [];
  const [low, high] = isNewestFirst ? [null, begun] : [begun, null];
  return { low, high, rows: closed, head, isHeadNew: false, ...unstoredIn(reading) };
}

/** Collects the days that consecutive pages complete. `isStart`: the page is the first of them. */
export function createDayReader() {
  let reading: Reading | null = null;
  let days: ReadDays | null = null;
  return {
    read(facts: DatedRows, order: ListOrder | null, { isStart, isEnd = false }: DayPage): void {
      if (isStart) reading = beginReading(facts, order);
      if (reading !== null && facts.listed > 0) {
        const read = readOn(reading, facts);
        reading = read.reading;
        days = joinDays(days, read.days);
      }
      if (isEnd && reading !== null) days = joinDays(days, endReading(reading));
    },
    days: () => days,
  };
}

type DayPage = { isStart: boolean; isEnd?: boolean };

/** Joins the days of two adjacent stretches of one reading. */
export function joinDays(earlier: ReadDays | null, later: ReadDays | null): ReadDays | null {
  if (earlier === null || later === null) return earlier ?? later;
  const lows = [earlier.low, later.low];
  const highs = [earlier.high, later.high];
  return {
    low: lows.includes(null) ? null : Math.min(...lows.map(Number)),
    high: highs.includes(null) ? null : Math.max(...highs.map(Number)),
    rows: [...earlier.rows, ...later.rows],
    head: later.head,
    isHeadNew: earlier.isHeadNew || later.isHeadNew,
    unstored: [...new Set([...(earlier.unstored ?? []), ...(later.unstored ?? [])])],
  };
}
