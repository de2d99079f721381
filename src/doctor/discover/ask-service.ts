import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { LedgerError } from '../../kernel/errors.ts';
import type { Signer } from '../../service/signing/signer.ts';
import { buildRequest } from '../../service/transport/build-request.ts';
import { type Failure, judgeAnswer } from '../../service/transport/judge-answer.ts';
import { sendRequest } from '../../service/transport/send-request.ts';
import { withDeadline } from '../../service/transport/with-deadline.ts';
import { type Contact, isRefusal } from '../ask-coins.ts';

/** Data of an answer, or the refusal. */
export type Answered = { data: unknown } | { refusal: Failure };

export type ServiceAsker = {
  /**
   * Sends one signed GET. A refusal counts as an answer, because other parameters or signatures may change it. Any
   * other failure rejects with its LedgerError, after two more attempts if they can help. An HTTP status of 500 or
   * above that persists is a refusal as well, because the statuses of failures are not documented. After that, each
   * further one is a refusal at once, until the service grants a request.
   */
  ask(signer: Signer, path: string, query?: [string, string][]): Promise<Answered>;
  /** Number of requests that may still be sent. */
  left(): number;
};

const attemptsMax = 3;
const pauseMaxMs = 5_000;

/** Creates an asker that sends at most `requestsMax` requests; then `ask` rejects. */
export function createServiceAsker(
  contact: Pick<Contact, 'tickets' | 'clock' | 'signal'> & { baseUrl: string; timeoutMs: number },
  requestsMax: number,
): ServiceAsker {
  let left = requestsMax;
  let isGranted = false;
  let isFailingSteadily = false;

  async function attempt(signer: Signer, path: string, query: [string, string][]) {
    const { tickets, clock, signal, baseUrl, timeoutMs } = contact;
    if (left === 0)
      throw new LedgerError(
        'service-refused',
        `${requestsMax} requests did not show which signature and parameters the service expects`,
      );
    left -= 1;
    const ticket = await tickets.take('head', signal);
    if ('backInMs' in ticket) throw new Error('a request of the first lane was deferred');
    const request = buildRequest(baseUrl, { method: 'GET', path, query }, ticket.nonce);
    return await withDeadline(timeoutMs, signal, async (deadline) =>
      judgeAnswer(await sendRequest(request, signer, deadline), 'GET', clock()),
    );
  }

  async function attemptSafely(signer: Signer, path: string, query: [string, string][]) {
    try {
      return await attempt(signer, path, query);
    } catch (error) {
      contact.signal.throwIfAborted();
      if (!(error instanceof LedgerError) || left === 0) throw error;
      const { code, message, isRetryable } = error;
      return { failure: { code, message, isRetryable, pauseMs: null }, isSilent: true };
    }
  }

  /** Returns true for a failure of the service itself that counts as a refusal. */
  function isLasting({ code, isRetryable }: Failure, nth: number, isSilent: boolean): boolean {
    if (code !== 'service-unreachable' || !isRetryable) return false;
    if (isGranted) return nth === attemptsMax;
    isFailingSteadily ||= nth === attemptsMax && !isSilent;
    return isFailingSteadily && !isSilent;
  }

  /** Waits before the next attempt; throws if there is none. */
  async function pauseAfter(failure: Failure, path: string, nth: number): Promise<void> {
    if (!failure.isRetryable || nth === attemptsMax || left === 0)
      throw new LedgerError(failure.code, `GET ${path}: ${failure.message}`);
    await abortableSleep(Math.min(failure.pauseMs ?? 300 * nth, pauseMaxMs), contact.signal);
  }

  return {
    left: () => left,
    async ask(signer, path, query = []) {
      for (let nth = 1; ; nth += 1) {
        const judgement = await attemptSafely(signer, path, query);
        if ('data' in judgement) {
          isGranted = true;
          return judgement;
        }
        const failure: Failure = judgement.failure;
        const isSilent = 'isSilent' in judgement;
        const isOfRequest = isRefusal(failure) || failure.isNotFound === true;
        if (isOfRequest || isLasting(failure, nth, isSilent)) return { refusal: failure };
        await pauseAfter(failure, path, nth);
      }
    },
  };
}
