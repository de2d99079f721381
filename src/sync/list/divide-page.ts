/**
 * Reads a page that cannot be read in one request as several smaller pages, down to the unreadable row. The smaller
 * sizes divide the page's size, so that their grids fit into it:
 *
 *   100 ✗ ─▶ 50 ✗ ─▶ 25 ✓
 *         │       └▶ 25 ✗ ─▶ 5 ✓ 5 ✓ 5 ✗ ─▶ 1 ✓ 1 ✓ 1 ✗ (a reject) 1 ✓ 1 ✓
 *         └▶ 50 ✓           └▶ 5 ✓ 5 ✓
 *
 * Parts are read upward, one after another. Rows that arrive during the division move to higher places, so the division
 * may repeat rows but skips none.
 */
import { isOfRequest, LedgerError } from '../../kernel/errors.ts';
import type { Page } from '../../kernel/wallet-records.ts';
import { anchorOf, assemblePage, type BadRow, type ReadPart, rowTextOf } from './assemble-page.ts';
import type { DivisionMemory } from './division-memory.ts';
import type { ListSource } from './list-source.ts';

/** Part of the page; `place` counts from 0 at the list's first row. */
type Part = { place: number; size: number };

type Division<T> = {
  source: ListSource<T>;
  page: number;
  size: number;
  signal: AbortSignal;
  memory: DivisionMemory<T>;
  read: ReadPart<T>[];
  bad: BadRow[];
  calls: number;
  /** Part of the list is known to be readable. */
  hasEvidence: boolean;
  hasEnded: boolean;
};

/**
 * Ends a division that cannot help: nothing is readable, the service serves pages of another size than requested, or
 * the requests are used up.
 */
class GivenUp extends Error {
  /** Page size of the service, if it is smaller than the requested part; otherwise null. */
  readonly servedSize: number | null;

  constructor(servedSize: number | null = null) {
    super('the page cannot be divided');
    this.servedSize = servedSize;
  }
}

/** Number of further requests for an unreadable row before it counts as bad, and failures allowed per request. */
const confirmations = 3;
const confirmationAttempts = 3;

/** Number of bad rows, with no readable row before, after which rows all over the page are tried first. */
const badAtStart = 3;
/** Number of these rows. */
const samples = 10;

/**
 * Returns the page without its bad rows, which become rejects; null if smaller pages do not help. `servedSize`: rows
 * per page that the service really serves, if fewer than `size`. Throws failures that no smaller page can avoid.
 */
export async function dividePage<T>(
  source: ListSource<T>,
  { page, size }: { page: number; size: number },
  { signal, memory }: { signal: AbortSignal; memory: DivisionMemory<T> },
): Promise<Page<T> | { servedSize: number } | null> {
  const division: Division<T> = {
    ...{ source, page, size, signal, memory },
    ...{ read: [], bad: [], calls: 0, hasEvidence: false, hasEnded: false },
  };
  try {
    await readParts(division, { place: (page - 1) * size, size }, primeFactors(size));
  } catch (error) {
    if (!(error instanceof GivenUp)) throw error;
    return error.servedSize === null ? null : { servedSize: error.servedSize };
  }
  if (division.read.length === 0) return null;
  const content = assemblePage(division);
  const anchor = anchorOf(division);
  const { read, bad } = division;
  if (anchor) memory.remember(page, size, { content, anchor, read, bad });
  return content;
}

/** Returns the failure if the page, its size or a row in it may be the cause. Rethrows any other. */
export function pageFailure(error: unknown): LedgerError {
  if (isOfRequest(error)) return error;
  throw error;
}

/** Returns true if the service answers a request for a single row of the page, or for one near it, in some way. */
export async function isServiceAnswering<T>(
  source: ListSource<T>,
  { page, size }: { page: number; size: number },
  signal: AbortSignal,
): Promise<boolean> {
  for (const pageNo of [(page - 1) * size + 1, ...placesNear(page, size)]) {
    const answer = await source.readPage(pageNo, 1, signal, 1).catch(pageFailure);
    if (!(answer instanceof LedgerError && answer.isAnswered)) return true;
  }
  return false;
}

/** Returns page numbers, in pages of one row, near the end of the page and within it. */
function placesNear(page: number, size: number): number[] {
  return [page * size, page * size - Math.floor(size / 2), page * size + 1];
}

async function readParts<T>(
  division: Division<T>,
  whole: Part,
  [factor = 1, ...factors]: number[],
): Promise<void> {
  const size = whole.size / factor;
  for (let index = 0; index < factor && !division.hasEnded; index += 1) {
    await readPart(division, { place: whole.place + index * size, size }, factors);
  }
}

async function readPart<T>(division: Division<T>, part: Part, factors: number[]): Promise<void> {
  const answer = await ask(division, part, 1);
  if (!(answer instanceof LedgerError)) take(division, part, answer);
  else if (part.size > 1) await readParts(division, part, factors);
  else await confirm(division, part, answer);
}

/** Sends one request, within the upper bound of requests per division. */
async function ask<T>(
  division: Division<T>,
  part: Part,
  failuresMax: number,
): Promise<Page<T> | LedgerError> {
  const { source, size, signal } = division;
  if (division.calls > 2 * size + 20) throw new GivenUp();
  division.calls += 1;
  const answer = await source
    .readPage(part.place / part.size + 1, part.size, signal, failuresMax)
    .catch(pageFailure);
  return isListless(answer) && !hasRows(division) ? listless() : answer;
}

function isListless(answer: Page<unknown> | LedgerError): boolean {
  return !(answer instanceof LedgerError) && answer.isListless === true;
}

function listless(): LedgerError {
  return new LedgerError('service-malformed', 'a page without a list');
}

/**
 * Checks that some row of the list, or a page after its end, is readable. A fault of the whole service shows in every
 * answer, so this check comes before any row counts as bad.
 */
async function isAnythingReadable<T>({ source, page, size, signal }: Division<T>) {
  for (const pageNo of placesNear(page, size)) {
    const answer = await source.readPage(pageNo, 1, signal, 1).catch(pageFailure);
    if (!(answer instanceof LedgerError || isListless(answer))) return true;
  }
  return false;
}

function take<T>(division: Division<T>, part: Part, content: Page<T>): void {
  const { listed, totalSize, pageNo, pageSize } = content;
  const isAtEnd = totalSize === null || part.place + listed >= totalSize;
  const isOther = pageNo !== null && listed > 0 && pageNo !== part.place / part.size + 1;
  const isShort = listed < part.size && !isAtEnd && pageSize !== part.size;
  // The service serves pages of another size than requested, so the places of these rows are unknown.
  if (listed > part.size || isOther || isShort) {
    const isSmaller = isShort && !isOther && listed > 0 && pageSize < part.size;
    throw new GivenUp(isSmaller ? pageSize : null);
  }
  division.hasEvidence = true;
  division.read.push({ place: part.place, content });
  division.hasEnded = listed < part.size && isAtEnd;
}

/** Counts a row as bad only if it stays unreadable: a transient fault must not reject a good row. */
async function confirm<T>(division: Division<T>, part: Part, failure: LedgerError): Promise<void> {
  const { memory, bad } = division;
  division.hasEvidence ||= await isAnythingReadable(division);
  if (!division.hasEvidence) throw new GivenUp();
  let last = failure;
  for (let times = 0; times < confirmations && !isKnown(division, last); times += 1) {
    const answer = await ask(division, part, confirmationAttempts);
    if (!(answer instanceof LedgerError)) {
      // This text also came instead of a good row, so it may come instead of others too.
      const text = rowTextOf(last);
      if (text !== null) memory.refute(text);
      return take(division, part, answer);
    }
    last = answer;
  }
  const text = rowTextOf(last);
  if (text !== null) memory.confirm(text);
  bad.push({ place: part.place, failure: last });
  if (bad.length === badAtStart && !hasRows(division) && !(await isSomeRowReadable(division)))
    throw new GivenUp();
}

function hasRows<T>({ read }: Division<T>): boolean {
  return read.some(({ content }) => content.listed > 0);
}

/** Returns true if one of some rows all over the page is readable, or if the page has few rows to request. */
async function isSomeRowReadable<T>({ source, page, size, signal }: Division<T>): Promise<boolean> {
  if (size <= badAtStart + samples) return true;
  for (let sample = 1; sample <= samples; sample += 1) {
    const pageNo = (page - 1) * size + Math.ceil((sample * size) / samples);
    const answer = await source.readPage(pageNo, 1, signal, 1).catch(pageFailure);
    if (!(answer instanceof LedgerError) && answer.listed > 0) return true;
  }
  return false;
}

/**
 * Returns true if the row with this text is already confirmed as bad. A text that came instead of two rows of the page
 * belongs to neither.
 */
function isKnown<T>({ memory, bad }: Division<T>, failure: LedgerError): boolean {
  const text = rowTextOf(failure);
  if (text === null || bad.some((row) => rowTextOf(row.failure) === text)) return false;
  return memory.isConfirmed(text);
}

/** Returns the prime factors, smallest first; none for 1. */
function primeFactors(size: number): number[] {
  const factors: number[] = [];
  let rest = size;
  for (let factor = 2; factor <= rest; ) {
    if (rest % factor !== 0) factor += 1;
    else {
      factors.push(factor);
      rest /= factor;
    }
  }
  return factors;
}
