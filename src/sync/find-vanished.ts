/**
 * Finds rows that the ledger holds and an ordered list no longer shows. Pages that follow one another cover a
 * stretch of time; what the ledger lists within it and no page shows has vanished. Pages move while they are read,
 * so they are read twice: two readings with the same rows and totals are one picture of the list.
 */
import {
  isOrdered,
  type ListMemory,
  lastPage,
  missing,
  type PageFacts,
  pagesFor,
  rankMark,
} from './list-memory.ts';
import type { ListReader, Span } from './list-port.ts';

/** Above this many vanished rows a pass does not search each; the audit comes by all of them. */
const searchedRowsMax = 32;
/** A list of so few pages is looked at as a whole. */
const wholeListPages = 4;

/** Searches rows that the service no longer counts. True when the counts agree afterwards. */
export async function searchVanished(reader: ListReader): Promise<boolean> {
  const { memory } = reader;
  if (reader.port.ranks === null || memory.checkpoint.gap !== 0) return false;
  while (missing(memory) < 0) {
    if (-missing(memory) > searchedRowsMax || !isOrdered(memory)) return false;
    const range = await narrow(reader, reader.port.ranks.countUntil);
    if (range.high - range.low > wholeListPages) return false;
    if ((await unlistVanished(reader, await collect(reader, range))) === 0) return false;
  }
  return missing(memory) === 0;
}

/**
 * Takes pages read one after another, marks as unlisted what they show to have vanished, and returns how many
 * rows that were. Pages that moved since are worth nothing: the next look tells.
 */
export async function unlistVanished(reader: ListReader, pages: PageFacts[]): Promise<number> {
  const { memory, port } = reader;
  const span = coveredSpan(pages, memory);
  if (span === null || port.ranks === null) return 0;
  const unmet = await port.ranks.unmet(pages, span);
  // More than the counts bear out: something else is wrong with the list.
  if (unmet.length === 0 || unmet.length > surplusOf(memory)) return 0;
  const range = { low: pages[0]?.page ?? 1, high: pages.at(-1)?.page ?? 1 };
  if (!isSamePicture(pages, await collect(reader, range))) return 0;
  await reader.unlist(unmet);
  return unmet.length;
}

/**
 * The time that pages cover without a hole: from the first row's to the last row's, both excluded because other
 * rows of these times may lie beyond; without end where the list ends. Null where the pages do not follow one
 * another in time, or not all of their rows can be read.
 */
function coveredSpan(pages: PageFacts[], memory: ListMemory): Span | null {
  const [first] = pages;
  const last = pages.at(-1);
  if (!first || !last || first.total === null || !isOrdered(memory)) return null;
  const isNewestFirst = memory.listOrder === 'newest-first';
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
async function narrow(
  reader: ListReader,
  countUntil: (time: number) => Promise<number>,
): Promise<PageRange> {
  const { memory } = reader;
  let range = { low: 1, high: lastPage(memory) };
  const isShort = range.high <= wholeListPages;
  while (range.high - range.low > 1 && !isShort) {
    const middle = Math.floor((range.low + range.high) / 2);
    const facts = await reader.read(middle);
    if (facts.listed > 0) await reader.store([facts]);
    const mark = rankMark(facts, memory);
    if (mark === null) break;
    const isOnOldSide = (await countUntil(mark.time)) > mark.rowsOnOldSide;
    const isAbove = isOnOldSide === (memory.listOrder === 'newest-first');
    range = isAbove ? { ...range, low: middle } : { ...range, high: middle };
  }
  const end = pagesFor((memory.serviceTotal ?? 0) + 1, memory);
  return range.high === lastPage(memory) ? { ...range, high: end } : range;
}

async function collect(reader: ListReader, { low, high }: PageRange): Promise<PageFacts[]> {
  const pages: PageFacts[] = [];
  for (let page = low; page <= high; page += 1) {
    pages.push(await reader.read(page, page, true));
  }
  return pages;
}

function isSamePicture(first: PageFacts[], second: PageFacts[]): boolean {
  return first.every(
    ({ fingerprint, total }, index) =>
      fingerprint === second[index]?.fingerprint && total === second[index]?.total,
  );
}

function surplusOf(memory: ListMemory): number {
  return memory.ledgerCount - (memory.serviceTotal ?? memory.ledgerCount);
}
