import { setMaxListeners } from 'node:events';
import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { LedgerError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { type RetryPolicy, retryDelayMs } from '../../kernel/retry-delay.ts';
import { OddAnswer } from '../decoding/unreadable-answer.ts';
import { createAcceptedKey } from './accepted-key.ts';
import { type AttemptOptions, type Call, createRequestSender } from './attempt-call.ts';
import type { Failure } from './judge-answer.ts';
import { createOddMemory, type OddMemory } from './odd-memory.ts';
import { createRetryLog } from './retry-log.ts';

export type TransportOptions = AttemptOptions & {
  /** Retry policy of a GET; a POST is always sent once. */
  retry?: RetryPolicy;
  log: Log;
  random: () => number;
  /**
   * Callback before a successful answer, which proves that the service accepts the key, is returned. The answer waits
   * for it.
   */
  onAccepted?: () => Promise<void>;
};

export type ServiceTransport = {
  call<T>(call: Call<T>, signal?: AbortSignal): Promise<T>;
  /** Number of attempts sent so far. */
  requests(): number;
  /** Returns the same transport with its own count, from 0. */
  metered(): ServiceTransport;
};

const defaultRetry: RetryPolicy = { attemptsMax: 8, baseDelayMs: 150, delayMaxMs: 5_000 };

/**
 * Creates the transport: sends calls, and retries a GET if that can help. Calls reject with a LedgerError that names
 * the endpoint, the tickets' error, or the signal's reason.
 */
export function createServiceTransport(options: TransportOptions): ServiceTransport {
  const { tickets, random, retry = defaultRetry } = options;
  const logRetry = createRetryLog(options.log, options.clock);
  const { attempt: attemptCall, requests } = createRequestSender(options);
  const odd = createOddMemory(options.clock);
  const key = createAcceptedKey();

  async function callRepeatedly<T>(
    call: Call<T>,
    signal?: AbortSignal,
    onSent?: () => void,
  ): Promise<T> {
    const endpoint = `${call.method} ${call.path}`;
    const failures = { beganAt: performance.now(), ...noFailures };
    const { attemptsMax = retry.attemptsMax } = call;
    for (let attempt = 1; ; attempt += 1) {
      const isCurable = key.begin(attempt);
      const isLenient = isOddAccepted(odd, call, failures.oddInARow);
      const outcome = await attemptCall(call, { attempt, isLenient }, signal, onSent);
      if ('value' in outcome) {
        key.note();
        await options.onAccepted?.();
        return outcome.value;
      }
      const { failure } = outcome;
      countFailure(failures, failure);
      const mayHelp = mayRepeat(call, failure, failures, isCurable(failure));
      const isLast = attempt >= attemptsMax || !mayHelp;
      if (!isLast) logRetry(call, attempt, failure);
      await waitAfter(failure, attempt, isLast, signal);
      if (isLast) throw errorOf(failure, endpoint, attempt);
    }
  }

  /** Waits as the failure requires; after a 429 the next ticket in every process waits. */
  async function waitAfter(
    failure: Failure,
    attempt: number,
    isLast: boolean,
    signal?: AbortSignal,
  ) {
    const delayMs = retryDelayMs(attempt, retry, random());
    if (failure.pauseMs !== undefined) await tickets.pause(failure.pauseMs ?? delayMs);
    else if (!isLast) await abortableSleep(delayMs, signal);
  }

  const callerWith = (sent: () => number, onSent?: () => void): ServiceTransport => ({
    requests: sent,
    metered() {
      let own = 0;
      return callerWith(
        () => own,
        () => {
          own += 1;
          onSent?.();
        },
      );
    },
    call(call, signal) {
      // One signal aborts all requests in flight, so many listeners are no leak.
      if (signal) setMaxListeners(0, signal);
      return callRepeatedly(call, signal, onSent);
    },
  });
  return callerWith(requests);
}

/** Number of OddAnswers in a row that excludes a transmission fault. */
const oddAnswersMax = 3;

/**
 * Returns true if an OddAnswer is accepted. A GET accepts it after several in a row, and for the next hour at once.
 */
function isOddAccepted<T>(odd: OddMemory, call: Call<T>, oddInARow: number): boolean {
  if (call.method !== 'GET') return false;
  if (oddInARow >= oddAnswersMax) odd.add(call);
  return odd.has(call);
}

/** Number of refusals that name their cause after which no further one is worth a request. */
const clearRefusalsMax = 2;

const noFailures = { unsettled: 0, clear: 0, malformed: 0, failing: 0, oddInARow: 0 };

/** Failures of a call by kind; `beganAt` by `performance.now()`. */
type Failures = typeof noFailures & { beganAt: number };

function countFailure(failures: Failures, { code, cause, cure, isAnswered }: Failure): void {
  const isOdd = cause instanceof OddAnswer;
  failures.oddInARow = isOdd ? failures.oddInARow + 1 : 0;
  failures.unsettled += Number(code === 'service-unsettled');
  failures.clear += Number(cure !== undefined);
  failures.malformed += Number(code === 'service-malformed' && !isOdd);
  failures.failing += Number(isAnswered === true);
}

function isTooLate<T>({ unreachableMs }: Call<T>, { code }: Failure, { beganAt }: Failures) {
  if (code !== 'service-unreachable' || unreachableMs === undefined) return false;
  return performance.now() - beganAt >= unreachableMs;
}

function mayRepeat<T>(
  call: Call<T>,
  failure: Failure,
  failures: Failures,
  isCurable: boolean,
): boolean {
  const { unsettledMax = Infinity, malformedMax = Infinity, failingMax = Infinity } = call;
  const isEnough =
    failures.unsettled >= unsettledMax ||
    failures.clear >= clearRefusalsMax ||
    failures.malformed >= malformedMax ||
    failures.failing >= failingMax ||
    isTooLate(call, failure, failures);
  return call.method === 'GET' && isCurable && !isEnough;
}

function errorOf(
  { code, message, isNotFound, isAnswered = false, cure, cause }: Failure,
  endpoint: string,
  attempts: number,
): LedgerError {
  const tried = attempts > 1 ? ` (${attempts} attempts)` : '';
  const cureOfAddress =
    'check that WALLET_BASE_URL is the address of the service itself, without /v1; if it is, ask the operator of the service about this answer';
  const own = cure ?? (isNotFound === true ? cureOfAddress : undefined);
  const options = { cause, isAnswered, ...(own !== undefined && { cure: own }) };
  return new LedgerError(code, `${endpoint}: ${message}${tried}`, options);
}
