import type { ListSession } from './list-session.ts';
import {
  type ListState,
  lastPage,
  missingRows,
  type PageFacts,
  pagesFor,
  withCheckpoint,
} from './list-state.ts';

/** Pages without a new row after which a poll without proof takes all new rows for seen. */
const lookBackPages = 3;
/** Rows that arrive while the head is read are fetched by reading it again; beyond this the next pass does it. */
const headRoundsMax = 5;

/**
 * Reads the list's growing end until the counts agree. True: they do. False: what is missing is not at the end.
 * An unordered list is tried at both ends.
 */
export async function pollList<P extends PageFacts>(session: ListSession<P>): Promise<boolean> {
  const countBefore = session.state.ledgerCount;
  if (session.state.listOrder !== 'oldest-first') {
    if (await pollHead(session)) return true;
    // The page itself may have shown another order than the one remembered.
    if (session.state.listOrder === 'newest-first') return false;
  }
  const countAfterHead = session.state.ledgerCount;
  const isSettled = await pollTail(session);
  if (countAfterHead === countBefore && session.port.ranks === null) {
    session.apply(afterTail(session.state, session.state.ledgerCount > countAfterHead));
  }
  return isSettled;
}

/** Without times only the place where rows come in tells the order. */
function afterTail(state: ListState, hasGrown: boolean): ListState {
  if (state.isOrderFixed) return state;
  if (hasGrown) return { ...state, listOrder: 'oldest-first' };
  return missingRows(state) > 0 ? { ...state, listOrder: null } : state;
}

/** New rows at the list's start: page 1 upward, and again for those that arrived meanwhile. */
async function pollHead<P extends PageFacts>(session: ListSession<P>): Promise<boolean> {
  for (let round = 1; round <= headRoundsMax; round += 1) {
    const outcome = await pollHeadOnce(session);
    if (outcome !== 'grew') return outcome === 'settled';
  }
  return false;
}

async function pollHeadOnce<P extends PageFacts>(
  session: ListSession<P>,
): Promise<'settled' | 'grew' | 'exhausted'> {
  let pagesWithoutNewRows = 0;
  let firstTotal: number | null = null;
  for (let page = 1; ; page += 1) {
    const upTo = page === 1 ? 1 : Math.max(page, newPages(session.state));
    const facts = await session.read(page, upTo);
    firstTotal ??= session.state.serviceTotal;
    const inserted = await storeRows(session, facts);
    const { state } = session;
    if (missingRows(state) === 0) return 'settled';
    pagesWithoutNewRows = inserted === 0 ? pagesWithoutNewRows + 1 : 0;
    if (facts.listed > 0 && !isHeadPassed(state, page, pagesWithoutNewRows)) continue;
    return (state.serviceTotal ?? 0) > (firstTotal ?? 0) ? 'grew' : 'exhausted';
  }
}

/** New rows at the list's end: from the page where the known rows end, upward. */
async function pollTail<P extends PageFacts>(session: ListSession<P>): Promise<boolean> {
  const start = pagesFor(session.state.checkpoint.totalAtLastMatch, session.state);
  for (let page = start; ; page += 1) {
    const facts = await session.read(page, page === start ? page : lastPage(session.state));
    const inserted = await storeRows(session, facts);
    const { state } = session;
    if (missingRows(state) === 0) return true;
    // A full page may have others behind it that the total does not count yet.
    const isLast = page >= lastPage(state) && (facts.listed < facts.size || inserted === 0);
    if (facts.listed === 0 || isLast || isKnownMismatch(state)) return false;
  }
}

async function storeRows<P extends PageFacts>(session: ListSession<P>, facts: P): Promise<number> {
  return facts.listed === 0 ? 0 : session.store([facts]);
}

function isHeadPassed(state: ListState, page: number, pagesWithoutNewRows: number): boolean {
  const pagesMax = missingRows(state) > 0 ? 1 : lookBackPages;
  // From here on an unfinished scan goes on.
  const { nextPage } = state.checkpoint.walk ?? { nextPage: Number.POSITIVE_INFINITY };
  return (
    isKnownMismatch(state) ||
    page >= lastPage(state) ||
    page + 1 >= nextPage ||
    (page >= newPages(state) && pagesWithoutNewRows >= pagesMax)
  );
}

/** Pages that the rows come since the counts last agreed, or the scan began, would fill if all stood at the start. */
function newPages(state: ListState): number {
  if (state.listOrder !== 'newest-first') return 1;
  const { walk, totalAtLastMatch } = state.checkpoint;
  const known = walk === null ? totalAtLastMatch : (walk.startTotal ?? 0);
  return pagesFor((state.serviceTotal ?? 0) - known, state);
}

/** The same mismatch as at the end of the last pass: there is nothing new to look for. */
export function isKnownMismatch({ checkpoint, serviceTotal, ledgerCount }: ListState): boolean {
  const { countMismatch } = checkpoint;
  return countMismatch?.total === serviceTotal && countMismatch.count === ledgerCount;
}

/** The state after a pass that left a mismatch: it is watched, and counted while it stays the same. */
export function afterMismatch(state: ListState): ListState {
  const passes = isKnownMismatch(state) ? (state.checkpoint.countMismatch?.passes ?? 0) + 1 : 1;
  const countMismatch = { total: state.serviceTotal, count: state.ledgerCount, passes };
  return withCheckpoint(state, { countMismatch });
}
