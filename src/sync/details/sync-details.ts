import { randomUUID } from 'node:crypto';
import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { LedgerError } from '../../kernel/errors.ts';
import { inSpan } from '../../kernel/in-span.ts';
import { settleAllThenThrow } from '../../kernel/settle-all-then-throw.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import { claimHintedDetails } from '../../ledger/hint-store.ts';
import type { Claim, ClaimedDetail } from '../../ledger/transactions/detail-checks.ts';
import type { DetailedTransaction } from '../../ledger/transactions/store-transaction-details.ts';
import {
  addCounts,
  emptyReport,
  type Progress,
  type SyncContext,
  type SyncReport,
} from '../sync-context.ts';
import { claimLeaseMs, type DetailTools, openDetailPort } from './detail-port.ts';

/** Number of concurrent claims, so that one fetches while the other one stores. */
const parallelClaims = 2;
/** Planned duration (ms) of a claim at the pace of the one before: far below the lease, with few statements per row. */
const claimWorkMs = 2_000;
const claimedMax = 500;
/** Upper bound of the wait (ms) for rows that another worker holds, slightly longer than its lease. */
const othersWaitMs = 35_000;
const othersPollMs = 250;

/** Order numbers that one line of the log names. */
const namedMax = 10;

type Fetched =
  | { kind: 'detail'; rows: DetailedTransaction[]; rejects: Reject[]; orderNo: string }
  | { kind: 'failed'; orderNo: string; error: LedgerError };

/**
 * Fetches the details of all due rows (docs/wallet-service-api.md, section 4.4), oldest due first, shared with any
 * number of other workers. A failure that concerns one row postpones it and does not stop the others. Throws any other
 * error, for example if the service is down.
 */
export async function syncDetails(
  context: SyncContext,
  signal: AbortSignal,
  onProgress?: Progress,
): Promise<SyncReport> {
  const details = openDetailPort(context.ledger);
  return await syncDetailsThrough({ ...context, details }, signal, onProgress);
}

/** Does the same as `syncDetails`, through a port that is open. */
export async function syncDetailsThrough(
  context: DetailTools,
  signal: AbortSignal,
  onProgress?: Progress,
): Promise<SyncReport> {
  const report = emptyReport();
  const { incomplete } = await context.details.countIncomplete();
  if (incomplete === 0) return report;
  onProgress?.('details', 0, incomplete);
  const work = async () => {
    let limit = 2 * context.settings.concurrency;
    for (;;) {
      const startedAt = performance.now();
      const claimed = await syncClaim(context, signal, report, (claim) =>
        context.details.claim(limit, claim),
      );
      if (claimed === 0) return;
      limit = nextClaim(context.settings.concurrency, claimed, performance.now() - startedAt);
      onProgress?.('details', report.rowsSeen, Math.max(incomplete, report.rowsSeen));
    }
  };
  await settleAllThenThrow(Array.from({ length: parallelClaims }, work));
  report.isComplete = (await context.details.countIncomplete()).finalIncomplete === 0;
  return report;
}

/**
 * Does the same as `syncDetails`, and waits for the final rows that other workers hold, rows of dead workers included.
 */
export async function syncAllDetails(
  context: SyncContext,
  signal: AbortSignal,
  onProgress?: Progress,
): Promise<SyncReport> {
  const report = await syncDetails(context, signal, onProgress);
  const deadline = performance.now() + othersWaitMs;
  while (!report.isComplete && performance.now() < deadline) {
    await abortableSleep(othersPollMs, signal);
    const more = await syncDetails(context, signal, onProgress);
    addCounts(report, more);
    report.isComplete = more.isComplete;
  }
  return report;
}

/** Fetches the details of the rows that hints name, as far as their turn has come. */
export async function syncHintedDetails(
  context: SyncContext,
  signal: AbortSignal,
): Promise<SyncReport> {
  const report = emptyReport();
  const details = openDetailPort(context.ledger);
  await syncClaim({ ...context, details }, signal, report, (claim) =>
    claimHintedDetails(context.ledger.db, claim),
  );
  return report;
}

/** Returns the number of rows to claim after `claimed` of them took `tookMs`. */
function nextClaim(concurrency: number, claimed: number, tookMs: number): number {
  const atThisPace = Math.floor((claimed / Math.max(1, tookMs)) * claimWorkMs);
  return Math.min(claimedMax, Math.max(concurrency, atThisPace));
}

/**
 * Fetches one claimed batch concurrently and stores it in one write. Returns the number of claimed rows; 0: none was
 * due.
 */
async function syncClaim(
  context: DetailTools,
  signal: AbortSignal,
  report: SyncReport,
  claimRows: (claim: Claim) => Promise<ClaimedDetail[]>,
): Promise<number> {
  signal.throwIfAborted();
  const claim = { id: randomUUID(), leaseMs: claimLeaseMs };
  try {
    const claimed = await claimRows(claim);
    if (claimed.length > 0) await fetchClaimed(context, signal, report, claimed);
    return claimed.length;
  } catch (error) {
    // Also after a failed claim: its rows may be claimed although the answer was lost.
    await context.details.release(claim.id);
    throw error;
  }
}

/** Fetches claimed rows concurrently and stores what was fetched, also if a failure ends it early. */
async function fetchClaimed(
  context: DetailTools,
  signal: AbortSignal,
  report: SyncReport,
  claimed: ClaimedDetail[],
): Promise<void> {
  // A failure that concerns more than one row ends the batch and aborts the requests in flight.
  const stop = new AbortController();
  const inFlight = AbortSignal.any([signal, stop.signal]);
  const fetched: Fetched[] = [];
  const waiting = claimed.values();
  const fetchWaiting = async () => {
    try {
      for (const one of waiting) fetched.push(await fetchDetail(context, one, inFlight));
    } catch (error) {
      stop.abort();
      throw error;
    }
  };
  const ended = await Promise.allSettled(
    Array.from({ length: context.settings.concurrency }, fetchWaiting),
  );
  await storeFetched(context, fetched, report);
  const failure = ended.find((one) => one.status === 'rejected' && !isAbort(one.reason));
  if (failure?.status === 'rejected') throw failure.reason;
  signal.throwIfAborted();
}

/** Fetches a detail. One that the service refused last time is asked for once, not again and again. */
async function fetchDetail(
  context: DetailTools,
  { orderNo, lane, isRefused }: ClaimedDetail,
  signal: AbortSignal,
): Promise<Fetched> {
  try {
    const query = { lane, ...(isRefused && { failuresMax: 1 }) };
    const { records, rejects, observation } = await context.client.getTransaction(
      orderNo,
      signal,
      query,
    );
    return {
      kind: 'detail',
      orderNo,
      rejects,
      rows: records.map((record) => ({ ...record, observation })),
    };
  } catch (error) {
    if (!(error instanceof LedgerError) || !rowsOwn.has(error.code)) throw error;
    return { kind: 'failed', orderNo, error };
  }
}

/** Failures that concern one row; all others concern the service. */
const rowsOwn = new Set<string>(['service-refused', 'service-unsettled', 'service-malformed']);

async function storeFetched(
  context: DetailTools,
  fetched: Fetched[],
  report: SyncReport,
): Promise<void> {
  const details = fetched.filter((one) => one.kind === 'detail');
  const rows = details.flatMap((one) => one.rows);
  const stored = new Set(rows.map((row) => row.orderNo));
  const putOff = fetched.map(({ orderNo }) => orderNo).filter((orderNo) => !stored.has(orderNo));
  const rejects = details.flatMap((one) => one.rejects);
  const attributes = { 'wallet_ledger.stream': 'details', 'wallet_ledger.rows': rows.length };
  const updated = await inSpan('store batch', { attributes }, async (span) => {
    const written = await context.details.store(rows, { putOff, rejects });
    span.setAttribute('wallet_ledger.updated', written);
    return written;
  });
  // Added after the write: the other claim adds to the report while this one waits.
  report.rowsUpdated += updated;
  report.rowsSeen += rows.length;
  const failed = fetched.filter((one) => one.kind === 'failed');
  if (failed[0]) {
    const orderNos = failed.slice(0, namedMax).map(({ orderNo }) => orderNo);
    const fields = { count: failed.length, orderNos, error: failed[0].error };
    context.log.warn(fields, 'details not available; postponed');
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
