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

/** Above this many vanished rows a pass does not search each; the audit comes by all of them. */
const searchedRowsMax = 32;
/** A list of so few pages is looked at as a whole. */
const wholeListPages = 4;

/** Searches rows that the service no longer counts. True when the counts agree afterwards. */
export async function searchVanished<P extends PageFacts>(
  session: ListSession<P>,
): Promise<boolean> {
  const { ranks } = session.port;
  if (ranks === null || !session.state.isBacked || session.state.acceptedDifference !== 0)
    return false;
  while (missingRows(session.state) < 0) {
    if (-missingRows(session.state) > searchedRowsMax || !isOrdered(session.state)) return false;
    const range = await narrow(session, ranks.countUntil);
    if (range.high - range.low > wholeListPages) return false;
    if ((await unlistVanished(session, await collect(session, range))) === 0) return false;
  }
  return missingRows(session.state) === 0;
}

/**
 * Takes pages read one after another, marks as unlisted what they show to have vanished, and returns how many
 * rows that were. Pages that moved since are worth nothing: the next look tells.
 */
export async function unlistVanished<P extends PageFacts>(
  session: ListSession<P>,
  pages: P[],
): Promise<number> {
  const { ranks } = session.port;
  const span = coveredSpan(pages, session.state);
  if (span === null || ranks === null) return 0;
  const notSeen = await ranks.listedButNotSeen(pages, span);
  // More than the counts bear out: something else is wrong with the list.
  if (notSeen.length === 0 || notSeen.length > surplusOf(session.state)) return 0;
  const range = { low: pages[0]?.page ?? 1, high: pages.at(-1)?.page ?? 1 };
  if (!isSamePicture(pages, await collect(session, range))) return 0;
  await session.unlist(notSeen);
  return notSeen.length;
}

/**
 * The time that pages cover without a hole: from the first row's to the last row's, both excluded because other
 * rows of these times may lie beyond; without end where the list ends. Null where the pages do not follow one
 * another in time, or not all of their rows can be read.
 */
function coveredSpan(pages: PageFacts[], state: ListState): Span | null {
  const [first] = pages;
  const last = pages.at(-1);
  if (!first || !last || first.total === null || !isOrdered(state)) return null;
  const isNewestFirst = state.listOrder === 'newest-first';
  const times = pages.flatMap((page) => page.times);
  const isStill = pages.every(
    (facts, index) =>
      facts.page === first.page + index &&
      facts.size === first.size &&
      facts.total === first.total &&
      facts.times.length === facts.listed,
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
  // Totals may lag, and a page may come short: the list ends only where both say so.
  const isEnd = last.listed < last.size && last.page * last.size >= first.total;
  const end = isEnd ? null : tail;
  return isNewestFirst ? { after: end, before: start } : { after: start, before: end };
}

type PageRange = { low: number; high: number };

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

function surplusOf({ ledgerCount, serviceTotal }: ListState): number {
  return ledgerCount - (serviceTotal ?? ledgerCount);
}
