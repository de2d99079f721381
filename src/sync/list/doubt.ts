/**
 * What a difference between the counts may cost. Pure.
 *
 *   mismatch ─▶ look again ─▶ stands ─▶ search by rank ─▶ full scan ─▶ explained, or accepted
 *
 * A mismatch stands while the rows that were counted when it was first seen have not come in (or have not been counted):
 * a total that runs ahead or lags makes a new mismatch with every arrival, but none that stands. Whatever is done for
 * doubts stays within what ordinary reading has cost, so that a service that counts wrong costs at most twice one that
 * counts right.
 */
import { type ListState, lastPage, missingRows, pagesFor, withCheckpoint } from './list-state.ts';

/** What a pass may do about a doubt. */
export type Effort = {
  /** Pauses before the list's growing end is looked at again. */
  looksMs: readonly number[];
  /** A mismatch must have stood for so long, and over so many passes, before it costs more than a look. */
  standMs: number;
  passesMin: number;
  /** Requests stay within what ordinary reading has cost. */
  isBounded: boolean;
  /** So long after a scan the next one is owed, whatever earlier doubts have cost. */
  patienceMs: number;
};

const patientLooksMs = [1_000, 5_000, 15_000];
const patienceMs = 7 * 86_400_000;

/**
 * `daemon`: comes again soon; `command`: ends, and should leave the list settled; `pool`: reads a list at once to see
 * what it holds now; `backfill`: whatever it takes.
 */
export const efforts = {
  daemon: { looksMs: [1_000], standMs: 20_000, passesMin: 3, isBounded: true, patienceMs },
  command: { looksMs: patientLooksMs, standMs: 0, passesMin: 1, isBounded: true, patienceMs },
  pool: { looksMs: [], standMs: 0, passesMin: 1, isBounded: true, patienceMs },
  backfill: { looksMs: patientLooksMs, standMs: 0, passesMin: 1, isBounded: false, patienceMs },
} satisfies Record<string, Effort>;

/** A ledger that is ahead mostly waits for a cached total. */
const lagFactor = 3;
/** A mismatch that never stands, but never ends either, is looked into all the same. */
const busyFactor = 6;
const fruitlessMax = 10;
/** Of what ordinary reading has cost. */
const doubtShare = 0.95;
/** The page on which it is noticed, and the one to which the scan goes back. */
const requestsPerRewind = 2;
/** A short list may be looked into at once, too. */
const pagesMin = 16;

/** Something about the list is not explained. */
export function isDoubtful(state: ListState): boolean {
  const { fallen, differingDays, isScanUnclean, unseen } = state.checkpoint;
  const isMismatch = state.serviceTotal !== null && missingRows(state) !== 0;
  return isMismatch || fallen > 0 || differingDays.length > 0 || isScanUnclean || unseen.length > 0;
}

/**
 * The state with the mismatch noted: kept while it stands, begun anew when other rows are concerned. `passes`: how many
 * passes it has stood for since it was noted last.
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

/** 1: the service counted more; -1: the ledger did. */
function mismatchSign(
  { total, count }: { total: number; count: number },
  { guests, acceptedDifference }: ListState,
): number {
  return Math.sign(total - count - guests - acceptedDifference);
}

/** The rows that the mismatch was about are still missing, or still not counted. */
function isStanding(state: ListState, mismatch: { total: number; count: number }): boolean {
  const offset = state.guests + state.acceptedDifference;
  const isBehind = mismatchSign(mismatch, state) > 0;
  if (isBehind !== missingRows(state) > 0) return false;
  const total = state.serviceTotal ?? 0;
  return isBehind ? state.ledgerCount + offset < mismatch.total : total - offset < mismatch.count;
}

/**
 * The state after a clean scan that began with the mismatch: what still stands of it, the service counts and does not
 * list.
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

/** The mismatch has stood long enough for a scan that begins now to say that the list does not show it. */
export function isLongStanding({ checkpoint }: ListState, effort: Effort, now: number): boolean {
  const { mismatch } = checkpoint;
  return mismatch !== null && now - mismatch.since >= effort.standMs;
}

/** The doubt is worth more than a look. */
export function isActionDue(state: ListState, effort: Effort, now: number): boolean {
  const { mismatch, fallen } = state.checkpoint;
  if (missingRows(state) === 0 || mismatch === null) return true;
  const isLag = missingRows(state) < 0 && fallen === 0;
  const standMs = effort.standMs * (isLag ? lagFactor : 1);
  const stands = mismatch.passes >= effort.passesMin && now - mismatch.since >= standMs;
  // On a busy list other rows may hide one that never comes.
  return stands || now - mismatch.begun >= busyFactor * standMs;
}

/** So many further requests are within what ordinary reading has cost. */
export function isAffordable(state: ListState, effort: Effort, requests: number): boolean {
  if (!effort.isBounded) return true;
  const ordinary = state.passes + Math.max(pagesMin, state.checkpoint.scannedPages);
  return requests <= doubtShare * ordinary - state.checkpoint.spentRequests;
}

/**
 * Each scan that explained nothing makes the next one wait twice as long. One in AUDIT_CYCLE is owed, whatever earlier
 * doubts have cost.
 */
export function isScanAffordable(state: ListState, effort: Effort, now: number): boolean {
  const { fruitlessScans, scannedAt } = state.checkpoint;
  if (scannedAt !== null && now - scannedAt >= effort.patienceMs) return true;
  const patience = 2 ** Math.min(fruitlessScans, fruitlessMax);
  return isAffordable(state, effort, requestsToScan(state) * patience);
}

/** The list may go on behind what the service counts, and the scan may have to go back as often as the last one. */
function requestsToScan(state: ListState): number {
  const pages = Math.max(lastPage(state), pagesFor(state.ledgerCount + state.guests, state));
  return pages + 2 + requestsPerRewind * state.checkpoint.scanRewinds;
}

/** The state after a scan: where it had to go back, the list is not one that can be read in order. */
export function afterRewinds(state: ListState, rewinds: number): ListState {
  const next = withCheckpoint(state, { scanRewinds: rewinds });
  // What the first scan costs is no doubt's cost, but for this.
  return state.checkpoint.walks === 0 ? afterSpending(next, requestsPerRewind * rewinds) : next;
}

export function afterSpending(state: ListState, requests: number): ListState {
  if (requests === 0) return state;
  const { spentRequests } = state.checkpoint;
  return withCheckpoint(state, { spentRequests: spentRequests + requests });
}
