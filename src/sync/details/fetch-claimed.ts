import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { LedgerError } from '../../kernel/errors.ts';
import { ignoreRejection } from '../../kernel/ignore-rejection.ts';
import { inSpan } from '../../kernel/in-span.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import type { Claim, ClaimedDetail } from '../../ledger/transactions/detail-checks.ts';
import type { DetailedTransaction } from '../../ledger/transactions/store-transaction-details.ts';
import type { SyncReport } from '../sync-context.ts';
import { claimLeaseMs, type DetailTools } from './detail-port.ts';
import type { Place } from './stand-in-line.ts';

/**
 * Interval (ms) at which a claim that lasts longer stores what it has fetched and extends its lease. From then on it
 * starts no further requests: where the budget is small, rows that became urgent meanwhile go first.
 */
const keepEveryMs = claimLeaseMs / 3;
/** Order numbers that one line of the log names. */
const namedMax = 10;

/** Rows refused in a row after which the next ones are asked for once: it is no fault of a moment then. */
const refusedInRowMax = 5;

/** A pass over the due rows: when it began, by `performance.now()`, and the rows refused last in a row. */
export type DetailPass = { readonly beganAt: number; refusedInRow: number };

export function beginPass(): DetailPass {
  return { beganAt: performance.now(), refusedInRow: 0 };
}

type Fetched =
  | { kind: 'detail'; rows: DetailedTransaction[]; rejects: Reject[]; orderNo: string }
  | { kind: 'failed'; orderNo: string; error: LedgerError };

type Fetching = { claimed: ClaimedDetail[]; claim: Claim; place: Place; pass: DetailPass };

/**
 * Fetches claimed rows concurrently and stores what was fetched, also if a failure ends it early. Rows of the history
 * wait for their place in line, so that claims fetch in turn: two that fetched side by side would end, and store, at
 * the same time. Returns how many rows were asked for.
 */
export async function fetchClaimed(
  context: DetailTools,
  signal: AbortSignal,
  report: SyncReport,
  { claimed, claim, place, pass }: Fetching,
): Promise<number> {
  // A failure that concerns more than one row ends the batch and aborts the requests in flight.
  const stop = new AbortController();
  const inFlight = AbortSignal.any([signal, stop.signal]);
  const fetched: Fetched[] = [];
  const waiting = claimed.values();
  let asked = 0;
  const until = performance.now() + keepEveryMs;
  const fetchWaiting = async () => {
    for (const one of waiting) {
      if (one.lane === 'backlog') await place.front;
      asked += 1;
      fetched.push(await fetchDetail(context, one, pass, inFlight));
      if (performance.now() >= until) break;
    }
    place.leave();
  };
  const stopAll = (error: unknown) => {
    stop.abort();
    place.leave();
    throw error;
  };
  const save = () => storeFetched(context, claim, fetched.splice(0), report);
  const isFetched = new AbortController();
  const keeping = ignoreRejection(
    keepClaim(context, claim, { save, until: isFetched.signal }).catch(stopAll),
  );
  const workers = Array.from({ length: context.settings.concurrency }, fetchWaiting);
  const ended = await Promise.allSettled(workers.map((worker) => worker.catch(stopAll)));
  isFetched.abort();
  const [kept] = await Promise.allSettled([keeping]);
  await save();
  const failure = [...ended, kept].find((one) => one.status === 'rejected' && !isAbort(one.reason));
  if (failure?.status === 'rejected') throw failure.reason;
  signal.throwIfAborted();
  return asked;
}

/** Saves what was fetched, and keeps the rest from other workers, at intervals until the signal aborts. */
async function keepClaim(
  { details }: DetailTools,
  claim: Claim,
  { save, until }: { save(): Promise<void>; until: AbortSignal },
): Promise<void> {
  while (await isStill(keepEveryMs, until)) {
    await save();
    await details.extend(claim);
  }
}

/** Waits; returns false as soon as the signal aborts. */
async function isStill(ms: number, until: AbortSignal): Promise<boolean> {
  return await abortableSleep(ms, until).then(
    () => true,
    () => false,
  );
}

/**
 * Fetches a detail. One that the service refused last time is asked for once, not again and again; so is each one after
 * several that it refused in a row.
 */
async function fetchDetail(
  context: DetailTools,
  { orderNo, lane, isRefused }: ClaimedDetail,
  pass: DetailPass,
  signal: AbortSignal,
): Promise<Fetched> {
  try {
    const isAskedOnce = isRefused || pass.refusedInRow >= refusedInRowMax;
    const query = { lane, ...(isAskedOnce && { failuresMax: 1 }) };
    const { records, rejects, observation } = await context.client.getTransaction(
      orderNo,
      signal,
      query,
    );
    pass.refusedInRow = 0;
    return {
      kind: 'detail',
      orderNo,
      rejects,
      rows: records.map((record) => ({ ...record, observation })),
    };
  } catch (error) {
    if (!(error instanceof LedgerError) || !rowsOwn.has(error.code)) throw error;
    pass.refusedInRow += 1;
    return { kind: 'failed', orderNo, error };
  }
}

/** Failures that concern one row; all others concern the service. */
const rowsOwn = new Set<string>(['service-refused', 'service-unsettled', 'service-malformed']);

async function storeFetched(
  context: DetailTools,
  { id: claimId }: Claim,
  fetched: Fetched[],
  report: SyncReport,
): Promise<void> {
  if (fetched.length === 0) return;
  const details = fetched.filter((one) => one.kind === 'detail');
  const rows = details.flatMap((one) => one.rows);
  const stored = new Set(rows.map((row) => row.orderNo));
  const putOff = fetched.map(({ orderNo }) => orderNo).filter((orderNo) => !stored.has(orderNo));
  const rejects = details.flatMap((one) => one.rejects);
  const attributes = { 'wallet_ledger.stream': 'details', 'wallet_ledger.rows': rows.length };
  const updated = await inSpan('store batch', { attributes }, async (span) => {
    const written = await context.details.store(rows, { claimId, putOff, rejects });
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
