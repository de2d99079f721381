import { type ListMemory, lastPage, missing, type PageFacts, pagesFor } from './list-memory.ts';
import type { ListReader } from './list-port.ts';

/** Pages without a new row after which a poll without proof believes that it has seen all new rows. */
const lookBackPages = 3;
/** Rows that arrive while the head is read are fetched by reading it again; beyond this the next pass does it. */
const headRoundsMax = 5;

/**
 * Reads the list's growing end until the counts agree. True: they do. False: what is missing is not at the end.
 * An unordered list is tried at both ends.
 */
export async function pollList(reader: ListReader): Promise<boolean> {
  const { memory } = reader;
  const { ledgerCount } = memory;
  if (memory.listOrder !== 'oldest-first') {
    if (await pollHead(reader)) return true;
    // The page itself may have shown another order than the one remembered.
    if (memory.listOrder === 'newest-first') return false;
  }
  const grewAtHead = memory.ledgerCount > ledgerCount;
  const isSettled = await pollTail(reader);
  if (!grewAtHead) learnFromTail(reader, memory.ledgerCount > ledgerCount);
  return isSettled;
}

/** Without times only the place where rows come in tells the order. */
function learnFromTail({ memory, port }: ListReader, hasGrown: boolean): void {
  if (port.ranks !== null || memory.isOrderFixed) return;
  if (hasGrown) memory.listOrder = 'oldest-first';
  else if (missing(memory) > 0) memory.listOrder = null;
}

/** New rows at the list's start: page 1 upward, and again for those that arrived meanwhile. */
async function pollHead(reader: ListReader): Promise<boolean> {
  for (let round = 1; round <= headRoundsMax; round += 1) {
    const outcome = await pollHeadOnce(reader);
    if (outcome !== 'grew') return outcome === 'settled';
  }
  return false;
}

function hasGrown(memory: ListMemory, totalBefore: number | null): boolean {
  return (memory.serviceTotal ?? 0) > (totalBefore ?? 0);
}

async function pollHeadOnce(reader: ListReader): Promise<'settled' | 'grew' | 'exhausted'> {
  const { memory } = reader;
  let barrenPages = 0;
  let firstTotal: number | null = null;
  for (let page = 1; ; page += 1) {
    const facts = await reader.read(page, page === 1 ? 1 : Math.max(page, newPages(memory)));
    firstTotal ??= memory.serviceTotal;
    const inserted = await storeRows(reader, facts);
    if (missing(memory) === 0) return 'settled';
    barrenPages = inserted === 0 ? barrenPages + 1 : 0;
    if (facts.listed > 0 && !isHeadPassed(memory, page, barrenPages)) continue;
    return hasGrown(memory, firstTotal) ? 'grew' : 'exhausted';
  }
}

/** New rows at the list's end: from the page where the known rows end, upward. */
async function pollTail(reader: ListReader): Promise<boolean> {
  const { memory } = reader;
  const start = pagesFor(memory.checkpoint.settledTotal, memory);
  for (let page = start; ; page += 1) {
    const facts = await reader.read(page, page === start ? page : lastPage(memory));
    const inserted = await storeRows(reader, facts);
    if (missing(memory) === 0) return true;
    // A full page may have others behind it that the total does not count yet.
    const isLast = page >= lastPage(memory) && (facts.listed < facts.size || inserted === 0);
    const isEnd = facts.listed === 0 || isLast;
    if (isEnd || isStandingUnease(memory)) return false;
  }
}

async function storeRows(reader: ListReader, facts: PageFacts): Promise<number> {
  return facts.listed === 0 ? 0 : reader.store([facts]);
}

function isHeadPassed(memory: ListMemory, page: number, barrenPages: number): boolean {
  const barrenPagesMax = missing(memory) > 0 ? 1 : lookBackPages;
  // From here on an unfinished walk goes on.
  const { nextPage } = memory.checkpoint.walk ?? { nextPage: Number.POSITIVE_INFINITY };
  return (
    isStandingUnease(memory) ||
    page >= lastPage(memory) ||
    page + 1 >= nextPage ||
    (page >= newPages(memory) && barrenPages >= barrenPagesMax)
  );
}

/** Pages that the rows come since the counts last agreed, or the walk began, would fill if all stood at the start. */
function newPages(memory: ListMemory): number {
  if (memory.listOrder !== 'newest-first') return 1;
  const { walk, settledTotal } = memory.checkpoint;
  const known = walk === null ? settledTotal : (walk.startTotal ?? 0);
  return pagesFor((memory.serviceTotal ?? 0) - known, memory);
}

/** The same disagreement as at the end of the last pass: there is nothing new to look for. */
export function isStandingUnease(memory: ListMemory): boolean {
  const { unease } = memory.checkpoint;
  return unease?.total === memory.serviceTotal && unease.count === memory.ledgerCount;
}
