import { concludeScan } from './conclude-scan.ts';
import {
  afterAcceptance,
  afterMismatch,
  afterSpending,
  type Effort,
  isActionDue,
  isAffordable,
  isDoubtful,
  isLongStanding,
  isScanAffordable,
} from './doubt.ts';
import { searchVanished } from './find-vanished.ts';
import type { ListPort } from './list-port.ts';
import { createListSession, type ListSession } from './list-session.ts';
import {
  isProven,
  type ListState,
  lastPage,
  missingRows,
  type PageFacts,
  withCheckpoint,
} from './list-state.ts';
import { isKnownCounts, pollList } from './poll-list.ts';
import { joinDays, type ReadDays } from './read-days.ts';
import { resolveDifferingDays } from './resolve-days.ts';
import { scanList } from './scan-list.ts';
import { searchList } from './search-list.ts';

/** An order that changes with every request shows about 63 % of the missing rows per scan. */
const scansMax = 14;
const scansWithoutNewRowsMax = 3;

export type ListVerdict = {
  /** The ledger provably lists just what the service lists. */
  isComplete: boolean;
  /** The scan stopped at a checkpoint and goes on in the next pass. */
  isPaused: boolean;
  /** Rows that the service counts and the ledger lacks; negative: the other way round; null: the service does not count. */
  missing: number | null;
};

/** One pass's hands, and what it has come to so far. */
type Pass<P extends PageFacts> = {
  session: ListSession<P>;
  effort: Effort;
  /** Days that polls have read wholly; marked when rows have come in. */
  days: ReadDays | null;
  inserted: number;
};

/**
 * One pass over a list: brings the ledger in step with it at the least cost that still proves it. The ways, from
 * cheap to dear, each tried only when the one before left a doubt: the growing end, another look at it, a search by
 * rank for rows that are missing or have vanished, a full scan. `effort` bounds what a doubt may cost.
 */
export async function readList<P extends PageFacts>(
  port: ListPort<P>,
  state: ListState,
  effort: Effort,
): Promise<ListVerdict> {
  const session = createListSession(port, state);
  const pass: Pass<P> = { session, effort, days: null, inserted: 0 };
  const isFirst = !state.isBacked && state.checkpoint.walks === 0;
  if (isFirst || state.checkpoint.walk !== null) {
    if (isHeadWorthReading(state)) await poll(pass);
    const isPaused = isFirst
      ? await scanOnce(pass, false)
      : await spending(pass, () => scanOnce(pass, false));
    if (isPaused) return verdictOf(session.state, true);
  }
  await poll(pass);
  const isPaused = await resolveDoubts(pass);
  if (!isPaused) await endPass(pass);
  return verdictOf(session.state, isPaused);
}

/** While a scan takes its time, what arrives at the start of the list is not to wait for its end. */
function isHeadWorthReading(state: ListState): boolean {
  return (state.checkpoint.walk?.nextPage ?? 1) > 1 && state.listOrder === 'newest-first';
}

async function poll<P extends PageFacts>(pass: Pass<P>): Promise<void> {
  const { inserted, days } = await pollList(pass.session);
  pass.inserted += inserted;
  pass.days = days === null ? pass.days : joinDays(pass.days, days);
}

/** Explains what the growing end did not, as far as it is due and affordable. True: a scan was paused. */
async function resolveDoubts<P extends PageFacts>(pass: Pass<P>): Promise<boolean> {
  const { session, effort } = pass;
  if (!isDoubtful(session.state)) return false;
  await lookAgain(pass);
  const now = session.port.now();
  session.apply(afterMismatch(session.state, now, 1));
  if (!isDoubtful(session.state) || !isActionDue(session.state, effort, now)) return false;
  await search(pass);
  return isDoubtful(session.state) && (await scanAgain(pass));
}

/** Does something for a doubt, and notes what it has cost. */
async function spending<P extends PageFacts, T>(
  { session }: Pass<P>,
  work: () => Promise<T>,
): Promise<T> {
  const requestsBefore = session.requests;
  try {
    return await work();
  } finally {
    session.apply(afterSpending(session.state, session.requests - requestsBefore));
  }
}

/** A total that runs a moment ahead or behind costs a look, no more. */
async function lookAgain<P extends PageFacts>(pass: Pass<P>): Promise<void> {
  const { session, effort } = pass;
  for (const pauseMs of effort.looksMs) {
    const { state } = session;
    const missing = missingRows(state);
    // A daemon comes again soon enough to see a late count.
    const isWorthALook = effort.isBounded && effort.passesMin > 1 ? missing > 0 : missing !== 0;
    if (Number.isNaN(missing) || !isWorthALook || isKnownCounts(state)) return;
    if (!isAffordable(state, effort, 1)) return;
    session.apply(afterMismatch(state, session.port.now(), 0));
    await session.port.wait(pauseMs);
    await spending(pass, () => poll(pass));
  }
}

async function search<P extends PageFacts>(pass: Pass<P>): Promise<void> {
  const { session, effort } = pass;
  const cost = Math.log2(lastPage(session.state)) + 4;
  if (!isAffordable(session.state, effort, cost)) return;
  const isNewToSearch = (session.state.checkpoint.mismatch?.passes ?? 0) <= effort.passesMin;
  if (!isNewToSearch && effort.isBounded) return;
  await spending(pass, async () => {
    // With the same counts as at the last try they would differ again.
    if (!isKnownCounts(session.state)) await resolveDifferingDays(session);
    if (missingRows(session.state) > 0) await searchList(session);
    else if (missingRows(session.state) < 0) await searchVanished(session);
  });
}

async function scanAgain<P extends PageFacts>(pass: Pass<P>): Promise<boolean> {
  const { session, effort } = pass;
  let scansWithoutNewRows = 0;
  const { fruitlessScans } = session.state.checkpoint;
  const isAffordableNow = () => isScanAffordable(session.state, effort, session.port.now());
  for (let scans = 1; scans <= scansMax && isAffordableNow(); scans += 1) {
    const { ledgerCount, checkpoint } = session.state;
    const isPaused = await spending(pass, () => scanOnce(pass, scans > 1));
    if (isPaused) return true;
    // The scans of one pass count as one: the back-off is about the passes to come.
    session.apply(withFruitlessAtMost(session.state, fruitlessScans + 1));
    const hasProgressed =
      session.state.ledgerCount > ledgerCount ||
      session.state.checkpoint.unseen.length < checkpoint.unseen.length;
    scansWithoutNewRows = hasProgressed ? 0 : scansWithoutNewRows + 1;
    if (!isDoubtful(session.state) || scansWithoutNewRows === scansWithoutNewRowsMax) return false;
  }
  return false;
}

function withFruitlessAtMost(state: ListState, most: number): ListState {
  const { fruitlessScans } = state.checkpoint;
  return fruitlessScans <= most ? state : withCheckpoint(state, { fruitlessScans: most });
}

/** A scan to its end, or to a pause (true). */
async function scanOnce<P extends PageFacts>(
  pass: Pass<P>,
  isSequential: boolean,
): Promise<boolean> {
  const { session } = pass;
  const hadMismatch = isLongStanding(session.state, pass.effort, session.port.now());
  const scan = await scanList(session, { isSequential, hadMismatch });
  if (scan.isPaused) return true;
  const isClean = await concludeScan(session, scan.walk);
  if (missingRows(session.state) !== 0) await poll(pass);
  // An order that changes with every request may still hide rows.
  const isHidden = session.state.listOrder === 'unordered' && missingRows(session.state) > 0;
  if (isClean && scan.walk.hadMismatch && !isHidden) session.apply(afterAcceptance(session.state));
  return false;
}

/** Writes down where the pass has come to, and marks the days that it has read anew. */
async function endPass<P extends PageFacts>(pass: Pass<P>): Promise<void> {
  const { session } = pass;
  session.apply(afterPass(session.state));
  const days = pass.inserted > 0 && missingRows(session.state) === 0 ? pass.days : null;
  if (!session.isDirty && days === null) return;
  await session.prepare({ pages: [], days, isGlance: true })();
}

function afterPass(state: ListState): ListState {
  const isMatch = missingRows(state) === 0 || state.serviceTotal === null;
  return withCheckpoint(state, {
    lastSeen: { total: state.serviceTotal, count: state.ledgerCount },
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
