import type { ListOrder } from '../../kernel/vocabulary.ts';
/**
 * Finds rows that arrived anywhere but at the end where the list grows. On an ordered list the row at a place must be
 * the ledger's row of that rank. So bisection finds a missing row, with about log2(pages) requests.
 *
 * Ranks count from the old side, which arrivals at the new side do not move. If whole pages have one time, a rank is
 * only a range. Then the search may end beside the missing row, and the caller runs a full scan.
 */
import type { ListSession } from './list-session.ts';
import { isOrdered, lastPage, missingRows, type PageFacts, rankProbe } from './list-state.ts';
import { readOrEnd } from './refused-page.ts';

/** Upper bound of the missing rows; above it a full scan is cheaper than searching each. */
const searchedRowsMax = 32;
/** Number of scans whose cost a search for missing rows may have; the rows that it finds are worth its requests. */
const scansWorth = 2;

/** Searches missing rows. Returns true if the counts agree afterwards. */
export async function searchList<P extends PageFacts>(session: ListSession<P>): Promise<boolean> {
  const { ranks } = session.port;
  const { state } = session;
  if (ranks === null || !isOrdered(state) || state.acceptedDifference !== 0) return false;
  for (let left = searchedRowsMax; left > 0; left -= 1) {
    const before = missingRows(session.state);
    const pages = lastPage(session.state);
    const searchCost = before * (Math.log2(pages) + 2);
    if (!(before > 0) || before > searchedRowsMax || searchCost > scansWorth * pages)
      return before === 0;
    await searchOne(session, ranks.countUntil);
    const after = missingRows(session.state);
    if (after === 0) return true;
    if (after >= before) return false;
  }
  return false;
}

async function searchOne<P extends PageFacts>(
  session: ListSession<P>,
  countUntil: (time: number) => Promise<number>,
): Promise<void> {
  const missingBefore = missingRows(session.state);
  let range = { low: 1, high: lastPage(session.state) };
  let lastRead = 0;
  while (range.low < range.high) {
    const { listOrder } = session.state;
    lastRead = middleOf(range, listOrder);
    const facts = await readOrEnd(session, lastRead);
    if (facts.listed > 0) await session.store([facts]);
    const probe = rankProbe(facts, session.state);
    // The row is found, or the page has shown that ranks mean nothing here.
    if (missingRows(session.state) < missingBefore || probe === null) return;
    const isGapOnOldSide = probe.rowsNotNewer > (await countUntil(probe.time));
    range = halve(range, lastRead, listOrder, isGapOnOldSide);
  }
  if (lastRead !== range.low) {
    const facts = await readOrEnd(session, range.low);
    if (facts.listed > 0) await session.store([facts]);
  }
}

type PageRange = { low: number; high: number };

/**
 * Halves the range. The missing row is on the largest page (oldest first: the smallest) with too many rows on its old
 * side.
 */
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
