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
import type { ListOrder } from '../kernel/list-order.ts';
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
  const { isNewestFirst, head } = reading;
  let { edge, day, rows, isDayWhole } = reading;
  let edgeKeys = new Set(reading.edgeKeys);
  const isBegun = reading.edgeKeys.length > 0;
  const closed: [number, number][] = [];
  const first = { day, isDayWhole };
  facts.times.forEach((time, index) => {
    const key = facts.datedKeys[index] ?? '';
    if (isNewestFirst ? time > edge : time < edge) return;
    if (time === edge) {
      if (!edgeKeys.has(key)) rows += 1;
      edgeKeys.add(key);
      return;
    }
    if (dayOf(time) !== day) {
      if (isDayWhole) closed.push([day, rows]);
      day = dayOf(time);
      rows = 0;
      isDayWhole = true;
    }
    edge = time;
    edgeKeys = new Set([key]);
    rows += 1;
  });
  const next =
    edgeKeys.size > edgeKeysMax
      ? null
      : { ...reading, edge, edgeKeys: [...edgeKeys], day, rows, isDayWhole, isStartOpen: false };
  const isHeadNew = !isBegun && head !== null;
  if (day === first.day && !isHeadNew && !reading.isStartOpen) return { reading: next, days: null };
  const begun = first.isDayWhole ? first.day : first.day + (isNewestFirst ? -1 : 1);
  const last = day + (isNewestFirst ? 1 : -1);
  // The oldest-first list begins with its oldest row: nothing lies before it.
  const start = reading.isStartOpen ? null : begun;
  const [low, high] = isNewestFirst ? [last, start] : [start, last];
  return { reading: next, days: { low, high, rows: closed, head, isHeadNew } };
}

/** The days that the end of the list completes. */
export function endReading(reading: Reading): ReadDays {
  const { isNewestFirst, day, rows, isDayWhole, head } = reading;
  const begun = isDayWhole ? day : day + (isNewestFirst ? -1 : 1);
  const closed: [number, number][] = isDayWhole ? [[day, rows]] : [];
  const [low, high] = isNewestFirst ? [null, begun] : [begun, null];
  return { low, high, rows: closed, head, isHeadNew: false };
}

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
