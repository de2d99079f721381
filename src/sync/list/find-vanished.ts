/**
 * Finds rows that the ledger holds and an ordered list no longer shows. Consecutive pages cover a span of time; a row
 * that the ledger lists within it and no page shows has vanished. Pages move while they are read, so they are read
 * twice: two readings with the same rows and totals show one state of the list.
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
import { readOrEnd } from './refused-page.ts';

/** Upper bound of the searches; above it a full scan is cheaper than searching each vanished row. */
const searchesMax = 32;
/** Number of equal readings after which no row can lie between two pages that come from two replicas. */
const readingsOfSeam = 6;
/** Number of pages up to which a list or range is checked completely. */
const wholeListPages = 4;

/** Searches rows that the service no longer counts. Returns true if the counts agree afterwards. */
export async function searchVanished<P extends PageFacts>(
  session: ListSession<P>,
): Promise<boolean> {
  const { ranks, unlist } = session.port;
  if (ranks === null || unlist === null || !session.state.isBacked) return false;
  for (let search = 1; search <= searchesMax && isSearchable(session.state); search += 1) {
    const range = await narrow(session, ranks.countUntil);
    if (range.high - range.low > wholeListPages) break;
    const { pageSize } = session.state;
    const pages = await collect(session, range);
    // A page with fewer rows than before changes the size, and with it the pages that the range should have.
    if (session.state.pageSize !== pageSize) break;
    if ((await unlistVanished(session, pages, -missingRows(session.state))) === 0) break;
  }
  return missingRows(session.state) === 0;
}

function isSearchable(state: ListState): boolean {
  const isPlain = isOrdered(state) && state.acceptedDifference === 0;
  return missingRows(state) < 0 && isPlain && !isScanCheaper(state);
}

/** Returns true if a full scan is cheaper. Each search reads one page per halving, and the final pages twice. */
function isScanCheaper(state: ListState): boolean {
  const pages = lastPage(state);
  const searches = -missingRows(state);
  return searches > searchesMax || (searches > 1 && searches * (Math.log2(pages) + 6) > pages);
}

/**
 * Takes consecutive pages and marks as unlisted the rows that have vanished from them, at most `rowsMax`. Returns their
 * number. Returns 0 if the pages have moved since; a later check finds the rows.
 */
export async function unlistVanished<P extends PageFacts>(
  session: ListSession<P>,
  pages: P[],
  rowsMax: number,
): Promise<number> {
  // A total that does not count all rows cannot show that any has vanished.
  if (session.state.checkpoint.isTotalOlder) return 0;
  const vanished = await notSeen(session, pages);
  // More rows than the counts explain have vanished, so something else is wrong with the list.
  if (vanished.length === 0 || vanished.length > rowsMax) return 0;
  const range = { low: pages[0]?.page ?? 1, high: pages.at(-1)?.page ?? 1 };
  if (!isSamePicture(pages, await collect(session, range))) return 0;
  if (!(await areSeamsTight(session, pages))) return 0;
  await session.unlist(vanished);
  return vanished.length;
}

/**
 * Checks that no row lies between two pages. Pages from two replicas may show different states of the list, so that
 * neither shows a row between them. One answer always shows one state. So pages between which a row seems to have
 * vanished are read more often.
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

/** Returns the rows that the ledger lists within the time of the pages and that no page shows. */
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
 * Returns the time that the pages cover without a hole, from the first row to the last. Both times are excluded,
 * because other rows of these times may lie beyond. The start or end of the list leaves that side unbounded. Returns
 * null if the pages do not follow one another in time, a page lacks rows, or a row has no usable key.
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
      (facts.total === first.total || facts.isRefused) &&
      facts.unstorable === 0 &&
      (facts.listed >= facts.size || isListEnd(facts)),
  );
  const isInOrder = times.every((time, index) => {
    const before = times[index - 1] ?? time;
    return isNewestFirst ? time <= before : time >= before;
  });
  const head = times[0];
  const tail = times.at(-1);
  // Pages without rows show nothing, and a list that is suddenly empty is a fault.
  if (!isStill || !isInOrder || head === undefined || tail === undefined) return null;
  const start = first.page === 1 ? null : head;
  const end = isListEnd(last) ? null : tail;
  return isNewestFirst ? { after: end, before: start } : { after: start, before: end };
}

export type PageRange = { low: number; high: number };

/**
 * Halves the list until two adjacent pages are left: the vanished row belongs on them. A short list is not halved. If
 * the list ends with a full page, the range includes the empty page after it, which shows the end.
 */
async function narrow<P extends PageFacts>(
  session: ListSession<P>,
  countUntil: (time: number) => Promise<number>,
): Promise<PageRange> {
  let range = { low: 1, high: lastPage(session.state) };
  const isShort = range.high <= wholeListPages;
  while (range.high - range.low > 1 && !isShort) {
    const middle = Math.floor((range.low + range.high) / 2);
    const facts = await readOrEnd(session, middle);
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

/** Reads the pages again and stores them, because their total counts rows that they may show for the first time. */
async function collect<P extends PageFacts>(
  session: ListSession<P>,
  { low, high }: PageRange,
): Promise<P[]> {
  const pages: P[] = [];
  for (let page = low; page <= high; page += 1) {
    const facts = await readOrEnd(session, page, { isFresh: true });
    if (facts.listed > 0) await session.store([facts]);
    pages.push(facts);
  }
  return pages;
}

function isSamePicture(first: PageFacts[], second: PageFacts[]): boolean {
  return first.every((facts, index) => {
    const again = second[index];
    // A page kept for its unreadable row counts as one reading, however often it is shown.
    const isOther = facts.observation !== again?.observation || facts.isRefused;
    return isOther && facts.fingerprint === again?.fingerprint && facts.total === again.total;
  });
}
