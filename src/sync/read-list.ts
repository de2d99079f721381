import { searchVanished } from './find-vanished.ts';
import type { ListPort } from './list-port.ts';
import { createListSession, type ListSession } from './list-session.ts';
import {
  isProven,
  type ListState,
  missingRows,
  type PageFacts,
  withCheckpoint,
} from './list-state.ts';
import { afterMismatch, isKnownMismatch, pollList } from './poll-list.ts';
import { type ScanResult, scanList } from './scan-list.ts';
import { searchList } from './search-list.ts';

/** Passes over which counts must disagree in the same way before the whole list is read for it. */
const mismatchPassesMax = 3;
/** An order that changes with every request shows about 63 % of the missing rows per scan. */
const scansMax = 14;
const scansWithoutNewRowsMax = 3;

export type ListVerdict = {
  /** The service's count and the ledger's are equal, and a full scan stands behind them. */
  isComplete: boolean;
  /** The scan stopped at a checkpoint and goes on in the next pass. */
  isPaused: boolean;
  /** Rows that the service counts and the ledger lacks; negative: the other way round; null: the service does not count. */
  missing: number | null;
};

/**
 * One pass over a list: brings the ledger in step with it at the least cost that still proves it. The ways, from
 * cheap to dear, each tried only when the one before left the counts unequal: the growing end, a search by rank
 * for rows that are missing or have vanished, a full scan, a scan one page after another. `allowFullRescan` false
 * leaves out the scans, except the first.
 */
export async function readList<P extends PageFacts>(
  port: ListPort<P>,
  state: ListState,
  allowFullRescan: boolean,
): Promise<ListVerdict> {
  const session = createListSession(port, state);
  let scanned: ScanResult | null = null;
  if (!state.isBacked || state.checkpoint.walk !== null) {
    if (isHeadWorthReading(state)) await pollList(session);
    scanned = await scanList(session, false);
  }
  if (!scanned?.isPaused && !(await trySettleCheaply(session, scanned))) {
    if (allowFullRescan && isScanDue(session.state, scanned !== null)) {
      scanned = await scanUntilSettled(session, scanned !== null);
    }
  }
  if (scanned?.isPaused) return verdictOf(session.state, true);
  const next = afterPass(session.state, scanned);
  if (JSON.stringify(next) !== JSON.stringify(session.state)) {
    session.apply(next);
    await session.store([]);
  }
  return verdictOf(session.state, false);
}

async function trySettleCheaply<P extends PageFacts>(
  session: ListSession<P>,
  scanned: ScanResult | null,
): Promise<boolean> {
  // What the scan itself could not store explains a difference of just that many rows.
  if (scanned && missingRows(session.state) === scanned.unstorable) return true;
  if ((await pollList(session)) || (await searchList(session))) return true;
  return isSurplusStanding(session.state) && (await searchVanished(session));
}

/** While a first scan takes its time, what arrives at the start of the list is not to wait for its end. */
function isHeadWorthReading(state: ListState): boolean {
  return (state.checkpoint.walk?.nextPage ?? 1) > 1 && state.listOrder === 'newest-first';
}

/** A total that only lags catches up in a pass or two; what stays away has gone. */
function isSurplusStanding(state: ListState): boolean {
  const { countMismatch } = state.checkpoint;
  return isKnownMismatch(state) && (countMismatch?.passes ?? 0) + 1 >= mismatchPassesMax;
}

/** Too few rows: at once. Too many: the total may only lag, so only when it stays so. */
function isScanDue(state: ListState, hasScanned: boolean): boolean {
  return hasScanned || missingRows(state) > 0 || isSurplusStanding(state);
}

async function scanUntilSettled<P extends PageFacts>(
  session: ListSession<P>,
  hasScanned: boolean,
): Promise<ScanResult> {
  let scansWithoutNewRows = 0;
  for (let scans = 1; ; scans += 1) {
    const before = session.state.ledgerCount;
    const isSequential = hasScanned || scans > 1;
    const scanned = await scanList(session, isSequential);
    const isSettled =
      scanned.isPaused || missingRows(session.state) === 0 || (await pollList(session));
    if (isSettled) return scanned;
    scansWithoutNewRows = session.state.ledgerCount > before ? 0 : scansWithoutNewRows + 1;
    const isHopeless =
      session.state.listOrder !== 'unordered' || scansWithoutNewRows === scansWithoutNewRowsMax;
    if (scans === scansMax || (isSequential && isHopeless)) return scanned;
  }
}

/**
 * The state that a pass leaves: counts that agree are settled; after a scan the difference that is left is accepted
 * (the proof is off until the counts are equal again); any other is watched.
 */
function afterPass(state: ListState, scanned: ScanResult | null): ListState {
  const accepted = acceptedDifference(state, scanned);
  const next = { ...state, acceptedDifference: accepted };
  if (missingRows(next) !== 0 && next.serviceTotal !== null) return afterMismatch(next);
  const totalAtLastMatch = next.serviceTotal ?? next.ledgerCount;
  return withCheckpoint(next, { totalAtLastMatch, countMismatch: null });
}

/**
 * What a scan leaves unexplained and a further one would leave, too. Rows that came in during or after the scan, or
 * that an unordered list did not happen to show, may still be there: they stay missing.
 */
function acceptedDifference(state: ListState, scanned: ScanResult | null): number {
  if (isProven(state)) return 0;
  if (!scanned) return state.acceptedDifference;
  const gap = state.serviceTotal === null ? 0 : state.serviceTotal - state.ledgerCount;
  const hasGrown = scanned.hasGrown || (state.serviceTotal ?? 0) > (scanned.endTotal ?? 0);
  const mayYetCome = hasGrown || state.listOrder === 'unordered';
  return gap > 0 && mayYetCome ? Math.min(gap, scanned.unstorable) : gap;
}

function verdictOf(state: ListState, isPaused: boolean): ListVerdict {
  const { serviceTotal, ledgerCount } = state;
  return {
    isComplete: isProven(state) && !isPaused,
    isPaused,
    missing: serviceTotal === null ? null : serviceTotal - ledgerCount,
  };
}
