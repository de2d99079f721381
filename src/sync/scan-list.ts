/**
 * A full scan reads the whole list, page 1 upward. Whatever is inserted meanwhile, wherever: rows only move to higher
 * pages, so a scan that reads each page after the one before it meets every row that was there throughout.
 * Pages fetched ahead keep that promise because the session asks again for one that was overtaken.
 *
 *            ┌───────── rewind: rows have been removed, those behind moved up
 *            ▼
 *   start ▶ read page ─▶ next ─▶ … ─▶ end: an empty page, or a page that ends just at the total
 *                 └─▶ realign: the page size changed, go on at the same place
 */
import { LedgerError } from '../kernel/errors.ts';
import { quietly } from '../kernel/quietly.ts';
import { afterStep, decideScanStep, type PageBefore } from './decide-scan-step.ts';
import { newWalk, type WalkProgress } from './list-checkpoint.ts';
import type { ListSession } from './list-session.ts';
import {
  isOrdered,
  type ListState,
  lastPage,
  orderOf,
  type PageFacts,
  withCheckpoint,
} from './list-state.ts';
import {
  beginReading,
  endReading,
  isReadingInOrder,
  joinDays,
  type ReadDays,
  readOn,
} from './read-days.ts';

/** One page shown twice may be chance where totals lag; twice in a row is a service that ignores the page number. */
const repeatsMax = 2;
/** The reading of days after a page; a reading that was broken once stays broken. */
function readDaysOn(
  state: ListState,
  walk: WalkProgress,
  facts: PageFacts,
): { walk: WalkProgress; days: ReadDays | null } {
  if (facts.listed === 0) return { walk, days: null };
  // Rows that the ledger counts in another list would make each day differ.
  if (state.guests > 0) return { walk: { ...walk, reading: null }, days: null };
  const begun = walk.reading ?? (facts.page === 1 ? beginReading(facts, state.listOrder) : null);
  if (begun === null || !isReadingInOrder(begun, state.listOrder))
    return { walk: { ...walk, reading: null }, days: null };
  const { reading, days } = readOn(begun, facts);
  return { walk: { ...walk, reading }, days };
}

/** What a scan carries from page to page; lost with the process, unlike its progress. */
type Cursor<P> = PageBefore & {
  batch: P[];
  days: ReadDays | null;
  isFresh: boolean;
  isEnd: boolean;
  /** The page that shows once more that the service ignores its number. */
  ignoredPage: number | null;
};

export type ScanResult = {
  isPaused: boolean;
  /** The progress at its end, or at the pause. */
  walk: WalkProgress;
};

/**
 * Scans from the checkpoint, or from page 1, storing checkpoints on the way. The verdict on it is the caller's.
 * `hadMismatch`: what a clean scan leaves of the mismatch, the list does not show.
 */
export async function scanList<P extends PageFacts>(
  session: ListSession<P>,
  begin: { isSequential: boolean; hadMismatch: boolean },
): Promise<ScanResult> {
  if (session.state.checkpoint.walk === null) await beginScan(session, begin);
  const cursor: Cursor<P> = {
    batch: [],
    days: null,
    previousFingerprint: null,
    repeats: 0,
    isFresh: true,
    isEnd: false,
    ignoredPage: null,
  };
  const writer = createWriter();
  try {
    for (;;) {
      const walk = await takePage(session, cursor);
      const { isEnd } = cursor;
      if (!isEnd && !session.port.isBatchFull(rowsIn(cursor.batch))) continue;
      await writer.add(session.prepare({ pages: cursor.batch.splice(0), days: takeDays(cursor) }));
      if (!isEnd && !session.port.shouldPause()) continue;
      await writer.end();
      if (cursor.ignoredPage !== null) throw pageIgnored(cursor.ignoredPage);
      return { isPaused: !isEnd, walk };
    }
  } finally {
    await writer.end().catch(() => undefined);
  }
}

function takeDays<P>(cursor: Cursor<P>): ReadDays | null {
  const { days } = cursor;
  cursor.days = null;
  return days;
}

/** One batch is written, one waits for the database, and the next one is read and made ready. */
function createWriter() {
  let writing: Promise<unknown> = Promise.resolve();
  let writingBefore = writing;
  return {
    async add(write: () => Promise<unknown>): Promise<void> {
      await writingBefore;
      writingBefore = writing;
      writing = quietly(writing.then(write));
    },
    end: () => writing,
  };
}

async function beginScan<P extends PageFacts>(
  session: ListSession<P>,
  { isSequential, hadMismatch }: { isSequential: boolean; hadMismatch: boolean },
): Promise<void> {
  const { state, port } = session;
  const isFromEmpty = state.ledgerCount === 0 && state.guests === 0;
  const canReadDays = isOrdered(state) && port.ranks !== null;
  const { isScanUnclean, unseen, differingDays } = state.checkpoint;
  // Reading by days has failed: the list may not follow the times of its rows.
  const hasFailed = isScanUnclean || unseen.length > 0 || differingDays.length > 0;
  const notesKeys = !isFromEmpty && (!canReadDays || state.guests > 0 || hasFailed);
  if (notesKeys && !state.checkpoint.isShuffled) await port.notes.begin();
  const fallenBefore = state.checkpoint.fallen;
  const hadDifferingDays = differingDays.length > 0;
  const kind = { isSequential, notesKeys, isFromEmpty, hadMismatch, hadDifferingDays };
  const walk = newWalk({ ...kind, fallenBefore });
  session.apply(withCheckpoint(state, { walk, differingDays: [] }));
}

/** Reads the next page and takes it into the batch, the days and the progress. */
async function takePage<P extends PageFacts>(
  session: ListSession<P>,
  cursor: Cursor<P>,
): Promise<WalkProgress> {
  const { walk } = session.state.checkpoint;
  if (walk === null) throw new Error('a page of a scan was asked for before it had begun');
  const facts = await session.read(walk.nextPage, upTo(session.state, walk), cursor.isFresh);
  const step = decideScanStep(walk, facts, lastPage(session.state), cursor);
  cursor.repeats = step.kind === 'repeat' ? cursor.repeats + 1 : 0;
  if (cursor.repeats >= repeatsMax) return giveUp(session, cursor, { walk, page: facts.page });
  cursor.isFresh = step.kind !== 'next';
  const isNext = step.kind === 'next' || step.kind === 'repeat';
  cursor.previousFingerprint = isNext ? facts.fingerprint : null;
  cursor.batch.push(facts);
  const stepped = afterStep(walk, facts, step);
  // Where the scan goes back, the rows are read again after those that moved up, in the list's order.
  const read =
    'toPage' in step ? { walk: stepped, days: null } : readDaysOn(session.state, stepped, facts);
  cursor.isEnd = step.kind === 'end';
  cursor.days = joinDays(cursor.days, read.days);
  const { reading } = read.walk;
  if (cursor.isEnd && reading) cursor.days = joinDays(cursor.days, endReading(reading));
  session.apply(withCheckpoint(session.state, { walk: read.walk }));
  return read.walk;
}

/** Ends the scan so that the next one begins anew: it may have gone astray by its own idea of the page size. */
function giveUp<P extends PageFacts>(
  session: ListSession<P>,
  cursor: Cursor<P>,
  { walk, page }: { walk: WalkProgress; page: number },
): WalkProgress {
  cursor.isEnd = true;
  cursor.ignoredPage = page;
  const isScanUnclean = session.state.checkpoint.walks > 0;
  session.apply(withCheckpoint(session.state, { walk: null, isScanUnclean }));
  return walk;
}

/**
 * How far pages may be asked for as pages of the list. Beyond it a refusal means its end; but behind a full page the
 * list may go on, unless the total ends just there.
 */
function upTo(state: ListState, walk: WalkProgress): number {
  const last = lastPage(state);
  const isTotalReached = (walk.nextPage - 1) * (walk.pageSize ?? 0) === state.serviceTotal;
  const atLeast = walk.isLastFull && !isTotalReached ? walk.nextPage : 0;
  return Math.max(atLeast, walk.isSequential ? Math.min(walk.nextPage, last) : last);
}

function rowsIn(batch: PageFacts[]): number {
  return batch.reduce((rows, facts) => rows + facts.listed, 0);
}

function pageIgnored(page: number): LedgerError {
  return new LedgerError(
    'service-parameters',
    `page ${page} of the list holds the same rows as the page before it: the service seems to ignore the name of the page parameter`,
  );
}

/** The order as a whole scan shows it. */
export function orderAfterScan(state: ListState, walk: WalkProgress): ListState {
  if (state.isOrderFixed) return state;
  return { ...state, listOrder: orderOf(walk) ?? state.listOrder };
}
