import type { ListSession } from './list-session.ts';
import {
  type ListState,
  lastPage,
  missingRows,
  type PageFacts,
  pagesFor,
  withCheckpoint,
} from './list-state.ts';
import { isKnownCounts, mayGoOn, type Poll, storeShown } from './poll.ts';
import { pollTail } from './poll-tail.ts';
import { createDayReader } from './read-days.ts';
import { readOrEnd } from './refused-page.ts';
import { isEndRefused } from './scan-end.ts';

/** Number of consecutive pages without a new row that end the poll of the start if there is no total. */
const quietPagesMax = 1;
/** One of this many passes reads the end of a list even if its start explains its growth. */
const passesToTail = 4;
/** Upper bound of the rounds that fetch rows arriving during the poll; later rows are left to the next pass. */
const headRoundsMax = 5;

/** Reads the end at which the list grows until the counts agree. Tries both ends of an unordered list. */
export async function pollList<P extends PageFacts>(session: ListSession<P>): Promise<Poll> {
  const countBefore = session.state.ledgerCount;
  let head: Poll = { isSettled: false, inserted: 0, days: null };
  if (session.state.listOrder !== 'oldest-first') {
    head = await pollHead(session);
    // The page may have shown another order than the stored one.
    const isOver = session.state.listOrder === 'newest-first' || hasGrownAtHead(session.state);
    if (head.isSettled || isOver) return head;
  }
  const countAfterHead = session.state.ledgerCount;
  const tail = await pollTail(session);
  if (countAfterHead === countBefore && session.port.ranks === null) {
    session.apply(afterTail(session.state, tail.inserted > 0));
  }
  return { ...tail, inserted: head.inserted + tail.inserted };
}

/**
 * Returns true if the new rows at the start of an unordered list explain the growth of its total since the last pass:
 * the rows still missing were missing before. The total may not count new rows at the end, so some passes read the end
 * anyway.
 */
function hasGrownAtHead(state: ListState): boolean {
  const { listOrder, serviceTotal, ledgerCount, checkpoint, passes } = state;
  const { total = null, count = 0 } = checkpoint.lastSeen ?? {};
  if (listOrder !== 'unordered' || serviceTotal === null || total === null) return false;
  const isSame = serviceTotal - ledgerCount === total - count;
  return isSame && missingRows(state) > 0 && passes % passesToTail !== 0;
}

/** Learns the order of a list without times from the end at which new rows appear. */
function afterTail(state: ListState, hasGrown: boolean): ListState {
  if (state.isOrderFixed) return state;
  if (hasGrown) return { ...state, listOrder: 'oldest-first' };
  return missingRows(state) > 0 ? { ...state, listOrder: null } : state;
}

/** Reads new rows at the list's start: page 1 upward, and again for rows that arrived meanwhile. */
async function pollHead<P extends PageFacts>(session: ListSession<P>): Promise<Poll> {
  let inserted = 0;
  for (let round = 1; ; round += 1) {
    const totalBefore = session.state.serviceTotal ?? 0;
    const poll = await pollHeadOnce(session);
    inserted += poll.inserted;
    const hasGrown = (session.state.serviceTotal ?? 0) > Math.max(totalBefore, poll.firstTotal);
    if (poll.isSettled || !hasGrown || round === headRoundsMax) return { ...poll, inserted };
  }
}

async function pollHeadOnce<P extends PageFacts>(
  session: ListSession<P>,
): Promise<Poll & { firstTotal: number }> {
  const known = session.state.checkpoint.headFingerprint;
  const isAfterEnd = wasLastPassEnded(session.state);
  const wasEmpty = session.state.ledgerCount === 0;
  const reader = createDayReader();
  const first = await session.read(1, 1);
  const firstTotal = session.state.serviceTotal ?? 0;
  noteHead(session, first);
  // A pass that did not end may have left rows unread after those of the first page.
  const isSame = isAfterEnd && first.fingerprint === known;
  let inserted = 0;
  let quietPages = 0;
  for (let facts: P | null = first; facts !== null; ) {
    const { page } = facts;
    const added = isSame ? 0 : await storeShown(session, facts);
    inserted += added;
    quietPages = added === 0 ? quietPages + 1 : 0;
    reader.read(facts, session.state.listOrder, { isStart: page === 1 });
    const isSettled = missingRows(session.state) === 0;
    // Known rows follow new ones, so the last pass has read everything from here on.
    const isOnKnownRows = isAfterEnd && added < facts.listed - facts.unstorable;
    const isEnd =
      isSettled ||
      isSame ||
      facts.listed === 0 ||
      isHeadPassed(session.state, page, { quietPages, isOnKnownRows });
    if (isEnd && !mayGoOn(wasEmpty, facts))
      return { isSettled, inserted, days: reader.days(), firstTotal };
    facts = await readBehind(session, facts);
  }
  return { isSettled: false, inserted, days: reader.days(), firstTotal };
}

/**
 * Reads the page after one of the start. Returns null if the service refuses it and the list may end before it: only a
 * scan shows if the list continues there.
 */
async function readBehind<P extends PageFacts>(
  session: ListSession<P>,
  { page, size, listed }: P,
): Promise<P | null> {
  if (missingRows(session.state) === 0) return await session.read(page + 1, page);
  try {
    const upTo = Math.max(page + 1, newPages(session.state));
    return await readOrEnd(session, page + 1, { upTo });
  } catch (error) {
    if (listed < size || !isEndRefused(error, page * size, session.state)) throw error;
    session.apply(withCheckpoint(session.state, { isScanUnclean: true }));
    return null;
  }
}

/** Remembers the first page if there is no total that could show that nothing has arrived. */
function noteHead<P extends PageFacts>(session: ListSession<P>, facts: P): void {
  const { state } = session;
  if (state.serviceTotal !== null) return;
  session.apply(withCheckpoint(state, { headFingerprint: facts.fingerprint }));
}

/** Returns true if the last pass reached its end: the counts are still those that it left. */
function wasLastPassEnded({ checkpoint, ledgerCount }: ListState): boolean {
  return checkpoint.lastSeen?.count === ledgerCount;
}

function isHeadPassed(
  state: ListState,
  page: number,
  { quietPages, isOnKnownRows }: { quietPages: number; isOnKnownRows: boolean },
): boolean {
  const missing = missingRows(state);
  // An unfinished scan continues from its next page.
  const { nextPage } = state.checkpoint.walk ?? { nextPage: Number.POSITIVE_INFINITY };
  if (isKnownCounts(state) || page + 1 >= nextPage) return true;
  if (Number.isNaN(missing)) return quietPages >= quietPagesMax && page >= unendedPages(state);
  const isGrownHere = state.listOrder === 'newest-first' || hasGrownAtHead(state);
  const isQuiet = quietPages > 0 || (isOnKnownRows && isGrownHere);
  if (missing < 0) return isQuiet;
  return page >= lastPage(state) || (page >= newPages(state) && isQuiet);
}

/**
 * Returns the number of pages at the start that are filled by the rows since the last pass, or since the scan began.
 */
function newPages(state: ListState): number {
  if (state.listOrder !== 'newest-first') return 1;
  const { walk, lastSeen, totalAtLastMatch } = state.checkpoint;
  const seen = lastSeen?.total ?? Math.max(totalAtLastMatch, state.ledgerCount + state.guests);
  const known = walk === null ? seen : (walk.startTotal ?? 0);
  return pagesFor((state.serviceTotal ?? 0) - known, state);
}

/**
 * Returns the number of pages at the start that the rows stored since the end of the last pass may fill, and one
 * more. A pass that was interrupted leaves a gap after its rows.
 */
function unendedPages(state: ListState): number {
  const { lastSeen } = state.checkpoint;
  const stored = state.ledgerCount - (lastSeen?.count ?? state.ledgerCount);
  return stored > 0 ? pagesFor(stored, state) + 1 : 1;
}
