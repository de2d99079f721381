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
} from './list-state.ts';

/** Above this many vanished rows a full scan is cheaper than searching each. */
const searchesMax = 32;
/** Between two pages of two replicas a row may fall through: so many equal readings show that it does not. */
const readingsOfSeam = 6;
/** A list of so few pages is looked at as a whole. */
const wholeListPages = 4;

/** Searches rows that the service no longer counts. True when the counts agree afterwards. */
export async function searchVanished<P extends PageFacts>(
  session: ListSession<P>,
): Promise<boolean> {
  const { ranks, unlist } = session.port;
  if (ranks === null || unlist === null || !session.state.isBacked) return false;
  for (let search = 1; search <= searchesMax && isSearchable(session.state); search += 1) {
    const range = await narrow(session, ranks.countUntil);
    if (range.high - range.low > wholeListPages) break;
    const pages = await collect(session, range);
    if ((await unlistVanished(session, pages, -missingRows(session.state))) === 0) break;
  }
  return missingRows(session.state) === 0;
}

function isSearchable(state: ListState): boolean {
  const isPlain = isOrdered(state) && state.acceptedDifference === 0;
  return missingRows(state) < 0 && isPlain && !isScanCheaper(state);
}

/** Each search reads a page for every halving, and twice those on which it ends. */
function isScanCheaper(state: ListState): boolean {
  const pages = lastPage(state);
  const searches = -missingRows(state);
  return searches > searchesMax || (searches > 1 && searches * (Math.log2(pages) + 6) > pages);
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
  const vanished = await notSeen(session, pages);
  // More than the counts bear out: something else is wrong with the list.
  if (vanished.length === 0 || vanished.length > rowsMax) return 0;
  const range = { low: pages[0]?.page ?? 1, high: pages.at(-1)?.page ?? 1 };
  if (!isSamePicture(pages, await collect(session, range))) return 0;
  if (!(await areSeamsTight(session, pages))) return 0;
  await session.unlist(vanished);
  return vanished.length;
}

/**
 * Two pages of two replicas may be of different states of the list, and a row between them on neither. Within a page
 * that cannot be: one answer shows one state. So pages between which a row seems to have vanished are read more often.
 */
async function areSeamsTight<P extends PageFacts>(
  session: ListSession<P>,
  pages: P[],
): Promise<boolean> {
  for (let index = 1; index < pages.length; index += 1) {
    const pair = pages.slice(index - 1, index + 1);
    const [within, around] = await Promise.all([
      Promise.all(pair.map((page) => notSeen(session, [page]))),
      notSeen(session, pair),
    ]);
    if (around.length === within.flat().length) continue;
    const range = { low: pair[0]?.page ?? 1, high: pair[1]?.page ?? 1 };
    for (let reading = 3; reading <= readingsOfSeam; reading += 1)
      if (!isSamePicture(pair, await collect(session, range))) return false;
  }
  return true;
}

/** What the ledger lists within the time that the pages cover, and they do not show. */
async function notSeen<P extends PageFacts>(
  { port, state }: ListSession<P>,
  pages: P[],
): Promise<string[]> {
  const span = coveredSpan(pages, state);
  return (span && (await port.ranks?.listedButNotSeen(pages, span))) ?? [];
}

export function isListEnd(facts: PageFacts): boolean {
  if (facts.listed === 0) return true;
  return facts.listed < facts.size && (facts.page - 1) * facts.size + facts.listed === facts.total;
}

/**
 * The time that pages cover without a hole: from the first row's to the last row's, both excluded because other
 * rows of these times may lie beyond; without end where the list ends. Null where the pages do not follow one
 * another in time, one of them lacks rows, or a row has no usable key.
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
      facts.unstorable === 0 &&
      (facts.listed >= facts.size || isListEnd(facts)),
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

/** Stores the pages, too: their total counts rows that may be on them for the first time. */
async function collect<P extends PageFacts>(
  session: ListSession<P>,
  { low, high }: PageRange,
): Promise<P[]> {
  const pages: P[] = [];
  for (let page = low; page <= high; page += 1) {
    const facts = await session.read(page, page, true);
    if (facts.listed > 0) await session.store([facts]);
    pages.push(facts);
  }
  return pages;
}

function isSamePicture(first: PageFacts[], second: PageFacts[]): boolean {
  return first.every(
    ({ fingerprint, total, observation }, index) =>
      fingerprint === second[index]?.fingerprint &&
      total === second[index]?.total &&
      // A page that is kept for its unreadable row is one reading, however often it is shown.
      observation !== second[index]?.observation,
  );
}
