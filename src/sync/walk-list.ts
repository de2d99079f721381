/**
 * A walk reads the whole list, page 1 upward. Whatever is inserted meanwhile, wherever: rows only move to higher
 * pages, so a walk that reads each page after the one before it meets every row that was there throughout.
 * Pages fetched ahead keep that promise because the reader asks again for one that was overtaken.
 *
 *            ┌───────── rewind: rows have been removed, those behind moved up
 *            ▼
 *   start ▶ read page ─▶ next ─▶ … ─▶ end
 *                 └─▶ regrid: the page size changed, go on at the same place
 */
import { LedgerError } from '../kernel/errors.ts';
import { quietly } from '../kernel/quietly.ts';
import {
  type ListMemory,
  lastPage,
  newWalk,
  orderOf,
  type PageFacts,
  timeSteps,
  type WalkProgress,
} from './list-memory.ts';
import type { ListReader } from './list-port.ts';

/** A list that loses rows, or changes its page size, all the time must not hold a walk for ever. */
const rewindsMax = 10;
/** One page shown twice may be chance where totals lag; twice in a row is a service that ignores the page number. */
const repeatsMax = 2;

type WalkStep =
  | { kind: 'next' }
  | { kind: 'end' }
  | { kind: 'rewind'; toPage: number }
  | { kind: 'regrid'; toPage: number }
  | { kind: 'repeat' };

/** What a page means for the walk. `last` is the page on which the list ends by its total. */
function decideWalkStep(
  walk: WalkProgress,
  facts: PageFacts,
  last: number,
  previousFingerprint: string | null,
): WalkStep {
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

/** Back to the place up to which the walk has met every row: where rows have gone, or the page size has changed. */
function stepBack(walk: WalkProgress, facts: PageFacts): WalkStep | undefined {
  if (walk.rewinds >= rewindsMax) return undefined;
  const removed = removedRows(walk, facts);
  const readRows = (facts.page - 1) * sizeSoFar(walk, facts);
  const toPage = Math.floor(Math.max(0, readRows - removed) / facts.size) + 1;
  if (removed > 0) return { kind: 'rewind', toPage };
  return toPage === facts.page ? undefined : { kind: 'regrid', toPage };
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

/** What a walk carries from page to page; lost with the process, unlike its progress. */
type Cursor = {
  batch: PageFacts[];
  previousFingerprint: string | null;
  repeats: number;
  isFresh: boolean;
};

export type Walked = {
  isPaused: boolean;
  /** Listed rows of the whole walk that have no usable key. */
  unstorable: number;
  /** Whether rows came in between the walk's first page and its last. */
  hasGrown: boolean;
  /** The service's total at the walk's last page; null: it does not count. */
  endTotal: number | null;
};

/** Walks from the checkpoint, or from page 1, storing checkpoints on the way. */
export async function walkList(reader: ListReader, isSequential: boolean): Promise<Walked> {
  const { memory } = reader;
  const walk = memory.checkpoint.walk ?? newWalk(isSequential);
  memory.checkpoint.walk = walk;
  const cursor: Cursor = { batch: [], previousFingerprint: null, repeats: 0, isFresh: true };
  let writing: Promise<unknown> = Promise.resolve();
  let writingBefore = writing;
  try {
    for (;;) {
      const isEnd = (await takePage(reader, walk, cursor)) === 'end';
      if (isEnd) finish(memory, walk);
      if (!isEnd && !reader.port.isBatchFull(rowsIn(cursor.batch))) continue;
      // One batch is written, one waits for the database, and the next one is read and made ready.
      const write = reader.prepare(cursor.batch.splice(0));
      await writingBefore;
      writingBefore = writing;
      writing = quietly(writing.then(write));
      const isPaused = !isEnd && reader.port.shouldPause();
      if (!isEnd && !isPaused) continue;
      await writing;
      return { isPaused, ...outcomeOf(walk) };
    }
  } finally {
    await writing.catch(() => undefined);
  }
}

async function takePage(
  reader: ListReader,
  walk: WalkProgress,
  cursor: Cursor,
): Promise<WalkStep['kind']> {
  const { memory } = reader;
  const last = lastPage(memory);
  const upTo = walk.isSequential ? Math.min(walk.nextPage, last) : last;
  const facts = await reader.read(walk.nextPage, upTo, cursor.isFresh);
  const step = decideWalkStep(walk, facts, lastPage(memory), cursor.previousFingerprint);
  cursor.repeats = step.kind === 'repeat' ? cursor.repeats + 1 : 0;
  if (cursor.repeats >= repeatsMax) throw pageIgnored(facts.page);
  cursor.isFresh = step.kind !== 'next';
  const isNext = step.kind === 'next' || step.kind === 'repeat';
  cursor.previousFingerprint = isNext ? facts.fingerprint : null;
  cursor.batch.push(facts);
  advance(walk, facts, step);
  return step.kind;
}

function advance(walk: WalkProgress, facts: PageFacts, step: WalkStep): void {
  const steps = timeSteps(facts.times);
  walk.rising += steps.rising;
  walk.falling += steps.falling;
  walk.unstorable += facts.unstorable;
  walk.startTotal ??= facts.total;
  walk.lastTotal = facts.total ?? walk.lastTotal;
  if (facts.listed > 0 || 'toPage' in step) walk.pageSize = facts.size;
  if (step.kind === 'rewind' || step.kind === 'regrid') walk.rewinds += 1;
  walk.nextPage = 'toPage' in step ? step.toPage : facts.page + 1;
}

/** From here on the counts decide: equal is proven, anything else is looked into by the pass. */
function finish(memory: ListMemory, walk: WalkProgress): void {
  memory.checkpoint.walk = null;
  memory.checkpoint.walks += 1;
  memory.checkpoint.gap = 0;
  memory.checkpoint.settledTotal = walk.startTotal ?? 0;
  if (!memory.isOrderFixed) memory.listOrder = orderOf(walk) ?? memory.listOrder;
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
