import { undatedMax } from './decide-scan-step.ts';
import { afterRewinds, mayHide } from './doubt.ts';
import type { WalkProgress } from './list-checkpoint.ts';
import type { ListSession } from './list-session.ts';
import {
  differingDaysMax,
  isOrdered,
  type ListState,
  missingRows,
  orderOf,
  type PageFacts,
  withCheckpoint,
} from './list-state.ts';
import { resolveDifferingDays } from './resolve-days.ts';
import { isUncounted } from './scan-list.ts';

/** Upper bound of the rows missed by a scan that are kept for the next one. */
const unseenMax = 1_000;

/**
 * Judges a scan that has reached the list's end, and returns true if it was clean. A clean scan backs the counts from
 * now on: every page boundary was consistent, and the scan met exactly the rows that the ledger lists. In a list that
 * never marks rows as unlisted, rows not met become the accepted difference. Any other scan proves nothing; only the
 * rows that it brought remain.
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
  // Days that differ do not make the scan unclean: they remain as a separate doubt.
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

/** Sets the order that the complete scan has shown. */
function orderAfterScan(state: ListState, walk: WalkProgress): ListState {
  if (state.isOrderFixed) return state;
  return { ...state, listOrder: orderOf(walk) ?? state.listOrder };
}

/** Returns true if rows are missing that pages with too few rows may have omitted. */
function isHiding(state: ListState, walk: WalkProgress): boolean {
  return walk.hasShortPages && missingRows(explained(state)) > walk.unstorable;
}

/** Counts rows as the accepted difference if the scan did not meet them and the list never marks rows as unlisted. */
function explained(state: ListState): ListState {
  return { ...state, acceptedDifference: 0 - state.checkpoint.unseen.length };
}

function afterCleanScan(state: ListState, walk: WalkProgress): ListState {
  const backed = { ...explained(state), isBacked: true };
  const { differingDays, fallen, fallenBefore } = state.checkpoint;
  const differs = differingDays.length > 0;
  const isLeft = state.conflicts > 0 || state.checkpoint.isTotalOlder || mayHide(state);
  const isFruitless = differs || (isLeft && state.checkpoint.walks > 0);
  const missing = missingRows(backed);
  // If only rows that could not be stored are missing, they are the difference: the service counts them.
  const unstorable = missing > 0 && missing === walk.unstorable ? missing : 0;
  const accepted = { ...backed, acceptedDifference: backed.acceptedDifference + unstorable };
  return withCheckpoint(accepted, {
    walk: null,
    walks: state.checkpoint.walks + 1,
    scannedPages: pagesOfFirst(state, walk),
    totalAtLastMatch: walk.startTotal ?? 0,
    // Rows that were removed before the scan may be the reason why days differ.
    fallen: differs ? fallen : Math.max(0, fallen - (fallenBefore ?? 0)),
    isScanUnclean: false,
    unmatched: state.checkpoint.unseen.length + unstorable,
    unseen: [],
    isShuffled: false,
    fruitlessScans: isFruitless ? state.checkpoint.fruitlessScans + 1 : 0,
  });
}

/**
 * Returns the state after a clean scan by a reader that has no list state of its own. The scan met exactly the rows
 * that the ledger now lists, so the only doubt left is a fall of the total during the scan.
 */
export function afterWholeScan(
  state: ListState,
  { walk, state: seen }: { walk: WalkProgress; state: ListState },
): ListState {
  const { serviceTotal, totalObservation, pageSize, checkpoint } = seen;
  const reported = {
    ...orderAfterScan(state, walk),
    serviceTotal,
    totalObservation,
    pageSize: pageSize ?? state.pageSize,
  };
  const { isTotalOlder } = checkpoint;
  const met = withCheckpoint(reported, { unseen: [], differingDays: [], fallen: 0, isTotalOlder });
  return withCheckpoint(afterCleanScan(met, walk), { fallen: checkpoint.fallen });
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

/**
 * Returns true if the scan met exactly the rows that the ledger lists. Each day's rows were compared during the scan;
 * rows without a day are compared here.
 */
async function isReadWhole<P extends PageFacts>(
  session: ListSession<P>,
  walk: WalkProgress,
): Promise<boolean> {
  const { ranks } = session.port;
  const { state } = session;
  // Rows that the ledger counts in another list may have arrived with the last pages.
  const isReading = walk.reading !== null && state.guests === 0;
  const isByDays = isReading && ranks !== null && isOrdered(state);
  if (walk.isFromEmpty) return isByDays || isStable(walk, state.ledgerCount + state.guests);
  if (!isByDays || walk.undated.length > undatedMax) return false;
  // The list of days is full, so further days may differ.
  if (state.checkpoint.differingDays.length >= differingDaysMax) return false;
  const held = await ranks.undated(undatedMax + 1);
  const met = new Set(walk.undated);
  return held.length === met.size && held.every((key) => met.has(key));
}

/**
 * Returns true if repeated rows are explained by arrivals or rewinds: a list in a stable order repeats a row only then.
 */
function isStable(walk: WalkProgress, differentRows: number): boolean {
  const grown = Math.max(0, (walk.lastTotal ?? 0) - (walk.startTotal ?? 0));
  const readAgain = 2 * walk.rewinds * (walk.pageSize ?? 0);
  return walk.met - differentRows <= grown + readAgain;
}

/** Judges a scan that noted its keys. Rows that two scans in a row have not met have vanished. */
async function isNotedWhole<P extends PageFacts>(
  session: ListSession<P>,
  walk: WalkProgress,
): Promise<boolean> {
  const { notes, unlist } = session.port;
  if (!walk.isClean) return false;
  const unseen = await notes.unseen(unseenMax);
  const shown = session.takeUnstoredKeys();
  const isShuffled = session.state.checkpoint.isShuffled || !isStable(walk, await notes.count());
  const areGuestsKnown = await settleGuests(session, { isShuffled, unseen });
  // Some lists never mark rows as unlisted: rows that they do not show are a difference of the counts.
  const isUnseenKept = unlist === null && !isShuffled;
  const canVanish = !isUnseenKept && !isShuffled;
  const left = canVanish
    ? await unlistTwiceUnseen(session, { unseen, shown, rowsMax: rowsMax(session.state, walk) })
    : unseen;
  const isOutdated = isShuffled && areNotesOutdated(session.state, left);
  session.apply(
    withCheckpoint(session.state, {
      unseen: canVanish ? left.filter((key) => !shown.has(key)) : left,
      isShuffled: isShuffled && !isOutdated,
    }),
  );
  if (isOutdated || !areGuestsKnown || (left.length > 0 && !isUnseenKept)) return false;
  if (isHiding(session.state, walk)) return false;
  session.apply(afterAllMet(session.state));
  session.settle(await notes.verifyAll(session.state));
  return true;
}

/**
 * Drops the guests that this list no longer shows. Returns false if the list is shuffled: a later scan may still meet
 * guests that were dropped or kept.
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
 * Returns true if the accumulated scans must start again. Either they met every row that the service counts, so that
 * the other rows have vanished, or the first of them began without a total.
 */
function areNotesOutdated(state: ListState, left: string[]): boolean {
  const surplus = surplusOf(state);
  return (surplus > 0 && surplus >= left.length) || isUncounted(state);
}

/**
 * Clears the differing days. If the rows are equal and the days differ, the list does not follow the times of its rows.
 */
function afterAllMet(state: ListState): ListState {
  const isOrderWrong = state.checkpoint.differingDays.length > 0 && !state.isOrderFixed;
  const listOrder = isOrderWrong ? 'unordered' : state.listOrder;
  return withCheckpoint({ ...state, listOrder }, { differingDays: [] });
}

/** Counts the rows that the ledger has and the service does not count. */
function surplusOf(state: ListState): number {
  return -missingRows({ ...state, acceptedDifference: 0 });
}

/**
 * Returns the upper bound of the rows that may be marked as unlisted. Equal counts mean that no row has vanished. Pages
 * with too few rows may hide rows, so the bound is then the surplus.
 */
function rowsMax(state: ListState, walk: WalkProgress): number {
  const { hasShortPages, unstorable } = walk;
  const surplus = surplusOf(state);
  if (surplus === 0) return 0;
  if (!hasShortPages && unstorable === 0) return Number.POSITIVE_INFINITY;
  return state.checkpoint.isTotalOlder ? 0 : surplus;
}

/**
 * Marks rows as unlisted that were not met by this scan, by the scan before, or by any page in between. Rows that this
 * scan has read and not stored (`shown`) count as met. Returns the remaining rows that this scan has not met. If these
 * are more than `rowsMax`, nothing shows which of them have vanished, so all remain.
 */
async function unlistTwiceUnseen<P extends PageFacts>(
  session: ListSession<P>,
  { unseen, shown, rowsMax }: { unseen: string[]; shown: Set<string>; rowsMax: number },
): Promise<string[]> {
  const unseenBefore = new Set(session.state.checkpoint.unseen);
  const vanished = new Set(unseen.filter((key) => unseenBefore.has(key) && !shown.has(key)));
  if (!(unseen.length <= rowsMax)) return unseen;
  if (vanished.size > 0) await session.unlist([...vanished]);
  return unseen.filter((key) => !vanished.has(key));
}
