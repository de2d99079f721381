/**
 * What a contiguous reading of an ordered list proves: for each UTC day that it has passed wholly, how many different
 * rows the service listed. Every row that was read is in the ledger, so equal counts of a day mean equal sets.
 *
 *   newest first:   page 1 ──▶ │ today (since the head) │ yesterday │ … │ oldest day │ end
 *   a reading that begins in the middle leaves its first, partial day out
 *
 * A page repeats rows when others came in before it; these lie on the side that was read already and are left out.
 * Left out by mistake they make a day's count too small, which proves nothing and claims nothing.
 */
import { z } from 'zod';
import type { ListOrder } from '../../kernel/list-order.ts';
import type { PageFacts } from './list-state.ts';

export const dayMs = 86_400_000;
/** More rows of one and the same millisecond are not told apart. */
const edgeKeysMax = 1_000;

const int = z.number().int();

export const readingSchema = z.object({
  isNewestFirst: z.boolean(),
  /** Time of the row read last (Unix ms), and the keys of all rows of that time. */
  edge: int,
  edgeKeys: z.array(z.string()),
  /** UTC day (days since 1970) of the edge, its rows so far, and whether its beginning was read, too. */
  day: int,
  rows: int,
  isDayWhole: z.boolean(),
  /** Time of the list's first row when the reading began there; rows beyond it came later. */
  head: int.nullable(),
  /** The list's first row was read, and no day of its side has been closed yet (oldest first). */
  isStartOpen: z.boolean(),
});

/** Where a reading stands. */
export type Reading = Readonly<z.infer<typeof readingSchema>>;

/** The days from `low` to `high` (null: without end) were read wholly; those without an entry listed no row. */
export type ReadDays = {
  low: number | null;
  high: number | null;
  rows: [day: number, rows: number][];
  /** Rows beyond this time (Unix ms) came after the reading had begun; null: none could. */
  head: number | null;
  /** The reading has just begun at the list's first row: the ledger must list nothing beyond `head`. */
  isHeadNew: boolean;
};

export function dayOf(time: number): number {
  return Math.floor(time / dayMs);
}

/** Begins a reading at a page; null where the page shows no time, or the list has no order. One time has any order. */
export function beginReading(facts: PageFacts, order: ListOrder | null): Reading | null {
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

/** The reading still goes the way that the list is known to go. */
export function isReadingInOrder(reading: Reading, order: ListOrder | null): boolean {
  return order === null || order === (reading.isNewestFirst ? 'newest-first' : 'oldest-first');
}

/** The reading after a page, null when it can prove nothing any more, and the days that the page completed. */
export function readOn(
  reading: Reading,
  facts: PageFacts,
): { reading: Reading | null; days: ReadDays | null } {
  const { isNewestFirst, head, isStartOpen } = reading;
  const place: Place = { ...reading, edgeKeys: new Set(reading.edgeKeys), closed: [] };
  facts.times.forEach((time, index) => {
    const isReadBefore = isNewestFirst ? time > place.edge : time < place.edge;
    if (!isReadBefore) passRow(place, time, facts.datedKeys[index] ?? '');
  });
  const { edge, day, rows, isDayWhole, edgeKeys, closed } = place;
  const isTold = edgeKeys.size <= edgeKeysMax;
  const next = { ...reading, edge, edgeKeys: [...edgeKeys], day, rows, isDayWhole };
  const isHeadNew = reading.edgeKeys.length === 0 && head !== null;
  const isNothing = day === reading.day && !isHeadNew && !isStartOpen;
  const [begun, last] = [firstWholeDay(reading), day + (isNewestFirst ? 1 : -1)];
  // The oldest-first list begins with its oldest row: nothing lies before it.
  const start = isStartOpen ? null : begun;
  const [low, high] = isNewestFirst ? [last, start] : [start, last];
  return {
    reading: isTold ? { ...next, isStartOpen: false } : null,
    days: isNothing ? null : { low, high, rows: closed, head, isHeadNew },
  };
}

/** Where a reading stands within a page. */
type Place = {
  edge: number;
  edgeKeys: Set<string>;
  day: number;
  rows: number;
  isDayWhole: boolean;
  closed: [day: number, rows: number][];
};

/** Goes on by one row at or behind the edge. */
function passRow(place: Place, time: number, key: string): void {
  if (time === place.edge) {
    if (!place.edgeKeys.has(key)) place.rows += 1;
    place.edgeKeys.add(key);
    return;
  }
  if (dayOf(time) !== place.day) {
    if (place.isDayWhole) place.closed.push([place.day, place.rows]);
    place.day = dayOf(time);
    place.rows = 0;
    place.isDayWhole = true;
  }
  place.edge = time;
  place.edgeKeys = new Set([key]);
  place.rows += 1;
}

/** The day of the edge, or the next one where its beginning was not read. */
function firstWholeDay({ day, isDayWhole, isNewestFirst }: Reading): number {
  if (isDayWhole) return day;
  return day + (isNewestFirst ? -1 : 1);
}

/** The days that the end of the list completes. */
export function endReading(reading: Reading): ReadDays {
  const { isNewestFirst, day, rows, isDayWhole, head } = reading;
  const begun = firstWholeDay(reading);
  const closed: [number, number][] = isDayWhole ? [[day, rows]] : [];
  const [low, high] = isNewestFirst ? [null, begun] : [begun, null];
  return { low, high, rows: closed, head, isHeadNew: false };
}

/** Collects the days that pages read one after another complete. `isStart`: the first of them. */
export function createDayReader() {
  let reading: Reading | null = null;
  let days: ReadDays | null = null;
  return {
    read(facts: PageFacts, order: ListOrder | null, { isStart, isEnd = false }: DayPage): void {
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

/** Days of two neighbouring stretches of one reading, as one. */
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
  };
}
