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
import { newWalk, type WalkProgress } from './list-checkpoint.ts';
import type { ListSession } from './list-session.ts';
import {
  isOrdered,
  type ListState,
  lastPage,
  orderOf,
  type PageFacts,
  timeSteps,
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

/** A list that loses rows, or changes its page size, all the time must not hold a scan for ever. */
const rewindsMin = 10;
const rewindShare = 0.5;
/** One page shown twice may be chance where totals lag; twice in a row is a service that ignores the page number. */
const repeatsMax = 2;
/** More rows without a readable time are not compared one by one. */
export const undatedMax = 500;

type ScanStep =
  | { kind: 'next' }
  | { kind: 'end' }
  | { kind: 'rewind'; toPage: number }
  | { kind: 'realign'; toPage: number }
  | { kind: 'repeat' };

/** What a page means for the scan. `last` is the page on which the list ends by its total. */
function decideScanStep(
  walk: WalkProgress,
  facts: PageFacts,
  last: number,
  previousFingerprint: string | null,
): ScanStep {
  const back = mayGoBack(walk, facts) ? stepBack(walk, facts) : undefined;
  if (facts.listed === 0) return back ?? { kind: 'end' };
  if (isRepeat(walk, facts, previousFingerprint)) {
    return facts.page > last ? { kind: 'end' } : { kind: 'repeat' };
  }
  return back ?? (isEndAtTotal(facts) ? { kind: 'end' } : { kind: 'next' });
}

/** A short page ends the list only where the total says so, too: one in the middle may just lack rows. */
function isEndAtTotal(facts: PageFacts): boolean {
  const readRows = (facts.page - 1) * facts.size + facts.listed;
  return !isFull(facts) && readRows === facts.total;
}

function isFull(facts: PageFacts): boolean {
  return facts.listed >= facts.size;
}

/** As many new rows as a page holds show a page twice, too; but then the total has risen by as many. */
function isRepeat(
  walk: WalkProgress,
  facts: PageFacts,
  previousFingerprint: string | null,
): boolean {
  const risen = (facts.total ?? 0) - (walk.lastTotal ?? 0);
  return facts.fingerprint === previousFingerprint && risen < facts.listed;
}

function mayGoBack(walk: WalkProgress, facts: PageFacts): boolean {
  return walk.rewinds < Math.max(rewindsMin, facts.page * rewindShare);
}

/** Back to the place up to which the scan has met every row: where rows have gone, or the page size has changed. */
function stepBack(walk: WalkProgress, facts: PageFacts): ScanStep | undefined {
  const removed = removedRows(walk, facts);
  const readRows = (facts.page - 1) * sizeSoFar(walk, facts);
  const toPage = Math.floor(Math.max(0, readRows - removed) / facts.size) + 1;
  if (removed > 0) return { kind: 'rewind', toPage };
  return toPage === facts.page ? undefined : { kind: 'realign', toPage };
}

/** A total of 0 is what some services say of a page behind the end: no word on rows that have gone. */
function removedRows(walk: WalkProgress, facts: PageFacts): number {
  if (walk.lastTotal === null || facts.total === null) return 0;
  if (facts.listed === 0 && facts.total === 0) return 0;
  return Math.max(0, walk.lastTotal - facts.total);
}

/** Rows per page up to this one. A last page that is not full need not show the size of the others. */
function sizeSoFar(walk: WalkProgress, facts: PageFacts): number {
  const { pageSize } = walk;
  return pageSize !== null && (facts.size > pageSize || isFull(facts)) ? pageSize : facts.size;
}

/** The progress after a page and the step that it led to. */
function afterStep(walk: WalkProgress, facts: PageFacts, step: ScanStep): WalkProgress {
  const steps = timeSteps(facts.times);
  const isBack = 'toPage' in step;
  // Where the limit of rewinds was reached, rows may have slipped past the seam.
  const isSeamOpen = !isBack && stepBack(walk, facts) !== undefined;
  const dated = new Set(facts.datedKeys);
  const undated = facts.keys.filter((key) => !dated.has(key) && !walk.undated.includes(key));
  return {
    ...walk,
    rising: walk.rising + steps.rising,
    falling: walk.falling + steps.falling,
    met: walk.met + facts.keys.length,
    unstorable: walk.unstorable + facts.unstorable,
    startTotal: walk.startTotal ?? facts.total,
    lastTotal: facts.total ?? walk.lastTotal,
    pageSize: facts.listed > 0 || isBack ? facts.size : walk.pageSize,
    rewinds: walk.rewinds + Number(isBack),
    nextPage: isBack ? step.toPage : facts.page + 1,
    isLastFull: isBack || isFull(facts),
    isClean: walk.isClean && !isSeamOpen,
    undated:
      undated.length === 0 ? walk.undated : [...walk.undated, ...undated].slice(0, undatedMax + 1),
  };
}

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
type Cursor<P> = {
  batch: P[];
  days: ReadDays | null;
  previousFingerprint: string | null;
  repeats: number;
  isFresh: boolean;
};

export type ScanResult = {
  isPaused: boolean;
  /** The progress at its end, or at the pause. */
  walk: WalkProgress;
};

/** Scans from the checkpoint, or from page 1, storing checkpoints on the way. The verdict on it is the caller's. */
export async function scanList<P extends PageFacts>(
  session: ListSession<P>,
  isSequential: boolean,
): Promise<ScanResult> {
  if (session.state.checkpoint.walk === null) await beginScan(session, isSequential);
  const cursor: Cursor<P> = {
    batch: [],
    days: null,
    previousFingerprint: null,
    repeats: 0,
    isFresh: true,
  };
  let writing: Promise<unknown> = Promise.resolve();
  let writingBefore = writing;
  try {
    for (;;) {
      const { step, walk } = await takePage(session, cursor);
      const isEnd = step.kind === 'end';
      session.apply(withCheckpoint(session.state, { walk }));
      if (isEnd && walk.reading) cursor.days = joinDays(cursor.days, endReading(walk.reading));
      if (!isEnd && !session.port.isBatchFull(rowsIn(cursor.batch))) continue;
      // One batch is written, one waits for the database, and the next one is read and made ready.
      const write = session.prepare({ pages: cursor.batch.splice(0), days: cursor.days });
      cursor.days = null;
      await writingBefore;
      writingBefore = writing;
      writing = quietly(writing.then(write));
      const isPaused = !isEnd && session.port.shouldPause();
      if (!isEnd && !isPaused) continue;
      await writing;
      return { isPaused, walk };
    }
  } finally {
    await writing.catch(() => undefined);
  }
}

async function beginScan<P extends PageFacts>(
  session: ListSession<P>,
  isSequential: boolean,
): Promise<void> {
  const { state, port } = session;
  const isFromEmpty = state.ledgerCount === 0 && state.guests === 0;
  const canReadDays = isOrdered(state) && port.ranks !== null;
  const { isScanUnclean, unseen, differingDays } = state.checkpoint;
  // Reading by days has failed: the list may not follow the times of its rows.
  const hasFailed = isScanUnclean || unseen.length > 0 || differingDays.length > 0;
  const notesKeys = !isFromEmpty && (!canReadDays || state.guests > 0 || hasFailed);
  if (notesKeys && !state.checkpoint.isShuffled) await port.notes.begin();
  const hadMismatch = state.checkpoint.mismatch !== null;
  const fallenBefore = state.checkpoint.fallen;
  const walk = newWalk({ isSequential, notesKeys, isFromEmpty, hadMismatch, fallenBefore });
  session.apply(withCheckpoint(state, { walk, differingDays: [] }));
}

async function takePage<P extends PageFacts>(
  session: ListSession<P>,
  cursor: Cursor<P>,
): Promise<{ step: ScanStep; walk: WalkProgress }> {
  const { walk } = session.state.checkpoint;
  if (walk === null) throw new Error('a page of a scan was asked for before it had begun');
  const facts = await session.read(walk.nextPage, upTo(session.state, walk), cursor.isFresh);
  const step = decideScanStep(walk, facts, lastPage(session.state), cursor.previousFingerprint);
  cursor.repeats = step.kind === 'repeat' ? cursor.repeats + 1 : 0;
  if (cursor.repeats >= repeatsMax) throw pageIgnored(facts.page);
  cursor.isFresh = step.kind !== 'next';
  const isNext = step.kind === 'next' || step.kind === 'repeat';
  cursor.previousFingerprint = isNext ? facts.fingerprint : null;
  cursor.batch.push(facts);
  const stepped = afterStep(walk, facts, step);
  // Its rows are read again after those that moved up, in the list's order.
  if ('toPage' in step) return { step, walk: stepped };
  const { walk: read, days } = readDaysOn(session.state, stepped, facts);
  cursor.days = joinDays(cursor.days, days);
  return { step, walk: read };
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
