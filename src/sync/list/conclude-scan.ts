import { undatedMax } from './decide-scan-step.ts';
import { afterRewinds } from './doubt.ts';
import type { WalkProgress } from './list-checkpoint.ts';
import type { ListSession } from './list-session.ts';
import {
  differingDaysMax,
  isOrdered,
  type ListState,
  missingRows,
  type PageFacts,
  withCheckpoint,
} from './list-state.ts';
import { resolveDifferingDays } from './resolve-days.ts';
import { isUncounted, orderAfterScan } from './scan-list.ts';

/** So many rows that a scan has not met are remembered for the next one. */
const unseenMax = 1_000;

/**
 * The verdict on a scan that has come to the list's end. A clean one stands behind the counts from now on: every seam
 * was consistent, and it met just the rows that the ledger lists. Any other proves and changes nothing but the rows
 * that it brought. True: it was clean.
 */
export async function concludeScan<P extends PageFacts>(
  session: ListSession<P>,
  walk: WalkProgress,
): Promise<boolean> {
  session.apply(afterRewinds(orderAfterScan(session.state, walk), walk.rewinds));
  if (!walk.notesKeys) await resolveDifferingDays(session);
  const isWhole = walk.notesKeys
    ? await isNotedWhole(session, walk)
    : await isReadWhole(session, walk);
  // Days that differ stay a doubt of their own.
  const isClean = walk.isClean && isWhole && !isHiding(session.state, walk);
  session.apply(
    withCheckpoint(
      isClean ? afterCleanScan(session.state, walk) : afterOtherScan(session.state, walk),
      { scannedAt: session.port.now() },
    ),
  );
  await session.store([]);
  return isClean;
}

/** Rows are missing, and pages that were not full may have lacked them. */
function isHiding(state: ListState, walk: WalkProgress): boolean {
  return walk.hasShortPages && missingRows(explained(state)) > walk.unstorable;
}

/** Rows that are never given up and that the scan has not met are the difference that it leaves. */
function explained(state: ListState): ListState {
  return { ...state, acceptedDifference: 0 - state.checkpoint.unseen.length };
}

function afterCleanScan(state: ListState, walk: WalkProgress): ListState {
  const backed = { ...explained(state), isBacked: true };
  const { differingDays, fallen, fallenBefore } = state.checkpoint;
  const differs = differingDays.length > 0;
  const missing = missingRows(backed);
  // The service counts what could not be stored; nothing else is missing then.
  const unstorable = missing > 0 && missing === walk.unstorable ? missing : 0;
  const accepted = { ...backed, acceptedDifference: backed.acceptedDifference + unstorable };
  return withCheckpoint(accepted, {
    walk: null,
    walks: state.checkpoint.walks + 1,
    scannedPages: pagesOfFirst(state, walk),
    totalAtLastMatch: walk.startTotal ?? 0,
    // Rows that have gone before the scan may be the ones for which days differ.
    fallen: differs ? fallen : Math.max(0, fallen - (fallenBefore ?? 0)),
    isScanUnclean: false,
    unmatched: state.checkpoint.unseen.length + unstorable,
    unseen: [],
    isShuffled: false,
    fruitlessScans: differs ? state.checkpoint.fruitlessScans + 1 : 0,
  });
}

function pagesOfFirst({ checkpoint }: ListState, { nextPage }: WalkProgress): number {
  return checkpoint.walks === 0 ? nextPage - 1 : checkpoint.scannedPages;
}

function afterOtherScan(state: ListState, walk: WalkProgress): ListState {
  const { walks, fruitlessScans } = state.checkpoint;
  return withCheckpoint(state, {
    walk: null,
    walks: walks + 1,
    scannedPages: pagesOfFirst(state, walk),
    isScanUnclean: true,
    fruitlessScans: walks === 0 ? 0 : fruitlessScans + 1,
  });
}

/** Each day's rows were compared on the way; what has no day is compared here. */
async function isReadWhole<P extends PageFacts>(
  session: ListSession<P>,
  walk: WalkProgress,
): Promise<boolean> {
  const { ranks } = session.port;
  const { state } = session;
  // Rows that the ledger counts in another list may have come in with the last pages.
  const isReading = walk.reading !== null && state.guests === 0;
  const isByDays = isReading && ranks !== null && isOrdered(state);
  if (walk.isFromEmpty) return isByDays || isStable(walk, state.ledgerCount + state.guests);
  if (!isByDays || walk.undated.length > undatedMax) return false;
  // Others may differ that are not named.
  if (state.checkpoint.differingDays.length >= differingDaysMax) return false;
  const held = await ranks.undated(undatedMax + 1);
  const met = new Set(walk.undated);
  return held.length === met.size && held.every((key) => met.has(key));
}

/** A list whose rows keep their order shows a row twice only where others have come in before it. */
function isStable(walk: WalkProgress, differentRows: number): boolean {
  const grown = Math.max(0, (walk.lastTotal ?? 0) - (walk.startTotal ?? 0));
  const readAgain = 2 * walk.rewinds * (walk.pageSize ?? 0);
  return walk.met - differentRows <= grown + readAgain;
}

/** The scan has noted its keys: rows that two scans in a row have not met have vanished. */
async function isNotedWhole<P extends PageFacts>(
  session: ListSession<P>,
  walk: WalkProgress,
): Promise<boolean> {
  const { notes, unlist } = session.port;
  if (!walk.isClean) return false;
  const unseen = await notes.unseen(unseenMax);
  const isShuffled = session.state.checkpoint.isShuffled || !isStable(walk, await notes.count());
  const areGuestsKnown = await settleGuests(session, { isShuffled, unseen });
  // Rows of some lists are never given up: what such a list does not show is a difference of the counts.
  const isUnseenKept = unlist === null && !isShuffled;
  const left =
    isUnseenKept || isShuffled
      ? unseen
      : await unlistTwiceUnseen(session, unseen, rowsMax(session.state, walk));
  const isOutdated = isShuffled && areNotesOutdated(session.state, left);
  session.apply(
    withCheckpoint(session.state, {
      unseen: left,
      isShuffled: isShuffled && !isOutdated,
    }),
  );
  if (isOutdated || !areGuestsKnown || (left.length > 0 && !isUnseenKept)) return false;
  session.apply(afterAllMet(session.state));
  session.settle(await notes.verifyAll(session.state));
  return true;
}

/**
 * Drops rows of another list that this one shows no longer. False: scans that add up may still meet some that were
 * dropped, or that are left.
 */
async function settleGuests<P extends PageFacts>(
  session: ListSession<P>,
  { isShuffled, unseen }: { isShuffled: boolean; unseen: string[] },
): Promise<boolean> {
  if (session.state.guests === 0) return true;
  if (!isShuffled || unseen.length === 0)
    session.settle(await session.port.notes.dropUnseenGuests(session.state));
  return !isShuffled;
}

/**
 * The scans that add up begin anew: all that the service counts was met in one or another, so that rows have vanished,
 * or the first of them began when no total was known.
 */
function areNotesOutdated(state: ListState, left: string[]): boolean {
  const surplus = surplusOf(state);
  return (surplus > 0 && surplus >= left.length) || isUncounted(state);
}

/** The same rows on other days: the list does not follow the times of its rows. */
function afterAllMet(state: ListState): ListState {
  const isOrderWrong = state.checkpoint.differingDays.length > 0 && !state.isOrderFixed;
  const listOrder = isOrderWrong ? 'unordered' : state.listOrder;
  return withCheckpoint({ ...state, listOrder }, { differingDays: [] });
}

/** Rows that the ledger has and the service does not count. */
function surplusOf(state: ListState): number {
  return -missingRows({ ...state, acceptedDifference: 0 });
}

/**
 * Equal counts say that no row has vanished. Pages that showed fewer rows than they had may hide what seems to have
 * vanished, unless the counts say so, too. A total that rose and fell may be that of two replicas in turn: a row may
 * have slipped through between their pages.
 */
function rowsMax(state: ListState, walk: WalkProgress): number {
  const { hasShortPages, unstorable, hasRisen, hasFallen } = walk;
  const surplus = surplusOf(state);
  if (surplus === 0) return 0;
  if (hasRisen && hasFallen) return 0;
  return hasShortPages || unstorable > 0 ? surplus : Number.POSITIVE_INFINITY;
}

/**
 * Marks the rows that the scan before did not meet either, nor any page since; returns what is left of those that this
 * scan has not met. Where more than `rowsMax` were not met, nobody can tell which of them have vanished.
 */
async function unlistTwiceUnseen<P extends PageFacts>(
  session: ListSession<P>,
  unseen: string[],
  rowsMax: number,
): Promise<string[]> {
  const unseenBefore = new Set(session.state.checkpoint.unseen);
  const vanished = unseen.filter((key) => unseenBefore.has(key));
  if (!(unseen.length <= rowsMax)) return unseen;
  if (vanished.length > 0) await session.unlist(vanished);
  return unseen.filter((key) => !unseenBefore.has(key));
}
