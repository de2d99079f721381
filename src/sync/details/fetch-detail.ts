import { isOfRequest, LedgerError } from '../../kernel/errors.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import type { ClaimedDetail } from '../../ledger/transactions/detail-checks.ts';
import type { DetailedTransaction } from '../../ledger/transactions/store-transaction-details.ts';
import type { DetailTools } from './detail-port.ts';

/** Consecutive failed rows after which each of the next rows is requested only once: the fault is not transient. */
const failedInRowMax = 5;
/** Consecutive unanswered rows after which the pass checks if the service is down. */
const unansweredMax = 5;
/** Rows of a new ledger that are requested for that check. */
const askedMax = 5;

/** A pass over the due rows. */
export type DetailPass = {
  /** When it began, by `performance.now()`. */
  readonly beganAt: number;
  /** Number of consecutive rows without a detail, up to now. */
  failedInRow: number;
  /** Number of consecutive rows without any answer, up to now. */
  unanswered: number;
  /** Details and refusals that have come so far. */
  answers: number;
  /** Row whose detail came last; null: none has come yet. */
  lastAnswered: string | null;
};

export function beginPass(): DetailPass {
  const beganAt = performance.now();
  return { beganAt, failedInRow: 0, unanswered: 0, answers: 0, lastAnswered: null };
}

/** A row that failed; `answersBefore` are those of the pass until its request began. */
type FailedDetail = {
  kind: 'failed';
  orderNo: string;
  error: LedgerError;
  answersBefore: number;
};

export type FetchedDetail =
  | { kind: 'detail'; rows: DetailedTransaction[]; rejects: Reject[]; orderNo: string }
  | FailedDetail;

/**
 * Returns true for a row that failed because the service may be down: no other detail was answered meanwhile or since.
 * Such a row must not be postponed, as an outage would postpone every row, and for longer each time.
 */
export function isDoubtful(
  fetched: FetchedDetail,
  { answers }: DetailPass,
): fetched is FailedDetail {
  return fetched.kind === 'failed' && fetched.answersBefore === answers;
}

/**
 * Fetches a detail. A detail that failed last time is requested once, without retries; so is each one after several
 * consecutive failures. Throws failures that concern more than one row.
 */
export async function fetchDetail(
  { client }: Pick<DetailTools, 'client'>,
  { orderNo, lane, isRefused }: ClaimedDetail,
  pass: DetailPass,
  signal: AbortSignal,
): Promise<FetchedDetail> {
  const answersBefore = pass.answers;
  try {
    const isAskedOnce = isRefused || pass.failedInRow >= failedInRowMax;
    const answer = await client.getTransaction(orderNo, signal, { lane, isAskedOnce });
    const { records, rejects, observation } = answer;
    noteAnswer(pass);
    pass.failedInRow = 0;
    pass.lastAnswered = orderNo;
    const rows = records.map((record) => ({ ...record, observation }));
    return { kind: 'detail', orderNo, rejects, rows };
  } catch (error) {
    if (!isOfRequest(error) && !isUnanswered(error)) throw error;
    pass.failedInRow += 1;
    if (isUnanswered(error)) pass.unanswered += 1;
    else noteAnswer(pass);
    return { kind: 'failed', orderNo, error, answersBefore };
  }
}

/** After several consecutive failures, throws the failure of a row if the service gives no other detail either. */
export async function refuseOutage(
  context: DetailTools,
  fetched: FetchedDetail,
  pass: DetailPass,
  signal: AbortSignal,
): Promise<void> {
  if (!isDoubtful(fetched, pass) || pass.unanswered < unansweredMax) return;
  // In a new ledger only the other claimed rows can show that the service answers.
  if ((await answeredRow(context, pass)) === null) return;
  // Resets the count, so that workers whose rows fail at the same time leave the check to this one.
  pass.unanswered = 0;
  await assertAnswering(context, fetched.error, pass, signal);
}

/**
 * Requests the detail of a row that had one before or, in a ledger without details, of a few unclaimed rows. Throws
 * `failure` if there is no such row or the service does not answer these requests either.
 */
export async function assertAnswering(
  context: DetailTools,
  failure: LedgerError,
  pass: DetailPass,
  signal: AbortSignal,
): Promise<void> {
  const answered = await answeredRow(context, pass);
  const orderNos = answered === null ? await context.details.unclaimed(askedMax) : [answered];
  for (const orderNo of orderNos) {
    if (!(await isAnswering(context, orderNo, signal))) continue;
    pass.lastAnswered ??= orderNo;
    noteAnswer(pass);
    return;
  }
  throw failure;
}

async function isAnswering(
  { client }: DetailTools,
  orderNo: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await client.getTransaction(orderNo, signal, { isAskedOnce: true });
  } catch (error) {
    if (isUnanswered(error)) return false;
    if (!isOfRequest(error)) throw error;
  }
  return true;
}

async function answeredRow({ details }: DetailTools, pass: DetailPass): Promise<string | null> {
  return pass.lastAnswered ?? (await details.answeredBefore());
}

function noteAnswer(pass: DetailPass): void {
  pass.answers += 1;
  pass.unanswered = 0;
}

/** Returns true for HTTP 5xx and for no answer at all, but not for a redirect, which no retry can help. */
function isUnanswered(error: unknown): error is LedgerError {
  return error instanceof LedgerError && error.code === 'service-unreachable' && error.isRetryable;
}
