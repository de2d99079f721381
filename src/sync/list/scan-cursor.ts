/** State of a scan between its pages, and the ways in which a scan ends early. */

import { toError } from '../../kernel/errors.ts';
import type { ReadDays } from '../../kernel/vocabulary.ts';
import type { PageBefore } from './decide-scan-step.ts';
import type { WalkProgress } from './list-checkpoint.ts';
import type { ListSession } from './list-session.ts';
import { type PageFacts, withCheckpoint } from './list-state.ts';
import { endReading, joinDays } from './read-days.ts';
import { isClampedEnd, isEndOfList, isSizeWrong } from './refused-page.ts';
import {
  endPage,
  isFailureBehind,
  isPageIgnored,
  isTotalShown,
  mayBeEnd,
  upTo,
} from './scan-end.ts';

/** Number of pages whose keys are kept, to find the page boundary again after a step back. */
const recentPages = 4;

/** State of a scan between pages; lost with the process, unlike its progress. */
export type Cursor<P> = Omit<PageBefore, 'fall'> & {
  batch: P[];
  days: ReadDays | null;
  isFresh: boolean;
  /** End of the scan: the list ended, or the service refused the page where it may end. */
  end: 'reached' | 'refused' | null;
  /** Error with which the scan was aborted. */
  failure: Error | null;
  /** Page that the service has refused. */
  refusedPage: number | null;
  /** Rows that were read and are not yet part of the ledger's count. */
  uncounted: number;
};

export function newCursor<P>(): Cursor<P> {
  return {
    batch: [],
    days: null,
    previousFingerprint: null,
    previousTime: null,
    repeats: 0,
    recentKeys: [],
    isFresh: true,
    end: null,
    failure: null,
    refusedPage: null,
    uncounted: 0,
  };
}

export function walkOf<P extends PageFacts>({ state }: ListSession<P>): WalkProgress {
  const { walk } = state.checkpoint;
  if (walk === null) throw new Error('a page of a scan was asked for before it had begun');
  return walk;
}

/** Reads the next page; returns the refusal of one that may lie after the list's end. */
export async function readNext<P extends PageFacts>(
  session: ListSession<P>,
  { isFresh }: Cursor<P>,
): Promise<P | { refusal: unknown }> {
  const walk = walkOf(session);
  const read = session.read(walk.nextPage, upTo(session.state, walk), isFresh);
  return await read.catch((refusal: unknown) => {
    if (mayBeEnd(refusal, walkOf(session), session.state)) return { refusal };
    throw refusal;
  });
}

/**
 * Steps back to the page before one that the service refuses, because a refusal has no total and no page size. A page
 * that fails says nothing about the list, so that step back is not counted.
 */
export function stepBackFromRefusal<P extends PageFacts>(
  session: ListSession<P>,
  cursor: Cursor<P>,
  refusal: unknown,
): WalkProgress {
  const { nextPage, rewinds } = walkOf(session);
  const counted = isFailureBehind(refusal, session.state) ? 0 : 1;
  const back = { nextPage: nextPage - 1, rewinds: rewinds + counted, isLastFull: true };
  const walk = { ...walkOf(session), ...back };
  Object.assign(cursor, { previousFingerprint: null, previousTime: null, isFresh: true });
  cursor.refusedPage = nextPage;
  session.apply(withCheckpoint(session.state, { walk }));
  return walk;
}

/**
 * Ends a scan at a page that the service refuses. It proves nothing, unless a page of another size shows that the list
 * ends with the page before; the rows that it met are stored. Throws `refusal` if the total says that rows follow a
 * full page, or if it is a failure such as HTTP 500 and no such page shows the end. Without a `refusal` the page lies
 * after the end by the total.
 */
export async function endAtRefusal<P extends PageFacts>(
  session: ListSession<P>,
  cursor: Cursor<P>,
  refusal?: unknown,
): Promise<WalkProgress> {
  const walk = walkOf(session);
  const last = lastOf(walk, cursor);
  const isAlike = walk.isLastFull || !walk.hasShortPages;
  const isShown = isAlike ? await isEndOfList(session, last) : await isClampedEnd(session, last);
  const isFollowed = walk.isLastFull && !isTotalShown(last.page * last.size, session.state);
  const isUnshown = isFailureBehind(refusal, session.state) && endPage(last) !== null;
  if (!isShown && (isFollowed || isUnshown || isPageIgnored(refusal))) {
    if (await isSizeWrong(session)) return giveUp(session, cursor, toError(refusal));
    throw refusal;
  }
  cursor.end = isShown ? 'reached' : 'refused';
  if (walk.reading) cursor.days = joinDays(cursor.days, endReading(walk.reading));
  const ended = { ...walk, isClean: walk.isClean && isShown };
  session.apply(withCheckpoint(session.state, { walk: ended }));
  return ended;
}

/** Returns the last page that was read, as far as its place in the list is known. */
function lastOf({ nextPage, pageSize, isLastFull }: WalkProgress, { recentKeys }: Cursor<unknown>) {
  const size = pageSize ?? 1;
  const keys = recentKeys.at(-1) ?? [];
  return { page: nextPage - 1, size, listed: isLastFull ? size : keys.length, keys };
}

/** Moves the cursor past a page. `isNext`: the scan continues with the page after this one. */
export function movePast<P extends PageFacts>(cursor: Cursor<P>, facts: P, isNext: boolean): void {
  cursor.previousFingerprint = isNext ? facts.fingerprint : null;
  cursor.previousTime = isNext ? facts.lastTime : null;
  if (isNext) cursor.recentKeys = [...cursor.recentKeys, facts.keys].slice(-recentPages);
}

/** Ends the scan so that the next one starts at page 1: a wrong page size may have misled this one. */
export function giveUp<P extends PageFacts>(
  session: ListSession<P>,
  cursor: Cursor<P>,
  failure: Error,
): WalkProgress {
  const walk = walkOf(session);
  cursor.end = 'reached';
  cursor.failure = failure;
  const isScanUnclean = session.state.checkpoint.walks > 0;
  session.apply(withCheckpoint(session.state, { walk: null, isScanUnclean }));
  return walk;
}
