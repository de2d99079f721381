import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { LedgerError } from '../../kernel/errors.ts';
import { inSpan } from '../../kernel/in-span.ts';
import { settleAllThenThrow } from '../../kernel/settle-all-then-throw.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import type { DetailedTransaction } from '../../ledger/transactions/store-transaction-details.ts';
import {
  addCounts,
  emptyReport,
  type Progress,
  type SyncContext,
  type SyncReport,
} from '../sync-context.ts';
import { type DetailTools, openDetailPort } from './detail-port.ts';

/** How long a claimed row is kept from other workers; a dead worker's rows come back after it. */
const claimLeaseMs = 30_000;
/** Claims at work side by side, so that one fetches while the other one stores. */
const parallelClaims = 2;
/** A claim is work for so long at the pace of the one before it: far below the lease, and few statements per row. */
const claimWorkMs = 2_000;
const claimedMax = 500;
/** How long to wait for rows that another worker holds, a little over its lease. */
const othersWaitMs = 35_000;
const othersPollMs = 250;

type Fetched =
  | { kind: 'detail'; rows: DetailedTransaction[]; rejects: Reject[]; orderNo: string }
  | { kind: 'failed'; orderNo: string; error: LedgerError };

/**
 * Fetches the details of all rows that are due (section 4.4 of the service's document), oldest due first, shared
 * with any number of other workers. A row that the service will not give is put off and does not stop the others;
 * a service that is down does.
 */
export async function syncDetails(
  context: SyncContext,
  signal: AbortSignal,
  onProgress?: Progress,
): Promise<SyncReport> {
  const details = openDetailPort(context.ledger);
  return await syncDetailsThrough({ ...context, details }, signal, onProgress);
}

/** As `syncDetails`, through a port that is open. */
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
      const claimed = await syncClaim(context, signal, report, limit);
      if (claimed === 0) return;
      limit = nextClaim(context.settings.concurrency, claimed, performance.now() - startedAt);
      onProgress?.('details', report.rowsSeen, Math.max(incomplete, report.rowsSeen));
    }
  };
  await settleAllThenThrow(Array.from({ length: parallelClaims }, work));
  report.isComplete = (await context.details.countIncomplete()).finalIncomplete === 0;
  return report;
}

/** As `syncDetails`, and waits for the final rows that other workers hold, dead ones' rows included. */
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

/** How many rows to claim after `claimed` of them took `tookMs`. */
function nextClaim(concurrency: number, claimed: number, tookMs: number): number {
  const atThisPace = Math.floor((claimed / Math.max(1, tookMs)) * claimWorkMs);
  return Math.min(claimedMax, Math.max(concurrency, atThisPace));
}

/** One claimed batch: fetched side by side, written in one statement. Returns the rows claimed; 0: none was due. */
async function syncClaim(
  context: DetailTools,
  signal: AbortSignal,
  report: SyncReport,
  limit: number,
): Promise<number> {
  signal.throwIfAborted();
  const orderNos = await context.details.claim(limit, claimLeaseMs);
  if (orderNos.length === 0) return 0;
  // One failure that is not the row's own ends the batch: what is in flight then is not worth waiting for.
  const stop = new AbortController();
  const inFlight = AbortSignal.any([signal, stop.signal]);
  const fetched: Fetched[] = [];
  const waiting = orderNos.values();
  const fetchWaiting = async () => {
    try {
      for (const orderNo of waiting) fetched.push(await fetchDetail(context, orderNo, inFlight));
    } catch (error) {
      stop.abort();
      throw error;
    }
  };
  const ended = await Promise.allSettled(
    Array.from({ length: context.settings.concurrency }, fetchWaiting),
  );
  await storeFetched(context, fetched, report);
  const answered = new Set(fetched.map(({ orderNo }) => orderNo));
  await context.details.release(orderNos.filter((orderNo) => !answered.has(orderNo)));
  const failure = ended.find((one) => one.status === 'rejected' && !isAbort(one.reason));
  if (failure?.status === 'rejected') throw failure.reason;
  signal.throwIfAborted();
  return orderNos.length;
}

async function fetchDetail(
  context: DetailTools,
  orderNo: string,
  signal: AbortSignal,
): Promise<Fetched> {
  try {
    const { records, rejects, observation } = await context.client.getTransaction(orderNo, signal);
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

/** Failures that speak of this one row; all others speak of the service. */
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
  // Added here: the other lane adds to the report while this one waits.
  report.rowsUpdated += updated;
  report.rowsSeen += rows.length;
  for (const one of fetched) {
    if (one.kind === 'failed')
      context.log.warn(
        { orderNo: one.orderNo, error: one.error.message },
        'detail not available, put off',
      );
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
