import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { ignoreRejection } from '../../kernel/ignore-rejection.ts';
import { inSpan } from '../../kernel/in-span.ts';
import type { Claim, ClaimedDetail, Refusal } from '../../ledger/transactions/detail-checks.ts';
import type { SyncReport } from '../sync-context.ts';
import { claimLeaseMs, type DetailTools } from './detail-port.ts';
import {
  assertAnswering,
  type DetailPass,
  type FetchedDetail,
  fetchDetail,
  isDoubtful,
  refuseOutage,
} from './fetch-detail.ts';
import type { Place } from './stand-in-line.ts';

/**
 * Interval (ms) at which a claim that lasts longer stores what it has fetched and extends its lease. From then on it
 * starts no further requests: where the budget is small, rows that became urgent meanwhile go first.
 */
const keepEveryMs = claimLeaseMs / 3;
/** Order numbers that one line of the log names. */
const namedMax = 10;

type Fetching = { claimed: ClaimedDetail[]; claim: Claim; place: Place; pass: DetailPass };

/**
 * Fetches claimed rows concurrently and stores what was fetched, even if a failure ends it early. Rows of the history
 * wait for their place in line, so that claims fetch in turn. Two claims that fetched at the same time would also end,
 * and store, at the same time. Returns the number of rows that were requested.
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
  let fetched: FetchedDetail[] = [];
  const waiting = claimed.values();
  let asked = 0;
  const until = performance.now() + keepEveryMs;
  const fetchWaiting = async () => {
    for (const one of waiting) {
      if (one.lane === 'backlog') await place.front;
      asked += 1;
      const result = await fetchDetail(context, one, pass, inFlight);
      fetched.push(result);
      await refuseOutage(context, result, pass, inFlight);
      if (performance.now() >= until) break;
    }
    place.leave();
  };
  const stopAll = (error: unknown) => {
    stop.abort();
    place.leave();
    throw error;
  };
  const save = async () => {
    const settled = fetched.filter((one) => !isDoubtful(one, pass));
    fetched = fetched.filter((one) => isDoubtful(one, pass));
    await storeFetched(context, claim, settled, report);
  };
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
  const doubtful = fetched.find((one) => isDoubtful(one, pass));
  if (doubtful) {
    await assertAnswering(context, doubtful.error, pass, signal);
    await save();
  }
  return asked;
}

/** At intervals until the signal aborts, stores what was fetched and extends the claim of the other rows. */
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

/** Waits `ms`; returns false as soon as the signal aborts. */
async function isStill(ms: number, until: AbortSignal): Promise<boolean> {
  return await abortableSleep(ms, until).then(
    () => true,
    () => false,
  );
}

async function storeFetched(
  context: DetailTools,
  { id: claimId }: Claim,
  fetched: FetchedDetail[],
  report: SyncReport,
): Promise<void> {
  if (fetched.length === 0) return;
  const details = fetched.filter((one) => one.kind === 'detail');
  const rows = details.flatMap((one) => one.rows);
  const stored = new Set(rows.map((row) => row.orderNo));
  const putOff = fetched.filter(({ orderNo }) => !stored.has(orderNo)).map(refusalOf);
  const rejects = details.flatMap((one) => one.rejects);
  const attributes = { 'wallet_ledger.stream': 'details', 'wallet_ledger.rows': rows.length };
  const updated = await inSpan('store batch', { attributes }, async (span) => {
    const written = await context.details.store(rows, { claimId, putOff, rejects });
    span.setAttribute('wallet_ledger.updated', written);
    return written;
  });
  // Added after the write, because the other claim adds to the report while this one waits.
  report.rowsUpdated += updated;
  report.rowsSeen += rows.length;
  const failed = fetched.filter((one) => one.kind === 'failed');
  if (failed[0]) {
    const orderNos = failed.slice(0, namedMax).map(({ orderNo }) => orderNo);
    const fields = { count: failed.length, orderNos, error: failed[0].error };
    context.log.warn(fields, 'details not available; postponed');
  }
}

function refusalOf(fetched: FetchedDetail): Refusal {
  const { orderNo } = fetched;
  if (fetched.kind === 'failed') return { orderNo, reason: fetched.error.message };
  const [reject] = fetched.rejects;
  return { orderNo, reason: reject ? `${reject.field ?? 'detail'}: ${reject.reason}` : null };
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
