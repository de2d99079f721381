import type { ListSession } from './list-session.ts';
import { type ListState, lastPage, missingRows, type PageFacts, pagesFor } from './list-state.ts';
import { beginReading, joinDays, type ReadDays, readOn } from './read-days.ts';

/** Without a total, so many pages in a row must bring nothing new. */
const quietPagesMax = 2;
/** Rows that arrive while the head is read are fetched by reading it again; beyond this the next pass does it. */
const headRoundsMax = 5;

/** What a poll found: whether the counts agree now, new rows, and the days that it read wholly. */
export type Poll = { isSettled: boolean; inserted: number; days: ReadDays | null };

/** Reads the list's growing end until the counts agree. An unordered list is tried at both ends. */
export async function pollList<P extends PageFacts>(session: ListSession<P>): Promise<Poll> {
  const countBefore = session.state.ledgerCount;
  let head: Poll = { isSettled: false, inserted: 0, days: null };
  if (session.state.listOrder !== 'oldest-first') {
    head = await pollHead(session);
    // The page itself may have shown another order than the one remembered.
    if (head.isSettled || session.state.listOrder === 'newest-first') return head;
  }
  const countAfterHead = session.state.ledgerCount;
  const tail = await pollTail(session);
  if (countAfterHead === countBefore && session.port.ranks === null) {
    session.apply(afterTail(session.state, tail.inserted > 0));
  }
  return { ...tail, inserted: head.inserted + tail.inserted };
}

/** Without times only the place where rows come in tells the order. */
function afterTail(state: ListState, hasGrown: boolean): ListState {
  if (state.isOrderFixed) return state;
  if (hasGrown) return { ...state, listOrder: 'oldest-first' };
  return missingRows(state) > 0 ? { ...state, listOrder: null } : state;
}

/** New rows at the list's start: page 1 upward, and again for those that arrived meanwhile. */
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
  let inserted = 0;
  let quietPages = 0;
  let firstTotal = 0;
  const reader = createDayReader();
  for (let page = 1; ; page += 1) {
    const upTo = page === 1 ? 1 : Math.max(page, newPages(session.state));
    const facts = await session.read(page, upTo);
    if (page === 1) firstTotal = session.state.serviceTotal ?? 0;
    const isSame = page === 1 && facts.fingerprint === known;
    const added = facts.listed === 0 || isSame ? 0 : await session.store([facts]);
    inserted += added;
    quietPages = added === 0 ? quietPages + 1 : 0;
    const days = reader.read(facts, session.state);
    const isSettled = missingRows(session.state) === 0;
    const isOver = isSettled || facts.listed === 0 || isSame;
    if (isOver || isHeadPassed(session.state, page, quietPages)) {
      noteHead(session, page === 1 ? facts : null);
      return { isSettled, inserted, days, firstTotal };
    }
    if (page === 1) noteHead(session, facts);
  }
}

/** Where nothing else tells that nothing has come, the first page is remembered. */
function noteHead<P extends PageFacts>(session: ListSession<P>, facts: P | null): void {
  const { state } = session;
  if (facts === null || state.serviceTotal !== null) return;
  const headFingerprint = facts.fingerprint;
  session.apply({ ...state, checkpoint: { ...state.checkpoint, headFingerprint } });
}

/** Collects the days that pages read one after another complete. */
function createDayReader() {
  let reading: ReturnType<typeof beginReading> = null;
  let days: ReadDays | null = null;
  return {
    read(facts: PageFacts, state: ListState): ReadDays | null {
      reading ??= facts.page === 1 ? beginReading(facts, state.listOrder) : null;
      if (reading === null) return days;
      const read = readOn(reading, facts);
      reading = read.reading;
      days = joinDays(days, read.days);
      return days;
    },
  };
}

/** New rows at the list's end: from the page where the known rows end, upward. */
async function pollTail<P extends PageFacts>(session: ListSession<P>): Promise<Poll> {
  let page = tailPage(session.state);
  let inserted = 0;
  let previous = '';
  for (let isFirst = true; ; isFirst = false) {
    const facts = await session.read(page, isFirst ? page : lastPage(session.state));
    const end = lastPage(session.state);
    if (isFirst && facts.listed === 0 && end < page) {
      // The list ends earlier than what the ledger holds of it.
      page = end;
      continue;
    }
    const added = facts.listed === 0 ? 0 : await session.store([facts]);
    inserted += added;
    const { state } = session;
    const isSettled = missingRows(state) === 0;
    // A full page may have others behind it that the total does not count yet.
    const isLast = facts.listed < facts.size && page >= lastPage(state);
    // Some services show the last page again behind the end.
    const isEnd = facts.listed === 0 || isLast || facts.fingerprint === previous;
    previous = facts.fingerprint;
    if (isSettled || isEnd || isKnownCounts(state)) return { isSettled, inserted, days: null };
    page += 1;
  }
}

/** The page on which the known rows end. */
function tailPage(state: ListState): number {
  const { ledgerCount, guests, checkpoint } = state;
  return pagesFor(Math.max(ledgerCount + guests, checkpoint.totalAtLastMatch), state);
}

function isHeadPassed(state: ListState, page: number, quietPages: number): boolean {
  const missing = missingRows(state);
  // From here on an unfinished scan goes on.
  const { nextPage } = state.checkpoint.walk ?? { nextPage: Number.POSITIVE_INFINITY };
  if (isKnownCounts(state) || page + 1 >= nextPage) return true;
  if (Number.isNaN(missing)) return quietPages >= quietPagesMax;
  if (missing < 0) return quietPages > 0;
  return page >= lastPage(state) || (page >= newPages(state) && quietPages > 0);
}

/** Pages that the rows come since the counts last agreed, or the scan began, would fill if all stood at the start. */
function newPages(state: ListState): number {
  if (state.listOrder !== 'newest-first') return 1;
  const { walk, totalAtLastMatch } = state.checkpoint;
  const known = walk === null ? totalAtLastMatch : (walk.startTotal ?? 0);
  return pagesFor((state.serviceTotal ?? 0) - known, state);
}

/** The same counts as at the end of the last pass: there is nothing new to look for. */
export function isKnownCounts({ checkpoint, serviceTotal, ledgerCount }: ListState): boolean {
  const { lastSeen } = checkpoint;
  return (
    serviceTotal !== null && lastSeen?.total === serviceTotal && lastSeen.count === ledgerCount
  );
}
