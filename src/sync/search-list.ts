/**
 * Finds rows that came in behind the list's growing end. On an ordered list the row at a place must be the
 * ledger's row of that rank, so a gap is searched by halving instead of walked: about log2(pages) requests each.
 *
 * Ranks count from the old side, which arrivals at the new side do not move. Where whole pages are of one time a
 * rank is only a range; the search then may end beside the gap, and the caller walks.
 */
import { isOrdered, type ListOrder, lastPage, missing, rankMark } from './list-memory.ts';
import type { ListReader } from './list-port.ts';

/** Above this many missing rows a walk is cheaper than searching each. */
const searchedRowsMax = 32;

/** True when the counts agree afterwards. */
export async function searchList(reader: ListReader): Promise<boolean> {
  const { memory, port } = reader;
  if (port.ranks === null || !isOrdered(memory) || (memory.checkpoint.gap ?? 0) !== 0) return false;
  for (let left = searchedRowsMax; left > 0; left -= 1) {
    const before = missing(memory);
    const searchCost = before * (Math.log2(lastPage(memory)) + 2);
    if (!(before > 0) || before > searchedRowsMax || searchCost > lastPage(memory))
      return before === 0;
    await searchOne(reader, port.ranks.countUntil);
    if (missing(memory) === 0) return true;
    if (missing(memory) >= before) return false;
  }
  return false;
}

async function searchOne(
  reader: ListReader,
  countUntil: (time: number) => Promise<number>,
): Promise<void> {
  const { memory } = reader;
  const missingBefore = missing(memory);
  let range = { low: 1, high: lastPage(memory) };
  let lastRead = 0;
  while (range.low < range.high) {
    lastRead = middleOf(range, memory.listOrder);
    const facts = await reader.read(lastRead);
    if (facts.listed > 0) await reader.store([facts]);
    const mark = rankMark(facts, memory);
    // Found, or the page has shown that ranks mean nothing here.
    if (missing(memory) < missingBefore || mark === null) return;
    const isGapOnOldSide = mark.rowsOnOldSide > (await countUntil(mark.time));
    range = halve(range, lastRead, memory.listOrder, isGapOnOldSide);
  }
  if (lastRead !== range.low) {
    const facts = await reader.read(range.low);
    if (facts.listed > 0) await reader.store([facts]);
  }
}

type PageRange = { low: number; high: number };

/** Newest first, the gap is on the largest page with too many rows on its old side; oldest first, on the smallest. */
function halve(
  range: PageRange,
  page: number,
  order: ListOrder | null,
  isGapOnOldSide: boolean,
): PageRange {
  if (order === 'newest-first')
    return isGapOnOldSide ? { ...range, low: page } : { ...range, high: page - 1 };
  return isGapOnOldSide ? { ...range, high: page } : { ...range, low: page + 1 };
}

function middleOf(range: PageRange, order: ListOrder | null): number {
  const middle = (range.low + range.high) / 2;
  return order === 'newest-first' ? Math.ceil(middle) : Math.floor(middle);
}
