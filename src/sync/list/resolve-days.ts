import type { ReadDays } from '../../kernel/vocabulary.ts';
import { isListEnd, type PageRange, unlistVanished } from './find-vanished.ts';
import type { ListSession } from './list-session.ts';
import {
  differingDaysMax,
  isOrdered,
  type ListState,
  missingRows,
  type PageFacts,
  pagesFor,
  withCheckpoint,
} from './list-state.ts';
import { createDayReader } from './read-days.ts';
import { lastCounted, readOrEnd } from './refused-page.ts';

/** Number of pages that are compared together; each group shares a page with the next. */
const lookPages = 50;

/**
 * Reads the days whose rows differ from those that a scan met. Marks rows as unlisted that two readings do not show,
 * and a day that agrees afterwards as verified.
 */
export async function resolveDifferingDays<P extends PageFacts>(
  session: ListSession<P>,
): Promise<void> {
  const { ranks } = session.port;
  const { differingDays } = session.state.checkpoint;
  if (ranks === null || differingDays.length === 0 || !isOrdered(session.state)) return;
  // A full array of days may omit others, and guests make each day differ.
  if (differingDays.length >= differingDaysMax || session.state.guests > 0) return;
  const held = await ranks.days();
  const ranges = differingDays.map((day) => pagesOfDays(session.state, held, day, day));
  for (const range of mergeRanges(ranges)) {
    const { pageSize } = session.state;
    const read = await readLooks(session, range, async (pages) => {
      if (session.state.pageSize !== pageSize) return;
      await unlistVanished(session, pages, surplusOf(session.state));
    });
    if (session.state.guests > 0) return;
    const isRead = (day: number) => isWithin(read, day);
    const { differingDays: days } = session.state.checkpoint;
    // The store below determines again which of them differ.
    session.apply(
      withCheckpoint(session.state, { differingDays: days.filter((day) => !isRead(day)) }),
    );
    await session.store([], onlyDays(read, days.filter(isRead)));
  }
}

/** Returns the number of rows that the service no longer counts: at most this many have vanished. */
function surplusOf(state: ListState): number {
  return Math.max(0, -missingRows(state) || 0);
}

function isWithin(days: ReadDays | null, day: number): boolean {
  if (days === null) return false;
  // The head is the newest row, so no row lies beyond it.
  const high = days.isHeadNew ? day : (days.high ?? day);
  return (days.low ?? day) <= day && day <= high;
}

/** Limits a reading to some days. The pages were chosen for these days only, so other days stay as they are. */
function onlyDays(read: ReadDays | null, days: number[]): ReadDays | null {
  if (read === null || days.length === 0) return null;
  const low = Math.min(...days);
  const high = Math.max(...days);
  const rows = read.rows.filter(([day]) => day >= low && day <= high);
  return { ...read, low, high, rows };
}

/** Merges page ranges that overlap or touch. */
function mergeRanges(ranges: PageRange[]): PageRange[] {
  const merged: PageRange[] = [];
  for (const range of [...ranges].sort((a, b) => a.low - b.low)) {
    const last = merged.at(-1);
    if (last && range.low <= last.high + 1) last.high = Math.max(last.high, range.high);
    else merged.push({ ...range });
  }
  return merged;
}

/**
 * Returns the pages on which the ledger expects the days from `first` to `last` (days since 1970), and one more on
 * either side.
 */
export function pagesOfDays(
  state: ListState,
  held: { day: number; rows: number }[],
  first: number,
  last: number,
): PageRange {
  const isBefore = (day: number) => (state.listOrder === 'newest-first' ? day > last : day < first);
  let before = 0;
  let within = 0;
  // Rows without a day, and guests, may lie anywhere.
  let elsewhere = state.ledgerCount + state.guests;
  for (const { day, rows } of held) {
    elsewhere -= rows;
    if (isBefore(day)) before += rows;
    else if (day >= first && day <= last) within += rows;
  }
  const end = pagesFor(Math.max(state.serviceTotal ?? 0, state.ledgerCount) + 1, state);
  // Vanished rows before the days move the days to earlier pages than the ledger expects.
  const surplus = state.ledgerCount - (state.serviceTotal ?? state.ledgerCount);
  const shift = Math.max(0, surplus, state.checkpoint.fallen);
  const low = Math.max(1, pagesFor(before - shift, state) - 1);
  const high = pagesFor(before + within + Math.max(0, elsewhere), state) + 1;
  return { low, high: Math.max(low, Math.min(end, high)) };
}

/** Reads pages one after another and passes them to `onLook` in groups. Returns the days that they cover completely. */
async function readLooks<P extends PageFacts>(
  session: ListSession<P>,
  { low, high }: PageRange,
  onLook: (pages: P[]) => Promise<void>,
): Promise<ReadDays | null> {
  let look: P[] = [];
  const reader = createDayReader();
  for (let page = low, isLast = false; !isLast; page += 1) {
    const facts = await readOrEnd(session, page, {
      upTo: lastCounted(page === low ? page : high, session.state),
    });
    if (facts.listed > 0) await session.store([facts]);
    const isEnd = isListEnd(facts);
    reader.read(facts, session.state.listOrder, { isStart: page === low, isEnd });
    look.push(facts);
    isLast = isEnd || page === high;
    if (!isLast && look.length < lookPages) continue;
    await onLook(look);
    look = look.slice(-1);
  }
  return reader.days();
}
