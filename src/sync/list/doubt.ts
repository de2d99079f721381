/**
 * Bounds of the cost of a doubt. Pure.
 *
 *   mismatch ─▶ check again ─▶ it persists ─▶ search by rank ─▶ full scan ─▶ explained, or accepted
 *
 * A mismatch persists while the rows counted when it was first seen are still missing, or still not counted. A total
 * that runs ahead or lags makes a new mismatch with every arrival, but none that persists. Requests for doubts stay
 * within the cost of ordinary reading, so that a service that counts wrong costs at most twice as much. A row in two
 * lists is a doubt of both, whatever they count: a row that came and one that moved away make counts equal. A backfill,
 * a short list in a command, and one full scan per AUDIT_CYCLE are exempt.
 */
import { type ListState, lastPage, missingRows, pagesFor, withCheckpoint } from './list-state.ts';

/** Bounds of the requests that one pass spends on a doubt. Times in ms. */
export type Effort = {
  /** Pauses before the end at which the list grows is checked again. */
  looksMs: readonly number[];
  /** Time for which, and number of passes in which, a mismatch must persist before it costs more than a check. */
  standMs: number;
  passesMin: number;
  /** Requests stay within the cost of ordinary reading. */
  isBounded: boolean;
  /** Requests of a full scan that is always allowed. */
  freeRequests: number;
  /** Time after a scan at which the next one is allowed, whatever earlier doubts have cost. */
  patienceMs: number;
};

const patientLooksMs = [1_000, 5_000, 15_000];
const patienceMs = 7 * 86_400_000;
const bounded = { isBounded: true, freeRequests: 0, patienceMs };
/**
 * Upper bound of the requests for a short list. A command ends, so it scans such a list rather than leave it in doubt.
 */
const shortList = 16;

/**
 * `daemon`: runs again soon. `command`: ends, so it should leave the list without a doubt. `pool`: reads a list once to
 * see its present content. `backfill`: has no bound.
 */
export const efforts = {
  daemon: { ...bounded, looksMs: [1_000], standMs: 20_000, passesMin: 3 },
  command: {
    ...bounded,
    looksMs: patientLooksMs,
    standMs: 0,
    passesMin: 1,
    freeRequests: shortList,
  },
  pool: { ...bounded, looksMs: [], standMs: 0, passesMin: 1 },
  backfill: { ...bounded, looksMs: patientLooksMs, standMs: 0, passesMin: 1, isBounded: false },
} satisfies Record<string, Effort>;

/** Factor on `standMs` for a ledger that is ahead of the service: the usual cause is a cached total. */
const lagFactor = 3;
/** Factor on `standMs` after which a mismatch is examined even if its rows change all the time. */
const busyFactor = 6;
const fruitlessMax = 10;
/**
 * Number of passes that scan a list in random order without success before the rows that it counts and does not show
 * are accepted.
 */
const hidingScans = 3;
/**
 * Number of consecutive passes that scan a short list in a command although the service refuses the page after its end.
 */
const unprovenScans = 2;
/** Share of the requests of ordinary reading that doubts may cost. */
const doubtShare = 0.95;
/** Requests per rewind: for the page that shows the removal, and for the page to which the scan returns. */
const requestsPerRewind = 2;
/** Lower bound of the pages that count as ordinary reading, so that a short list can be examined at once as well. */
const pagesMin = shortList;

/** Returns true if something about the list is not explained. */
export function isDoubtful(state: ListState): boolean {
  const { fallen, differingDays, isScanUnclean, unseen } = state.checkpoint;
  const isMismatch = state.serviceTotal !== null && missingRows(state) !== 0;
  return isMismatch || fallen > 0 || differingDays.length > 0 || isScanUnclean || unseen.length > 0;
}

/**
 * Returns the state with the times since which it has conflicts, and a total that seems to count too few rows. Call it
 * once per pass.
 */
export function afterStanding(state: ListState, now: number): ListState {
  const { conflictSince, totalOlderSince, isTotalOlder } = state.checkpoint;
  const since = {
    conflictSince: state.conflicts === 0 ? null : (conflictSince ?? now),
    totalOlderSince: isTotalOlder ? (totalOlderSince ?? now) : null,
  };
  const isSame = since.conflictSince === conflictSince && since.totalOlderSince === totalOlderSince;
  return isSame ? state : withCheckpoint(state, since);
}

/**
 * Returns true if a doubt that ordinary passes usually resolve has persisted for so long that only a full scan resolves
 * it. The scan shows which list has a row that two lists show. It also shows if pages are smaller than they claim, so
 * that their rows only seem to lie beyond the total.
 */
export function isScanDue(state: ListState, effort: Effort, now: number): boolean {
  const { conflictSince, totalOlderSince, isTotalOlder } = state.checkpoint;
  const isLong = (since: number | null) =>
    since !== null && now - since >= lagFactor * effort.standMs;
  const isEqual = missingRows(state) === 0 && state.acceptedDifference === 0;
  return (
    (state.conflicts > 0 && isLong(conflictSince)) ||
    (isTotalOlder && isEqual && isLong(totalOlderSince))
  );
}

/**
 * Returns the state with the mismatch noted. It is kept while it persists, and started again if it concerns other rows.
 * `now` is in Unix ms. `passes`: 1 once per pass, 0 for further checks within it.
 */
export function afterMismatch(state: ListState, now: number, passes: 0 | 1): ListState {
  const missing = missingRows(state);
  const { mismatch } = state.checkpoint;
  if (state.serviceTotal === null || missing === 0)
    return mismatch === null ? state : withCheckpoint(state, { mismatch: null });
  const stands = mismatch !== null && isStanding(state, mismatch);
  const isSameWay = mismatch !== null && mismatchSign(mismatch, state) === Math.sign(missing);
  const begun = isSameWay ? mismatch.begun : now;
  const { serviceTotal: total, ledgerCount: count } = state;
  const kept = stands ? mismatch : { total, count, since: now, begun, passes: 0 };
  return withCheckpoint(state, { mismatch: { ...kept, passes: kept.passes + passes } });
}

/** Returns the state after a search by rank without success: another search would read the same pages. */
export function afterSearch(state: ListState): ListState {
  const { mismatch } = state.checkpoint;
  return mismatch === null
    ? state
    : withCheckpoint(state, { mismatch: { ...mismatch, isSearched: true } });
}

/** Returns 1 if the service counted more rows, -1 if the ledger did. */
function mismatchSign(
  { total, count }: { total: number; count: number },
  { guests, acceptedDifference }: ListState,
): number {
  return Math.sign(total - count - guests - acceptedDifference);
}

/** Returns true if the rows of the mismatch are still missing, or still not counted. */
function isStanding(state: ListState, mismatch: { total: number; count: number }): boolean {
  const offset = state.guests + state.acceptedDifference;
  const isBehind = mismatchSign(mismatch, state) > 0;
  if (isBehind !== missingRows(state) > 0) return false;
  const total = state.serviceTotal ?? 0;
  return isBehind ? state.ledgerCount + offset < mismatch.total : total - offset < mismatch.count;
}

/**
 * Returns the state after a clean scan that began with the mismatch. The part of the mismatch that persists becomes
 * accepted: the service counts these rows and does not list them.
 */
export function afterAcceptance(state: ListState): ListState {
  const { mismatch } = state.checkpoint;
  if (mismatch === null || !isStanding(state, mismatch)) return state;
  const held = state.ledgerCount + state.guests + state.acceptedDifference;
  const missing = missingRows(state);
  const standing =
    missing > 0
      ? Math.min(missing, mismatch.total - held)
      : Math.max(
          missing,
          (state.serviceTotal ?? 0) - mismatch.count - state.guests - state.acceptedDifference,
        );
  return { ...state, acceptedDifference: state.acceptedDifference + standing };
}

/**
 * Returns true if the list may hide the rows that it counts: a list in random order repeats one row in the place of
 * another. If several scans find no such row, there is none.
 */
export function mayHide(state: ListState): boolean {
  const { fruitlessScans } = state.checkpoint;
  return state.listOrder === 'unordered' && missingRows(state) > 0 && fruitlessScans < hidingScans;
}

/** Returns true if the mismatch has persisted so long that a scan started now may accept it. */
export function isLongStanding({ checkpoint }: ListState, effort: Effort, now: number): boolean {
  const { mismatch } = checkpoint;
  return mismatch !== null && now - mismatch.since >= effort.standMs;
}

/** Returns true if the doubt justifies more than a check. */
export function isActionDue(state: ListState, effort: Effort, now: number): boolean {
  const { mismatch, fallen } = state.checkpoint;
  if (missingRows(state) === 0 || mismatch === null) return true;
  const isLag = missingRows(state) < 0 && fallen === 0;
  const standMs = effort.standMs * (isLag ? lagFactor : 1);
  const stands = mismatch.passes >= effort.passesMin && now - mismatch.since >= standMs;
  // Rows of a busy list come and go; they may hide a row that never arrives.
  return stands || now - mismatch.begun >= busyFactor * standMs;
}

/**
 * Returns true if the counts have differed for so long that neither is only briefly ahead. False if no pass follows
 * soon.
 */
export function isPastLooking({ checkpoint }: ListState, effort: Effort, now: number): boolean {
  const { mismatch } = checkpoint;
  const isFollowed = effort.isBounded && effort.passesMin > 1;
  return isFollowed && mismatch !== null && now - mismatch.begun >= effort.standMs;
}

/** Returns true if this number of further requests stays within the cost of ordinary reading. */
export function isAffordable(state: ListState, effort: Effort, requests: number): boolean {
  if (!effort.isBounded) return true;
  const ordinary = state.passes + Math.max(pagesMin, state.checkpoint.scannedPages);
  return requests <= doubtShare * ordinary - state.checkpoint.spentRequests;
}

/**
 * Returns true if a full scan is affordable. Each scan that explained nothing doubles the wait for the next one. One
 * scan per AUDIT_CYCLE, and one of few requests in a command, are always allowed, whatever earlier doubts have cost. A
 * list whose end cannot be shown is scanned in a few commands only.
 */
export function isScanAffordable(state: ListState, effort: Effort, now: number): boolean {
  const { fruitlessScans, scannedAt, isEndUnproven = false } = state.checkpoint;
  if (scannedAt !== null && now - scannedAt >= effort.patienceMs) return true;
  const isFree = !isEndUnproven || fruitlessScans < unprovenScans;
  if (isFree && requestsToScan(state) <= effort.freeRequests) return true;
  const patience = 2 ** Math.min(fruitlessScans, fruitlessMax);
  return isAffordable(state, effort, requestsToScan(state) * patience);
}

/**
 * Estimates the requests of a full scan. The list may continue beyond the service's total, and the scan may need as
 * many rewinds as the last one.
 */
function requestsToScan(state: ListState): number {
  const pages = Math.max(lastPage(state), pagesFor(state.ledgerCount + state.guests, state));
  return pages + 2 + requestsPerRewind * state.checkpoint.scanRewinds;
}

/** Returns the state after a scan. Rewinds show that the list cannot be read in order. */
export function afterRewinds(state: ListState, rewinds: number): ListState {
  const next = withCheckpoint(state, { scanRewinds: rewinds });
  // The first scan is not caused by a doubt; only its rewinds count.
  return state.checkpoint.walks === 0 ? afterSpending(next, requestsPerRewind * rewinds) : next;
}

export function afterSpending(state: ListState, requests: number): ListState {
  if (requests === 0) return state;
  const { spentRequests } = state.checkpoint;
  return withCheckpoint(state, { spentRequests: spentRequests + requests });
}
