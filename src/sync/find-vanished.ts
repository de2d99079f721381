/**
 * Finds rows that the ledger holds and an ordered list no longer shows. Pages that follow one another cover a
 * stretch of time; what the ledger lists within it and no page shows has vanished. Pages move while they are read,
 * so they are read twice: two readings with the same rows and totals are one picture of the list.
 */
import type { Span } from './list-port.ts';
import type { ListSession } from './list-session.ts';
import {
  isOrdered,
  type ListState,
  lastPage,
  missingRows,
  type PageFacts,
  pagesFor,
  rankProbe,
  withCheckpoint,
} from './list-state.ts';
import { beginReading, endReading, joinDays, type ReadDays, readOn } from './read-days.ts';

/** Above this many vanished rows a full scan is cheaper than searching each. */
const searchesMax = 32;
/** A list of so few pages is looked at as a whole. */
const wholeListPages = 4;
/** Pages that are looked at together; each look shares a page with the next. */
const lookPages = 50;

/** Searches rows that the service no longer counts. True when the counts agree afterwards. */
export async function searchVanished<P extends PageFacts>(
  session: ListSession<P>,
): Promise<boolean> {
  const { ranks, unlist } = session.port;
  if (ranks === null || unlist === null || !session.state.isBacked) return false;
  for (let search = 1; missingRows(session.state) < 0; search += 1) {
    if (!isOrdered(session.state) || session.state.acceptedDifference !== 0) return false;
    if (isScanCheaper(session.state)) return false;
    const range = await narrow(session, ranks.countUntil);
    if (range.high - range.low > wholeListPages) return false;
    const pages = await collect(session, range);
    const surplus = -missingRows(session.state);
    if ((await unlistVanished(session, pages, surplus)) === 0 || search === searchesMax)
      return false;
  }
  return missingRows(session.state) === 0;
}

/** Each search reads a page for every halving, and twice those on which it ends. */
function isScanCheaper(state: ListState): boolean {
  const pages = lastPage(state);
  const searches = -missingRows(state);
  return searches > searchesMax || (searches > 1 && searches * (Math.log2(pages) + 6) > pages);
}

/**
 * Reads the days whose rows differ from what a scan met of them, and marks as unlisted what two readings do not show.
 * A day that agrees afterwards is verified.
 */
export async function resolveDifferingDays<P extends PageFacts>(
  session: ListSession<P>,
): Promise<void> {
  const { ranks } = session.port;
  const { differingDays } = session.state.checkpoint;
  if (ranks === null || differingDays.length === 0 || !isOrdered(session.state)) return;
  const held = await ranks.days();
  const ranges = differingDays.map((day) => pagesOfDays(session.state, held, day, day));
  for (const range of mergeRanges(ranges)) {
    const read = await readLooks(session, range, async (pages) => {
      await unlistVanished(session, pages, Number.POSITIVE_INFINITY);
    });
    const isRead = (day: number) => isWithin(read, day);
    const { differingDays: days } = session.state.checkpoint;
    // The store below says anew which of them differ.
    session.apply(
      withCheckpoint(session.state, { differingDays: days.filter((day) => !isRead(day)) }),
    );
    await session.store([], onlyDays(read, days.filter(isRead)));
  }
}

function isWithin(days: ReadDays | null, day: number): boolean {
  if (days === null) return false;
  // Beyond the head there is nothing.
  const high = days.isHeadNew ? day : (days.high ?? day);
  return (days.low ?? day) <= day && day <= high;
}

/** What a reading says of some days; days beside them were not planned by rank and stay as they are. */
function onlyDays(read: ReadDays | null, days: number[]): ReadDays | null {
  if (read === null || days.length === 0) return null;
  const low = Math.min(...days);
  const high = Math.max(...days);
  const rows = read.rows.filter(([day]) => day >= low && day <= high);
  return { ...read, low, high, rows };
}

/** Page ranges that overlap or touch, as one. */
function mergeRanges(ranges: PageRange[]): PageRange[] {
  const merged: PageRange[] = [];
  for (const range of [...ranges].sort((a, b) => a.low - b.low)) {
    const last = merged.at(-1);
    if (last && range.low <= last.high + 1) last.high = Math.max(last.high, range.high);
    else merged.push({ ...range });
  }
  return merged;
}

/** The pages on which the ledger expects the days from `first` to `last`, and one more on either side. */
export function pagesOfDays(
  state: ListState,
  held: { day: number; rows: number }[],
  first: number,
  last: number,
): PageRange {
  const isBefore = (day: number) => (state.listOrder === 'newest-first' ? day > last : day < first);
  let before = 0;
  let within = 0;
  for (const { day, rows } of held) {
    if (isBefore(day)) before += rows;
    else if (day >= first && day <= last) within += rows;
  }
  const end = pagesFor(Math.max(state.serviceTotal ?? 0, state.ledgerCount) + 1, state);
  // Rows that have vanished before the days stand on earlier pages than the ledger expects.
  const surplus = state.ledgerCount - (state.serviceTotal ?? state.ledgerCount);
  const shift = Math.max(0, surplus, state.checkpoint.fallen);
  const low = Math.max(1, pagesFor(before - shift, state) - 1);
  return { low, high: Math.max(low, Math.min(end, pagesFor(before + within, state) + 1)) };
}

/** Reads pages one after another and hands them on in looks; returns the days that they cover wholly. */
export async function readLooks<P extends PageFacts>(
  session: ListSession<P>,
  { low, high }: PageRange,
  onLook: (pages: P[]) => Promise<void>,
): Promise<ReadDays | null> {
  let look: P[] = [];
  let reading: ReturnType<typeof beginReading> = null;
  let days: ReadDays | null = null;
  for (let page = low; page <= high; page += 1) {
    const facts = await session.read(page, page === low ? page : high);
    await session.store(facts.listed > 0 ? [facts] : []);
    look.push(facts);
    reading = page === low ? beginReading(facts, session.state.listOrder) : reading;
    const read: ReturnType<typeof readOn> | null =
      reading && facts.listed > 0 ? readOn(reading, facts) : null;
    reading = read === null ? reading : read.reading;
    days = joinDays(days, read?.days ?? null);
    const isEnd = isListEnd(facts);
    if (isEnd && reading) days = joinDays(days, endReading(reading));
    if (isEnd || page === high || look.length === lookPages) {
      await onLook(look);
      look = look.slice(-1);
    }
    if (isEnd) break;
  }
  return days;
}

function isListEnd(facts: PageFacts): boolean {
  if (facts.listed === 0) return true;
  return facts.listed < facts.size && (facts.page - 1) * facts.size + facts.listed === facts.total;
}

/**
 * Takes pages read one after another, marks as unlisted what they show to have vanished, at most `rowsMax` rows, and
 * returns how many that were. Pages that moved since are worth nothing: the next look tells.
 */
export async function unlistVanished<P extends PageFacts>(
  session: ListSession<P>,
  pages: P[],
  rowsMax: number,
): Promise<number> {
  const { ranks } = session.port;
  const span = coveredSpan(pages, session.state);
  if (span === null || ranks === null) return 0;
  const notSeen = await ranks.listedButNotSeen(pages, span);
  // More than the counts bear out: something else is wrong with the list.
  if (notSeen.length === 0 || notSeen.length > rowsMax) return 0;
  const range = { low: pages[0]?.page ?? 1, high: pages.at(-1)?.page ?? 1 };
  if (!isSamePicture(pages, await collect(session, range))) return 0;
  await session.unlist(notSeen);
  return notSeen.length;
}

/**
 * The time that pages cover without a hole: from the first row's to the last row's, both excluded because other
 * rows of these times may lie beyond; without end where the list ends. Null where the pages do not follow one
 * another in time, or one of their rows has no usable key.
 */
function coveredSpan(pages: PageFacts[], state: ListState): Span | null {
  const [first] = pages;
  const last = pages.at(-1);
  if (!first || !last || !isOrdered(state)) return null;
  const isNewestFirst = state.listOrder === 'newest-first';
  const times = pages.flatMap((page) => page.times);
  const isStill = pages.every(
    (facts, index) =>
      facts.page === first.page + index &&
      (facts.size === first.size || facts.listed === 0) &&
      facts.total === first.total &&
      facts.unstorable === 0,
  );
  const isInOrder = times.every((time, index) => {
    const before = times[index - 1] ?? time;
    return isNewestFirst ? time <= before : time >= before;
  });
  const head = times[0];
  const tail = times.at(-1);
  // Pages without rows show nothing, and a list that is empty all at once is a fault.
  if (!isStill || !isInOrder || head === undefined || tail === undefined) return null;
  const start = first.page === 1 ? null : head;
  const end = isListEnd(last) ? null : tail;
  return isNewestFirst ? { after: end, before: start } : { after: start, before: end };
}

export type PageRange = { low: number; high: number };

/**
 * Halves the list until two neighbouring pages are left: the vanished row belongs on them. Where the list ends with a
 * full page, the empty one behind it comes along: it shows the end.
 */
async function narrow<P extends PageFacts>(
  session: ListSession<P>,
  countUntil: (time: number) => Promise<number>,
): Promise<PageRange> {
  let range = { low: 1, high: lastPage(session.state) };
  const isShort = range.high <= wholeListPages;
  while (range.high - range.low > 1 && !isShort) {
    const middle = Math.floor((range.low + range.high) / 2);
    const facts = await session.read(middle);
    if (facts.listed > 0) await session.store([facts]);
    const probe = rankProbe(facts, session.state);
    if (probe === null) break;
    const isOnOldSide = (await countUntil(probe.time)) > probe.rowsNotNewer;
    const isAbove = isOnOldSide === (session.state.listOrder === 'newest-first');
    range = isAbove ? { ...range, low: middle } : { ...range, high: middle };
  }
  const { state } = session;
  const end = pagesFor((state.serviceTotal ?? 0) + 1, state);
  return range.high === lastPage(state) ? { ...range, high: end } : range;
}

async function collect<P extends PageFacts>(
  session: ListSession<P>,
  { low, high }: PageRange,
): Promise<P[]> {
  const pages: P[] = [];
  for (let page = low; page <= high; page += 1) {
    pages.push(await session.read(page, page, true));
  }
  return pages;
}

function isSamePicture(first: PageFacts[], second: PageFacts[]): boolean {
  return first.every(
    ({ fingerprint, total }, index) =>
      fingerprint === second[index]?.fingerprint && total === second[index]?.total,
  );
}
