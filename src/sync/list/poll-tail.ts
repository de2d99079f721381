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
import { readOrEnd, readOrNull } from './refused-page.ts';

/** Reads new rows at the list's end: from the page where the known rows end, upward. */
export async function pollTail<P extends PageFacts>(session: ListSession<P>): Promise<Poll> {
  const heldBefore = session.state.ledgerCount + session.state.guests;
  const wasEmpty = session.state.ledgerCount === 0;
  let { facts, inserted } = await readTail(session);
  for (let previous = ''; ; ) {
    const added = await storeShown(session, facts);
    inserted += added;
    const isSettled = missingRows(session.state) === 0;
    const isOver = isSettled || isKnownCounts(session.state);
    // A total that counts too few rows does not count those after a full page either.
    const isGuided = !isTotalShort(session.state) || facts.listed < facts.size;
    const isFollowed = mayBeFollowed(session.state, facts, { added, heldBefore });
    const isEnd = (isOver && isGuided) || isTailEnd(session.state, facts, { previous, isFollowed });
    if (isEnd && !mayGoOn(wasEmpty, facts)) return { isSettled, inserted, days: null };
    previous = facts.fingerprint;
    facts = await readBehindTail(session, facts);
  }
}

/**
 * Returns true for a short page of a list without a total that may have others after it. Either it has brought new
 * rows, or it shows more known rows than its place allows, because pages are smaller than they claim.
 */
function mayBeFollowed(
  { serviceTotal }: ListState,
  { page, size, listed }: PageFacts,
  { added, heldBefore }: { added: number; heldBefore: number },
): boolean {
  return serviceTotal === null && (added > 0 || listed > heldBefore - (page - 1) * size);
}

/** Reads the page after one of the end. If it follows a short page and has rows, pages are smaller than they claim. */
async function readBehindTail<P extends PageFacts>(
  session: ListSession<P>,
  { page, size, listed, fingerprint }: P,
): Promise<P> {
  const behind = await readOrEnd(session, page + 1, { upTo: lastKnown(session.state) });
  const isOther = behind.listed > 0 && behind.fingerprint !== fingerprint;
  if (session.state.serviceTotal !== null || listed >= size || !isOther) return behind;
  // New rows may have filled the page meanwhile.
  const again = await session.read(page);
  if (again.listed >= again.size) return again;
  const clampedSize = { claimed: size, actual: again.listed };
  session.apply(withCheckpoint(session.state, { clampedSize }));
  return await session.read(page + 1, page);
}

async function readTail<P extends PageFacts>(
  session: ListSession<P>,
): Promise<{ facts: P; inserted: number }> {
  const page = tailPage(session.state);
  // The list may end before this page by another total than the stored one, and a refusal reports no total.
  const facts = await readOrNull(session, page);
  if (facts !== null && (facts.listed > 0 || page === 1)) return { facts, inserted: 0 };
  // The list ends before the ledger's last row, or its pages are larger than assumed.
  const first = await session.read(1);
  const inserted = first.listed === 0 ? 0 : await session.store([first]);
  const end = Math.min(page - 1, lastKnown(session.state));
  return { facts: await readOrEnd(session, end), inserted };
}

function isTotalShort({ serviceTotal, ledgerCount, guests }: ListState): boolean {
  return serviceTotal !== null && serviceTotal < ledgerCount + guests;
}

/** Returns the last page that must have rows: by the total, and without one by the rows that the ledger lists. */
function lastKnown(state: ListState): number {
  return pagesFor(state.serviceTotal ?? state.ledgerCount + state.guests, state);
}

/** Returns true at the end of the list. A full page may have others after it that the total does not count yet. */
function isTailEnd(
  state: ListState,
  facts: PageFacts,
  { previous, isFollowed }: { previous: string; isFollowed: boolean },
): boolean {
  if (facts.listed === 0 || facts.fingerprint === previous) return true;
  return facts.listed < facts.size && facts.page >= lastPage(state) && !isFollowed;
}

/** Returns the page on which the known rows end. */
function tailPage(state: ListState): number {
  const { ledgerCount, guests, checkpoint, serviceTotal, acceptedDifference, pageSize } = state;
  const held = Math.max(ledgerCount + guests, checkpoint.totalAtLastMatch);
  const listed = (serviceTotal ?? held) - acceptedDifference;
  // If few rows are uncounted, they have vanished; if there are many, the total is no guide.
  const isNear = listed < held && held - listed <= 2 * (pageSize ?? 0);
  return pagesFor(isNear ? listed : held, state);
}
