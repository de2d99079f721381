/**
 * Answers for a page that had to be divided, as long as its rows stay together: one request shows that nothing has
 * moved. On page 1 a second one reads the rows that have arrived, and the known rows, the bad ones among them, move
 * down behind these.
 */
import { LedgerError } from '../../kernel/errors.ts';
import type { Page } from '../../kernel/wallet-records.ts';
import { anchorOf, assemblePage, type ReadPart } from './assemble-page.ts';
import { pageFailure } from './divide-page.ts';
import type { DividedPage, DivisionMemory } from './division-memory.ts';
import type { ListSource } from './list-source.ts';

/** Number of requests that look for the first known row after new ones. Rows may arrive between two of them. */
const looksMax = 4;
/** Factor by which a look grows where no total shows how many rows have arrived. */
const growth = 4;

type Place = { page: number; size: number };

/** Returns the present content of the page; null if it was not divided before, or has to be divided again. */
export async function recallPage<T>(
  source: ListSource<T>,
  { page, size }: Place,
  { signal, memory }: { signal: AbortSignal; memory: DivisionMemory<T> },
): Promise<Page<T> | null> {
  const known = memory.recall(page, size);
  if (!known) return null;
  if (known.anchor.place > 0) return await unmoved(source, known, signal);
  const arrived = await readArrived(source, known, size, signal);
  if (arrived === null || arrived.listed === 0) return arrived && known.content;
  const moved = moveDown(source, known, { page, size }, arrived);
  if (moved !== null) memory.move(page, size, moved);
  return moved && moved.content;
}

/** Checks with one request for one row that the list is unchanged since the page was divided. */
async function unmoved<T>(
  source: ListSource<T>,
  { content, anchor }: DividedPage<T>,
  signal: AbortSignal,
): Promise<Page<T> | null> {
  const answer = await source.readPage(anchor.place + 1, 1, signal, 1).catch(pageFailure);
  if (answer instanceof LedgerError) return null;
  const [record] = answer.records;
  const isSameRow = record !== undefined && source.keyOf(record) === anchor.key;
  return isSameRow && answer.listed === 1 && answer.totalSize === content.totalSize
    ? content
    : null;
}

/**
 * Returns the rows above the one that was first, as a separate page. Returns null if they cannot be read, if that row
 * is not found, or if the total has not grown by their number.
 */
async function readArrived<T>(
  source: ListSource<T>,
  { content, anchor }: DividedPage<T>,
  size: number,
  signal: AbortSignal,
): Promise<Page<T> | null> {
  let look = 1;
  for (let looks = 1; looks <= looksMax && look <= size; looks += 1) {
    const answer = await source.readPage(1, look, signal, 1).catch(pageFailure);
    if (answer instanceof LedgerError || !isWhole(answer, look)) return null;
    const arrived = answer.records.findIndex((record) => source.keyOf(record) === anchor.key);
    const grown = growthOf(answer, content);
    if (arrived < 0) look = nextLook(look, grown);
    else if (grown !== null && grown !== arrived) return null;
    else return { ...answer, listed: arrived, records: answer.records.slice(0, arrived) };
  }
  return null;
}

/** Returns the number of rows to request next. It exceeds any page if the total says that this look was long enough. */
function nextLook(look: number, grown: number | null): number {
  if (grown === null) return look * growth;
  return grown < look ? Number.POSITIVE_INFINITY : grown + 1;
}

/** Returns true if the answer shows the list's first rows, each with a usable key and nothing to reject. */
function isWhole({ pageNo, listed, records, rejects }: Page<unknown>, size: number): boolean {
  const isFirst = pageNo === null || pageNo === 1;
  return isFirst && listed <= size && listed === records.length && rejects.length === 0;
}

/** Returns the number of rows by which the list has grown. Null: it has no total, or had none before. */
function growthOf(now: Page<unknown>, before: Page<unknown>): number | null {
  if (now.totalSize === null && before.totalSize === null) return null;
  return (now.totalSize ?? Number.NaN) - (before.totalSize ?? Number.NaN);
}

/** Puts the new rows above the known ones; null if the page then ends within a part that cannot be cut. */
function moveDown<T>(
  source: ListSource<T>,
  known: DividedPage<T>,
  { page, size }: Place,
  arrived: Page<T>,
): DividedPage<T> | null {
  const read: ReadPart<T>[] = [{ place: 0, content: arrived }];
  for (const part of known.read) {
    const place = part.place + arrived.listed;
    const content = cut(part.content, size - place);
    if (content === null) return null;
    if (content.listed > 0) read.push({ place, content });
  }
  const bad = known.bad
    .map((row) => ({ ...row, place: row.place + arrived.listed }))
    .filter(({ place }) => place < size);
  const divided = { source, page, size, read, bad };
  const anchor = anchorOf(divided);
  const content = { ...assemblePage(divided), totalSize: arrived.totalSize };
  return anchor && { content, anchor, read, bad };
}

/**
 * Returns the first `rows` rows of a part; null if it has rejects, because a reject does not show which row it belongs
 * to.
 */
function cut<T>(content: Page<T>, rows: number): Page<T> | null {
  if (content.listed <= rows) return content;
  if (rows <= 0) return { ...content, listed: 0, records: [], rejects: [] };
  if (content.rejects.length > 0 || content.listed !== content.records.length) return null;
  return { ...content, listed: rows, records: content.records.slice(0, rows) };
}
