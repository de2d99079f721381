import type { ReadDays } from '../../kernel/vocabulary.ts';
import { concludeScan } from './conclude-scan.ts';
import {
  afterAcceptance,
  afterMismatch,
  afterSearch,
  afterSpending,
  afterStanding,
  type Effort,
  isActionDue,
  isAffordable,
  isDoubtful,
  isLongStanding,
  isPastLooking,
  isScanAffordable,
  isScanDue,
  mayHide,
} from './doubt.ts';
import { searchVanished } from './find-vanished.ts';
import type { ListPort } from './list-port.ts';
import { createListSession, type ListSession } from './list-session.ts';
import {
  isFirstScan,
  isProven,
  type ListState,
  lastPage,
  missingRows,
  type PageFacts,
  withCheckpoint,
} from './list-state.ts';
import { createPassScans, type PassScans } from './pass-scans.ts';
import { isKnownCounts } from './poll.ts';
import { pollList } from './poll-list.ts';
import { joinDays } from './read-days.ts';
import { resolveDifferingDays } from './resolve-days.ts';
import { scanList } from './scan-list.ts';
import { searchList } from './search-list.ts';

export type ListVerdict = {
  /** The ledger provably lists exactly the rows that the service lists. */
  isComplete: boolean;
  /** The scan stopped at a checkpoint and continues in the next pass. */
  isPaused: boolean;
  /** Rows that the service counts and the ledger lacks. Negative: the ledger has more. Null: no total is known. */
  missing: number | null;
};

/** State of one pass. */
type Pass<P extends PageFacts> = {
  session: ListSession<P>;
  effort: Effort;
  scans: PassScans;
  /** Days that polls have read completely; marked as verified after new rows were stored. */
  days: ReadDays | null;
  inserted: number;
  /**
   * The service's total after the last poll: rows that a later total counts may lie at the end that the poll has read.
   */
  polledTotal: number | null;
};

/**
 * Runs one pass over a list, or a slice of it: brings the ledger in step with it at the least cost that still proves
 * it. `effort` bounds the cost of a doubt, `scans` counts over the slices of the pass.
 *
 * The steps, from cheap to expensive, each only if the one before left a doubt:
 * 1. It reads the end where the list grows, and checks it again after a pause.
 * 2. It searches by rank for missing or vanished rows.
 * 3. It runs a full scan.
 */
export async function readList<P extends PageFacts>(
  port: ListPort<P>,
  state: ListState,
  effort: Effort,
  scans: PassScans = createPassScans(),
): Promise<ListVerdict> {
  const session = createListSession(port, state);
  const pass: Pass<P> = { session, effort, scans, days: null, inserted: 0, polledTotal: null };
  session.apply(afterStanding(state, port.now()));
  const isFirst = isFirstScan(state);
  if (isFirst || state.checkpoint.walk !== null) {
    if (isHeadWorthReading(state)) await poll(pass);
    const isPaused = isFirst
      ? await scanOnce(pass, false)
      : await spending(pass, () => scanOnce(pass, false));
    if (isPaused) return verdictOf(session.state, true);
    session.apply(scans.afterScan(session.state));
  }
  await poll(pass);
  const isPaused = await resolveDoubts(pass);
  if (!isPaused) await endPass(pass);
  return verdictOf(session.state, isPaused);
}

/**
 * Returns true if the list's start should be read first: rows that arrive there must not wait for the end of a scan.
 */
export function isHeadWorthReading(state: ListState): boolean {
  return (state.checkpoint.walk?.nextPage ?? 1) > 1 && state.listOrder === 'newest-first';
}

async function poll<P extends PageFacts>(pass: Pass<P>): Promise<void> {
  const { inserted, days } = await pollList(pass.session);
  pass.inserted += inserted;
  pass.polledTotal = pass.session.state.serviceTotal;
  pass.days = days === null ? pass.days : joinDays(pass.days, days);
}

/** Resolves the doubts that the poll left, if that is due and affordable. Returns true if a scan was paused. */
async function resolveDoubts<P extends PageFacts>(pass: Pass<P>): Promise<boolean> {
  const { session, effort } = pass;
  if (!isUnresolved(pass)) return false;
  await lookAgain(pass);
  const now = session.port.now();
  session.apply(afterMismatch(session.state, now, 1));
  if (!isUnresolved(pass) || !isActionDue(session.state, effort, now)) return false;
  await search(pass);
  return isUnresolved(pass) && (await scanAgain(pass));
}

/**
 * Returns true if something about the list is not explained. What passes usually explain counts only after some time.
 */
function isUnresolved<P extends PageFacts>({ session, effort, scans }: Pass<P>): boolean {
  const { state, port } = session;
  return isDoubtful(state) || (!scans.wasClean() && isScanDue(state, effort, port.now()));
}

/** Runs `work` for a doubt and records its requests, unless they have brought rows. */
async function spending<P extends PageFacts, T>(
  { session }: Pass<P>,
  work: () => Promise<T>,
  isNews: () => boolean = () => false,
): Promise<T> {
  const requestsBefore = session.requests;
  try {
    return await work();
  } finally {
    const spent = isNews() ? 0 : session.requests - requestsBefore;
    session.apply(afterSpending(session.state, spent));
  }
}

/** Polls again after a pause. If the total is only briefly ahead or behind, no further requests are needed. */
async function lookAgain<P extends PageFacts>(pass: Pass<P>): Promise<void> {
  const { session, effort } = pass;
  for (const pauseMs of effort.looksMs) {
    const { state } = session;
    const missing = missingRows(state);
    // A daemon runs again soon enough to see a late count.
    const isWorthALook = effort.isBounded && effort.passesMin > 1 ? missing > 0 : missing !== 0;
    if (Number.isNaN(missing) || !isWorthALook || isKnownCounts(state)) return;
    // Polling again in every pass would leave no requests for a search.
    if (isPastLooking(state, effort, session.port.now()) || !isAffordable(state, effort, 1)) return;
    session.apply(afterMismatch(state, session.port.now(), 0));
    await session.port.wait(pauseMs);
    await spending(pass, () => poll(pass));
  }
}

async function search<P extends PageFacts>(pass: Pass<P>): Promise<void> {
  const { session, effort } = pass;
  const cost = Math.log2(lastPage(session.state)) + 4;
  if (!isAffordable(session.state, effort, cost)) return;
  if (session.state.checkpoint.mismatch?.isSearched && effort.isBounded) return;
  // Does not compare the difference of the counts: a total that changes with each answer brings no row.
  const held = () => session.state.ledgerCount + session.state.guests;
  const heldBefore = held();
  const work = async () => {
    // Equal counts mean the same result as at the last attempt.
    if (!isKnownCounts(session.state)) await resolveDifferingDays(session);
    if (missingRows(session.state) > 0) await searchList(session);
    else if (missingRows(session.state) < 0) await searchVanished(session);
  };
  await spending(pass, work, () => held() !== heldBefore);
  if (held() === heldBefore) session.apply(afterSearch(session.state));
}

async function scanAgain<P extends PageFacts>(pass: Pass<P>): Promise<boolean> {
  const { session, effort, scans } = pass;
  const isAffordableNow = () => isScanAffordable(session.state, effort, session.port.now());
  while (scans.mayBegin() && isUnresolved(pass) && isAffordableNow()) {
    scans.begin(session.state);
    const isPaused = await spending(pass, () => scanOnce(pass, scans.begun() > 1));
    if (isPaused) return true;
    session.apply(scans.afterScan(session.state));
  }
  return false;
}

/** Runs a scan to its end; returns true if it was paused. */
async function scanOnce<P extends PageFacts>(
  pass: Pass<P>,
  isSequential: boolean,
): Promise<boolean> {
  const { session } = pass;
  const hadMismatch = isLongStanding(session.state, pass.effort, session.port.now());
  session.port.scanning?.(isFirstScan(session.state) ? 'first' : 'further');
  const scan = await scanList(session, { isSequential, hadMismatch }).finally(() =>
    session.port.scanning?.(null),
  );
  if (scan.isPaused) return true;
  session.apply(withCheckpoint(session.state, { isEndUnproven: scan.isEndRefused || undefined }));
  const isClean = await concludeScan(session, scan.walk);
  if (missingRows(session.state) !== 0) await poll(pass);
  const mayAccept = isClean && scan.walk.hadMismatch && !mayHide(session.state);
  if (mayAccept) session.apply(afterAcceptance(session.state));
  return false;
}

/** Stores the state at the end of the pass, and marks the days that it has read again. */
export async function endPass<P extends PageFacts>(
  pass: Pick<Pass<P>, 'session' | 'days' | 'inserted' | 'polledTotal'>,
): Promise<void> {
  const { session } = pass;
  session.apply(afterPass(session.state, pass.polledTotal));
  const days = pass.inserted > 0 && missingRows(session.state) === 0 ? pass.days : null;
  if (!session.isDirty && days === null) return;
  await session.prepare({ pages: [], days, isGlance: true })();
}

function afterPass(state: ListState, polledTotal: number | null): ListState {
  const isMatch = missingRows(state) === 0 || state.serviceTotal === null;
  return withCheckpoint(state, {
    lastSeen: { total: polledTotal, count: state.ledgerCount },
    mismatch: isMatch ? null : state.checkpoint.mismatch,
    totalAtLastMatch: isMatch
      ? (state.serviceTotal ?? state.ledgerCount)
      : state.checkpoint.totalAtLastMatch,
  });
}

function verdictOf(state: ListState, isPaused: boolean): ListVerdict {
  const { serviceTotal, ledgerCount } = state;
  return {
    isComplete: isProven(state) && !isPaused,
    isPaused,
    missing: serviceTotal === null ? null : serviceTotal - ledgerCount,
  };
}
