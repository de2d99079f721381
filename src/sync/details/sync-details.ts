import { randomUUID } from 'node:crypto';
import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { settleAllThenThrow } from '../../kernel/settle-all-then-throw.ts';
import { claimHintedDetails } from '../../ledger/hint-store.ts';
import {
  type Claim,
  type ClaimedDetail,
  isFinalDetailHeld,
} from '../../ledger/transactions/detail-checks.ts';
import { claimRefusedDetails } from '../../ledger/transactions/refused-details.ts';
import {
  addCounts,
  emptyReport,
  type Progress,
  type SyncContext,
  type SyncReport,
} from '../sync-context.ts';
import { claimLeaseMs, type DetailPort, type DetailTools, openDetailPort } from './detail-port.ts';
import { fetchClaimed } from './fetch-claimed.ts';
import { beginPass, type DetailPass } from './fetch-detail.ts';
import { openLine, type Place } from './stand-in-line.ts';

/** Number of concurrent claims, so that one fetches while the other one stores. */
const parallelClaims = 2;
/** Planned duration (ms) of a claim at the pace of the one before: far below the lease, with few statements per row. */
const claimWorkMs = 2_000;
const claimedMax = 500;
/** Refused details that a command requests before it stops if none of them was answered. */
const refusedProbeMax = 100;
/** Upper bound of the wait (ms) for rows that another worker holds, slightly longer than its lease. */
const othersWaitMs = 35_000;
const othersPollMs = 250;

/**
 * Fetches the details of all due rows (docs/wallet-service-api.md, section 4.4), oldest due first, shared with any
 * number of other workers. A failure that concerns one row postpones it and does not stop the others. Throws any other
 * error, for example if the service is down.
 */
export async function syncDetails(
  context: SyncContext,
  signal: AbortSignal,
  onProgress?: Progress,
  pass = beginPass(),
): Promise<SyncReport> {
  const details = openDetailPort(context.ledger);
  return await syncDetailsThrough({ ...context, details }, signal, onProgress, pass);
}

/** Does the same as `syncDetails`, through an open port. */
export async function syncDetailsThrough(
  context: DetailTools,
  signal: AbortSignal,
  onProgress?: Progress,
  pass = beginPass(),
): Promise<SyncReport> {
  const report = emptyReport();
  const { incomplete } = await context.details.countIncomplete();
  if (incomplete === 0) return report;
  onProgress?.('details', 0, incomplete);
  const claims = {
    takePlace: openLine(),
    pass,
    claimRows: context.details.claim,
    mostAfter: () => claimedMax,
    onClaimed: () =>
      onProgress?.('details', report.rowsSeen, Math.max(incomplete, report.rowsSeen)),
  };
  const work = () => syncClaims(context, signal, report, claims);
  await settleAllThenThrow(Array.from({ length: parallelClaims }, work));
  report.isComplete = (await context.details.countIncomplete()).finalIncomplete === 0;
  return report;
}

/**
 * Does the same as `syncDetails` in one pass, for a command. Also requests once each detail that was refused before,
 * without waiting for the end of its pause. Then waits for the final rows that other workers hold, until the claims of
 * dead workers end.
 */
export async function syncAllDetails(
  context: SyncContext,
  signal: AbortSignal,
  onProgress?: Progress,
): Promise<SyncReport> {
  const pass = beginPass();
  const report = await syncDetails(context, signal, onProgress, pass);
  const details = openDetailPort(context.ledger);
  await syncRefusedDetails({ ...context, details }, signal, report, { pass, onProgress });
  report.isComplete = (await details.countIncomplete()).finalIncomplete === 0;
  const deadline = performance.now() + othersWaitMs;
  let isAnyHeld = !report.isComplete;
  while (isAnyHeld && !report.isComplete && performance.now() < deadline) {
    // Checked before the next claims: a row that is released in between is due, and they claim it.
    isAnyHeld = await isFinalDetailHeld(context.ledger.db);
    if (isAnyHeld) await abortableSleep(othersPollMs, signal);
    const more = await syncDetails(context, signal, onProgress, pass);
    addCounts(report, more);
    report.isComplete = more.isComplete;
  }
  return report;
}

/**
 * Requests once each detail that was refused before the pass and is not due yet. Stops early if none of the first ones
 * is answered, so that a service that refuses all of them costs few requests.
 */
async function syncRefusedDetails(
  context: SyncContext & DetailTools,
  signal: AbortSignal,
  report: SyncReport,
  { pass, onProgress }: { pass: DetailPass; onProgress: Progress | undefined },
): Promise<void> {
  const before = report.rowsSeen;
  const { incomplete } = await context.details.countIncomplete();
  await syncClaims(context, signal, report, {
    takePlace: openLine(),
    pass,
    claimRows: (...asked) => claimRefusedDetails(context.ledger.db, ...asked),
    mostAfter: (asked) => (report.rowsSeen > before ? claimedMax : refusedProbeMax - asked),
    onClaimed: () => onProgress?.('details', report.rowsSeen, before + incomplete),
  });
}

/** Fetches the details of the rows that hints name, as soon as their turn comes. */
export async function syncHintedDetails(
  context: SyncContext,
  signal: AbortSignal,
): Promise<SyncReport> {
  const report = emptyReport();
  const details = openDetailPort(context.ledger);
  await syncClaim(
    { ...context, details },
    signal,
    report,
    (claim) => claimHintedDetails(context.ledger.db, claim),
    { takePlace: openLine(), pass: beginPass() },
  );
  return report;
}

type Claims = {
  takePlace: () => Place;
  pass: DetailPass;
  claimRows: DetailPort['claim'];
  /** Returns how many further rows may be claimed after `asked` requests; 0 ends the work. */
  mostAfter: (asked: number) => number;
  onClaimed: () => void;
};

/** Claims rows and fetches their details until there are none, each claim as large as the pace of the one before. */
async function syncClaims(
  context: DetailTools,
  signal: AbortSignal,
  report: SyncReport,
  { claimRows, mostAfter, onClaimed, ...fetching }: Claims,
): Promise<void> {
  const { concurrency } = context.settings;
  let [asked, pace] = [0, 2 * concurrency];
  for (;;) {
    const limit = Math.min(pace, mostAfter(asked));
    if (limit <= 0) return;
    const startedAt = performance.now();
    const claimOnce = (claim: Claim) =>
      claimRows(limit, claim, performance.now() - fetching.pass.beganAt);
    const claimed = await syncClaim(context, signal, report, claimOnce, fetching);
    if (claimed === 0) return;
    asked += claimed;
    pace = nextClaim(concurrency, claimed, performance.now() - startedAt);
    onClaimed();
  }
}

/** Returns the number of rows to claim after `claimed` of them took `tookMs`. */
function nextClaim(concurrency: number, claimed: number, tookMs: number): number {
  const atThisPace = Math.floor((claimed / Math.max(1, tookMs)) * claimWorkMs);
  return Math.min(claimedMax, Math.max(concurrency, atThisPace));
}

/**
 * Fetches one claimed batch concurrently and stores it, in one write if that does not last long. Returns the number of
 * requested rows; 0: none was due.
 */
async function syncClaim(
  context: DetailTools,
  signal: AbortSignal,
  report: SyncReport,
  claimRows: (claim: Claim) => Promise<ClaimedDetail[]>,
  { takePlace, pass }: { takePlace: () => Place; pass: DetailPass },
): Promise<number> {
  signal.throwIfAborted();
  const claim = { id: randomUUID(), leaseMs: claimLeaseMs };
  try {
    const claimed = await claimRows(claim);
    if (claimed.length === 0) return 0;
    const asked = await fetchClaimed(context, signal, report, {
      claimed,
      claim,
      place: takePlace(),
      pass,
    });
    if (asked < claimed.length) await context.details.release(claim.id);
    return asked;
  } catch (error) {
    // Also after a failed claim: its rows may be claimed although the answer was lost.
    await context.details.release(claim.id);
    throw error;
  }
}
