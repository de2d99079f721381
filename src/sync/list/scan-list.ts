/**
 * Reads the whole list, page 1 upward. An insertion only moves rows to higher pages. So a scan that reads each page
 * after the one before it meets every row that was there throughout. Pages fetched ahead keep that promise, because the
 * session requests an overtaken page again.
 *
 *            ┌───────── rewind: rows have been removed, those behind moved up
 *            ▼
 *   start ▶ read page ─▶ next ─▶ … ─▶ end: an empty or refused page, or one that ends just at the total
 *                 └─▶ realign: the page size changed, continue at the same place
 */

import { LedgerError } from '../../kernel/errors.ts';
import type { ReadDays } from '../../kernel/vocabulary.ts';
import { createBatchWriter } from './batch-writer.ts';
import { afterStep, decideScanStep, isEndAtTotal, type ScanStep } from './decide-scan-step.ts';
import { newWalk, type WalkProgress } from './list-checkpoint.ts';
import type { ListSession } from './list-session.ts';
import {
  isOrdered,
  type ListState,
  lastPage,
  type PageFacts,
  pagesFor,
  withCheckpoint,
} from './list-state.ts';
import { beginReading, endReading, isReadingInOrder, joinDays, readOn } from './read-days.ts';
import {
  type Cursor,
  endAtRefusal,
  giveUp,
  movePast,
  newCursor,
  readNext,
  stepBackFromRefusal,
  walkOf,
} from './scan-cursor.ts';
import { isEndless, isEndUnknown } from './scan-end.ts';

/** Number of consecutive repeats that mean that the service ignores the page number. A single one may be chance. */
const repeatsMax = 2;

/** Continues the reading of days with a page; a reading that was interrupted once is not continued. */
function readDaysOn(
  state: ListState,
  walk: WalkProgress,
  facts: PageFacts,
): { walk: WalkProgress; days: ReadDays | null } {
  if (facts.listed === 0) return { walk, days: null };
  const begun = walk.reading ?? (facts.page === 1 ? beginReading(facts, state.listOrder) : null);
  if (begun === null || !isReadingInOrder(begun, state.listOrder))
    return { walk: { ...walk, reading: null }, days: null };
  const { reading, days } = readOn(begun, facts);
  return { walk: { ...walk, reading }, days };
}

export type ScanResult = {
  isPaused: boolean;
  /** Progress at the end of the scan, or at the pause. */
  walk: WalkProgress;
  isEndRefused: boolean;
};

/**
 * Scans from the checkpoint, or from page 1, and stores checkpoints during the scan. The caller judges the result.
 * `hadMismatch`: if the scan is clean, the list does not show the rest of the mismatch. Throws a LedgerError if the
 * service ignores the page number.
 */
export async function scanList<P extends PageFacts>(
  session: ListSession<P>,
  begin: { isSequential: boolean; hadMismatch: boolean },
): Promise<ScanResult> {
  if (session.state.checkpoint.walk === null) await beginScan(session, begin);
  const cursor = newCursor<P>();
  const writer = createBatchWriter();
  const storeBatch = async (): Promise<void> => {
    const { batch: pages, days } = cursor;
    Object.assign(cursor, { batch: [], days: null });
    const write = session.prepare({ pages, days });
    await writer.add(async () => {
      await write();
      cursor.uncounted -= rowsIn(pages);
    });
  };
  try {
    for (;;) {
      const walk = await takePage(session, cursor).catch(async (error: unknown) => {
        // If a page cannot be read, the pages before it are still stored.
        if (cursor.batch.length > 0) await storeBatch().catch(() => undefined);
        throw error;
      });
      const isEnd = cursor.end !== null;
      if (!isEnd && !session.port.isBatchFull(rowsIn(cursor.batch))) continue;
      await storeBatch();
      if (!isEnd && !session.port.shouldPause()) continue;
      await writer.end();
      if (cursor.failure !== null) throw cursor.failure;
      return { isPaused: !isEnd, walk, isEndRefused: cursor.end === 'refused' };
    }
  } finally {
    await writer.end().catch(() => undefined);
  }
}

async function beginScan<P extends PageFacts>(
  session: ListSession<P>,
  { isSequential, hadMismatch }: { isSequential: boolean; hadMismatch: boolean },
): Promise<void> {
  const { state, port } = session;
  const isFromEmpty = state.ledgerCount === 0 && state.guests === 0;
  const canReadDays = isOrdered(state) && port.ranks !== null;
  const { isScanUnclean, unseen, differingDays } = state.checkpoint;
  // A reading by days has failed: the list may not follow the times of its rows.
  const hasFailed = isScanUnclean || unseen.length > 0 || differingDays.length > 0;
  const notesKeys = !isFromEmpty && (!canReadDays || state.guests > 0 || hasFailed);
  const addsUp = notesKeys && state.checkpoint.isShuffled && !isUncounted(state);
  session.takeUnstoredKeys();
  if (notesKeys && !addsUp) await port.notes.begin();
  const fallenNow = state.serviceTotal === null ? null : state.checkpoint.fallen;
  const fallenBefore = addsUp ? state.checkpoint.fallenBefore : fallenNow;
  const hadDifferingDays = differingDays.length > 0;
  const fallenSeen = state.checkpoint.fallen;
  const begun = { isSequential, notesKeys, isFromEmpty, hadMismatch };
  const walk = newWalk({ ...begun, hadDifferingDays, fallenSeen });
  session.apply(withCheckpoint(state, { walk, differingDays: [], fallenBefore }));
}

/**
 * Returns true if the first of the accumulated scans began without a total, and now there is one. Rows may have been
 * removed unnoticed since.
 */
export function isUncounted({ serviceTotal, checkpoint }: ListState): boolean {
  return serviceTotal !== null && checkpoint.fallenBefore === null;
}

/** Reads the next page and processes it, or its refusal. */
async function takePage<P extends PageFacts>(
  session: ListSession<P>,
  cursor: Cursor<P>,
): Promise<WalkProgress> {
  const { nextPage } = walkOf(session);
  const facts = await readNext(session, cursor);
  if ('refusal' in facts || facts.isRefused) {
    const refusal = 'refusal' in facts ? facts.refusal : undefined;
    if (nextPage > 1 && cursor.refusedPage !== nextPage)
      return stepBackFromRefusal(session, cursor, refusal);
    if ('refusal' in facts) return await endAtRefusal(session, cursor, facts.refusal);
    if (isEndUnknown(walkOf(session), session.state)) return await endAtRefusal(session, cursor);
  }
  return takeFacts(session, cursor, facts, await isFollowed(session, facts));
}

/**
 * Returns true if other rows follow a page that seems to be the last one because its total counts only the rows up to
 * it. Such a total may be that of the page alone. This is checked if the ledger holds more rows, and once for a list
 * that ends with its first page.
 */
async function isFollowed<P extends PageFacts>(
  session: ListSession<P>,
  facts: P,
): Promise<boolean> {
  const { page, total, fingerprint } = facts;
  const isFirst = page === 1 && walkOf(session).isFromEmpty;
  const isShort = heldRows(session) > (total ?? 0);
  if (!isEndAtTotal(facts) || facts.listed === 0 || !(isFirst || isShort)) return false;
  const behind = await session.read(page + 1, page);
  return behind.listed > 0 && behind.fingerprint !== fingerprint;
}

/** Returns the number of rows that the list has by the ledger and by the scan so far. */
function heldRows<P extends PageFacts>(session: ListSession<P>): number {
  const { ledgerCount, guests } = session.state;
  return ledgerCount + guests + walkOf(session).unstorable;
}

/** Adds a page to the batch, the days and the progress. */
function takeFacts<P extends PageFacts>(
  session: ListSession<P>,
  cursor: Cursor<P>,
  facts: P,
  isFollowed: boolean,
): WalkProgress {
  const { fallen } = session.state.checkpoint;
  // Read after the request, because a write may have ended meanwhile.
  const fall = fallen - walkOf(session).fallenSeen;
  const walk = { ...walkOf(session), fallenSeen: fallen };
  const held = heldRows(session);
  const lastHeld = pagesFor(held, session.state);
  const ends = { last: lastPage(session.state), lastHeld, isFollowed };
  const isOver = isEndless(walk, facts, { ...ends, different: held + cursor.uncounted });
  const before = { ...cursor, fall };
  const step: ScanStep = isOver
    ? { kind: 'end', isRepeated: true }
    : decideScanStep(walk, facts, ends, before);
  cursor.repeats = step.kind === 'repeat' ? cursor.repeats + 1 : 0;
  if (cursor.repeats >= repeatsMax && facts.page <= ends.last)
    return giveUp(session, cursor, pageIgnored(facts.page));
  cursor.isFresh = step.kind !== 'next';
  const isNext = step.kind === 'next' || step.kind === 'repeat';
  cursor.batch.push(facts);
  cursor.uncounted += facts.listed;
  const next = afterStep(walk, facts, step, before);
  movePast(cursor, facts, isNext);
  // Only noted keys show which rows an endless scan has met.
  const stepped = isOver ? { ...next, isClean: next.isClean && walk.notesKeys } : next;
  // After a step back the rows are read again after those that moved up, in the list's order.
  const dated =
    'toPage' in step ? { walk: stepped, days: null } : readDaysOn(session.state, stepped, facts);
  cursor.end = step.kind === 'end' ? 'reached' : null;
  cursor.days = joinDays(cursor.days, dated.days);
  const { reading } = dated.walk;
  if (cursor.end !== null && reading) cursor.days = joinDays(cursor.days, endReading(reading));
  session.apply(withCheckpoint(session.state, { walk: dated.walk }));
  return dated.walk;
}

function rowsIn(batch: PageFacts[]): number {
  return batch.reduce((rows, facts) => rows + facts.listed, 0);
}

function pageIgnored(page: number): LedgerError {
  return new LedgerError(
    'service-parameters',
    `page ${page} of the list has the same rows as the page before it: the service seems to ignore the page parameter`,
  );
}
