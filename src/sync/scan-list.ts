/**
 * A full scan reads the whole list, page 1 upward. Whatever is inserted meanwhile, wherever: rows only move to higher
 * pages, so a scan that reads each page after the one before it meets every row that was there throughout.
 * Pages fetched ahead keep that promise because the session asks again for one that was overtaken.
 *
 *            ┌───────── rewind: rows have been removed, those behind moved up
 *            ▼
 *   start ▶ read page ─▶ next ─▶ … ─▶ end
 *                 └─▶ realign: the page size changed, go on at the same place
 */
import { LedgerError } from '../kernel/errors.ts';
import { quietly } from '../kernel/quietly.ts';
import { newWalk, type WalkProgress } from './list-checkpoint.ts';
import type { ListSession } from './list-session.ts';
import {
  type ListState,
  lastPage,
  orderOf,
  type PageFacts,
  timeSteps,
  withCheckpoint,
} from './list-state.ts';

/** A list that loses rows, or changes its page size, all the time must not hold a scan for ever. */
const rewindsMax = 10;
/** One page shown twice may be chance where totals lag; twice in a row is a service that ignores the page number. */
const repeatsMax = 2;

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
  const back = stepBack(walk, facts);
  if (facts.listed === 0) return back ?? { kind: 'end' };
  if (isRepeat(walk, facts, previousFingerprint)) {
    return facts.page > last ? { kind: 'end' } : { kind: 'repeat' };
  }
  return back ?? (facts.page >= last && !isFull(facts) ? { kind: 'end' } : { kind: 'next' });
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

/** Back to the place up to which the scan has met every row: where rows have gone, or the page size has changed. */
function stepBack(walk: WalkProgress, facts: PageFacts): ScanStep | undefined {
  if (walk.rewinds >= rewindsMax) return undefined;
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
  return {
    ...walk,
    rising: walk.rising + steps.rising,
    falling: walk.falling + steps.falling,
    unstorable: walk.unstorable + facts.unstorable,
    startTotal: walk.startTotal ?? facts.total,
    lastTotal: facts.total ?? walk.lastTotal,
    pageSize: facts.listed > 0 || 'toPage' in step ? facts.size : walk.pageSize,
    rewinds: walk.rewinds + ('toPage' in step ? 1 : 0),
    nextPage: 'toPage' in step ? step.toPage : facts.page + 1,
  };
}

/** The state after the last page. From here on the counts decide. */
function afterScan(state: ListState, walk: WalkProgress): ListState {
  const ended = {
    ...state,
    isBacked: true,
    acceptedDifference: 0,
    listOrder: state.isOrderFixed ? state.listOrder : (orderOf(walk) ?? state.listOrder),
  };
  return withCheckpoint(ended, {
    walk: null,
    walks: state.checkpoint.walks + 1,
    totalAtLastMatch: walk.startTotal ?? 0,
  });
}

/** What a scan carries from page to page; lost with the process, unlike its progress. */
type Cursor<P> = {
  batch: P[];
  previousFingerprint: string | null;
  repeats: number;
  isFresh: boolean;
};

export type ScanResult = {
  isPaused: boolean;
  /** Listed rows of the whole scan that have no usable key. */
  unstorable: number;
  /** Rows came in between the scan's first page and its last. */
  hasGrown: boolean;
  /** The service's total at the scan's last page; null: it does not count. */
  endTotal: number | null;
};

/** Scans from the checkpoint, or from page 1, storing checkpoints on the way. */
export async function scanList<P extends PageFacts>(
  session: ListSession<P>,
  isSequential: boolean,
): Promise<ScanResult> {
  const walk = session.state.checkpoint.walk ?? newWalk(isSequential);
  session.apply(withCheckpoint(session.state, { walk }));
  const cursor: Cursor<P> = { batch: [], previousFingerprint: null, repeats: 0, isFresh: true };
  let writing: Promise<unknown> = Promise.resolve();
  let writingBefore = writing;
  try {
    for (;;) {
      const { step, walk: progress } = await takePage(session, cursor);
      const isEnd = step.kind === 'end';
      session.apply(
        isEnd
          ? afterScan(session.state, progress)
          : withCheckpoint(session.state, { walk: progress }),
      );
      if (!isEnd && !session.port.isBatchFull(rowsIn(cursor.batch))) continue;
      // One batch is written, one waits for the database, and the next one is read and made ready.
      const write = session.prepare(cursor.batch.splice(0));
      await writingBefore;
      writingBefore = writing;
      writing = quietly(writing.then(write));
      const isPaused = !isEnd && session.port.shouldPause();
      if (!isEnd && !isPaused) continue;
      await writing;
      return { isPaused, ...outcomeOf(progress) };
    }
  } finally {
    await writing.catch(() => undefined);
  }
}

async function takePage<P extends PageFacts>(
  session: ListSession<P>,
  cursor: Cursor<P>,
): Promise<{ step: ScanStep; walk: WalkProgress }> {
  const walk = session.state.checkpoint.walk ?? newWalk(false);
  const last = lastPage(session.state);
  const upTo = walk.isSequential ? Math.min(walk.nextPage, last) : last;
  const facts = await session.read(walk.nextPage, upTo, cursor.isFresh);
  const step = decideScanStep(walk, facts, lastPage(session.state), cursor.previousFingerprint);
  cursor.repeats = step.kind === 'repeat' ? cursor.repeats + 1 : 0;
  if (cursor.repeats >= repeatsMax) throw pageIgnored(facts.page);
  cursor.isFresh = step.kind !== 'next';
  const isNext = step.kind === 'next' || step.kind === 'repeat';
  cursor.previousFingerprint = isNext ? facts.fingerprint : null;
  cursor.batch.push(facts);
  return { step, walk: afterStep(walk, facts, step) };
}

function outcomeOf({ unstorable, startTotal, lastTotal }: WalkProgress) {
  return { unstorable, hasGrown: (lastTotal ?? 0) > (startTotal ?? 0), endTotal: lastTotal };
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
