import { setMaxListeners } from 'node:events';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { type RetryPolicy, retryDelayMs } from '../kernel/retry-delay.ts';
import { type AttemptOptions, type Call, createAttempter } from './attempt-call.ts';
import type { Failure } from './judge-answer.ts';

export type CallerOptions = AttemptOptions & {
  /** Of a GET; a POST is sent once, whatever comes. */
  retry?: RetryPolicy;
  log: Log;
  random: () => number;
};

export type Caller = {
  call<T>(call: Call<T>, signal?: AbortSignal): Promise<T>;
  /** Attempts sent so far. */
  requests(): number;
  /** The same caller with a count of its own, from 0. */
  metered(): Caller;
};

const defaultRetry: RetryPolicy = { attemptsMax: 8, baseDelayMs: 150, delayMaxMs: 5_000 };

/** Sends calls, a GET again where that can help. Rejects with a LedgerError that names the endpoint. */
export function createCaller(options: CallerOptions): Caller {
  const { tickets, log, random, retry = defaultRetry } = options;
  const { attempt: attemptCall, requests } = createAttempter(options);

  async function callRepeatedly<T>(
    call: Call<T>,
    signal?: AbortSignal,
    onSent?: () => void,
  ): Promise<T> {
    const endpoint = `${call.method} ${call.path}`;
    for (let attempt = 1, unsettled = 0; ; attempt += 1) {
      const outcome = await attemptCall(call, attempt, signal, onSent);
      if ('value' in outcome) return outcome.value;
      const { failure } = outcome;
      unsettled += Number(failure.code === 'service-unsettled');
      const isLast = !mayRepeat(call, failure, attempt, unsettled);
      if (!isLast) logRepeat(log, endpoint, attempt, failure);
      await waitAfter(failure, attempt, isLast, signal);
      if (isLast) throw errorOf(failure, endpoint, attempt);
    }
  }

  function mayRepeat<T>(call: Call<T>, failure: Failure, attempt: number, unsettled: number) {
    const { attemptsMax } = retry;
    const isSafe = call.method === 'GET' && failure.isRepeated;
    return isSafe && attempt < attemptsMax && unsettled < (call.unsettledMax ?? attemptsMax);
  }

  /** Waits as the failure asks; the pause of a 429 is served by the next ticket, in all processes. */
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

  const callerWith = (sent: () => number, onSent?: () => void): Caller => ({
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
      // One signal ends all that is in flight: many listeners are no leak.
      if (signal) setMaxListeners(0, signal);
      return callRepeatedly(call, signal, onSent);
    },
  });
  return callerWith(requests);
}

function errorOf(
  { code, message, cause }: Failure,
  endpoint: string,
  attempts: number,
): LedgerError {
  const tried = attempts > 1 ? ` (${attempts} attempts)` : '';
  return new LedgerError(code, `${endpoint}: ${message}${tried}`, { cause });
}

/** The longer a fault lasts, the louder it is told. */
function logRepeat(log: Log, endpoint: string, attempt: number, failure: Failure): void {
  const level = attempt <= 2 ? 'debug' : attempt <= 4 ? 'info' : 'warn';
  const { code, message } = failure;
  log[level]({ endpoint, attempt, code, reason: message }, 'the request failed and is repeated');
}
