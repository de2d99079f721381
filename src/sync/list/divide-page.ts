/**
 * Reads a page that cannot be read as a whole in smaller pages, until only the bad row is left. The
 * smaller sizes divide the page's size, so that their grids fit into it:
 *
 *   100 ✗ ─▶ 50 ✗ ─▶ 25 ✓
 *         │       └▶ 25 ✗ ─▶ 5 ✓ 5 ✓ 5 ✗ ─▶ 1 ✓ 1 ✓ 1 ✗ (a reject) 1 ✓ 1 ✓
 *         └▶ 50 ✓           └▶ 5 ✓ 5 ✓
 *
 * The parts are read upward one after another: rows that arrive meanwhile move to higher places and
 * are met again, never skipped.
 */
import { LedgerError } from '../../kernel/errors.ts';
import type { Page } from '../../kernel/wallet-records.ts';
import { anchorOf, assemblePage, type BadRow, type ReadPart, rowTextOf } from './assemble-page.ts';
import type { DividedPage, DivisionMemory } from './division-memory.ts';
import type { ListSource } from './list-source.ts';

/** A part of the page; `place` counts from 0 at the list's first row. */
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
  /** Whether anything of the list is known to be readable. */
  hasEvidence: boolean;
  hasEnded: boolean;
};

/**
 * Ends a division that makes no sense: nothing is readable, or the service serves pages of its own
 * size.
 */
class GivenUp extends Error {
  /** The size of the service's own, where it is smaller than the page. */
  readonly servedSize: number | null;

  constructor(servedSize: number | null = null) {
    super('the page cannot be divided');
    this.servedSize = servedSize;
  }
}

/** A row that is not known to be bad is asked for so many times more. */
const confirmations = 3;
const confirmationAttempts = 3;

/**
 * The page without its bad rows, which are rejects; null when smaller pages do not help.
 * `servedSize`: the pages are smaller than was thought.
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
  if (anchor) memory.remember(page, size, { content, anchor });
  return content;
}

/** Whether the list still is as it was when the page was divided: one request for one row. */
export async function isUnmoved<T>(
  source: ListSource<T>,
  { content, anchor }: DividedPage<T>,
  signal: AbortSignal,
): Promise<boolean> {
  const answer = await source.readPage(anchor.place + 1, 1, signal, 1).catch(pageFailure);
  if (answer instanceof LedgerError) return false;
  const [record] = answer.records;
  const isSameRow = record !== undefined && source.keyOf(record) === anchor.key;
  return isSameRow && answer.listed === 1 && answer.totalSize === content.totalSize;
}

/**
 * A failure that may be the fault of the page, of its size or of a row in it; any other is thrown
 * on.
 */
export function pageFailure(error: unknown): LedgerError {
  if (error instanceof LedgerError && pageFailures.has(error.code)) return error;
  throw error;
}

const pageFailures = new Set<string>(['service-malformed', 'service-refused', 'service-unsettled']);

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

/** One request, within what a division may cost. */
async function ask<T>(
  division: Division<T>,
  part: Part,
  failuresMax: number,
): Promise<Page<T> | LedgerError> {
  const { source, size, signal } = division;
  if (division.calls > 2 * size + 20) throw new GivenUp();
  division.calls += 1;
  return await source
    .readPage(part.place / part.size + 1, part.size, signal, failuresMax)
    .catch(pageFailure);
}

/**
 * Whether anything of this list is readable, a row or a page behind the end. A fault of the whole
 * service shows everywhere, before any row is called bad.
 */
async function isAnythingReadable<T>({ source, page, size, signal }: Division<T>) {
  const pages = [page * size, page * size - Math.floor(size / 2), page * size + 1];
  for (const pageNo of pages) {
    const answer = await source.readPage(pageNo, 1, signal, 1).catch(pageFailure);
    if (!(answer instanceof LedgerError)) return true;
  }
  return false;
}

function take<T>(division: Division<T>, part: Part, content: Page<T>): void {
  const { listed, totalSize, pageNo, pageSize } = content;
  const isAtEnd = totalSize === null || part.place + listed >= totalSize;
  const isOther = pageNo !== null && listed > 0 && pageNo !== part.place / part.size + 1;
  const isShort = listed < part.size && !isAtEnd && pageSize !== part.size;
  // The service serves sizes of its own, so nobody knows which rows these are.
  if (listed > part.size || isOther || isShort) {
    const isSmaller = isShort && !isOther && listed > 0 && pageSize < part.size;
    throw new GivenUp(isSmaller ? pageSize : null);
  }
  division.hasEvidence = true;
  division.read.push({ place: part.place, content });
  division.hasEnded = listed < part.size && isAtEnd;
}

/** A row is taken for bad only when it stays so: a fault on the way must not cost a good one. */
async function confirm<T>(division: Division<T>, part: Part, failure: LedgerError): Promise<void> {
  const { memory, bad } = division;
  division.hasEvidence ||= await isAnythingReadable(division);
  if (!division.hasEvidence) throw new GivenUp();
  let last = failure;
  for (let times = 0; times < confirmations && !isKnown(division, last); times += 1) {
    const answer = await ask(division, part, confirmationAttempts);
    if (!(answer instanceof LedgerError)) {
      // What a good row was hidden behind can hide others too.
      const text = rowTextOf(last);
      if (text !== null) memory.refute(text);
      return take(division, part, answer);
    }
    last = answer;
  }
  const text = rowTextOf(last);
  if (text !== null) memory.confirm(text);
  bad.push({ place: part.place, failure: last });
}

/** A text that another row of the page was answered with is no row's own. */
function isKnown<T>({ memory, bad }: Division<T>, failure: LedgerError): boolean {
  const text = rowTextOf(failure);
  if (text === null || bad.some((row) => rowTextOf(row.failure) === text)) return false;
  return memory.isConfirmed(text);
}

/** Smallest first; none for 1. */
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
