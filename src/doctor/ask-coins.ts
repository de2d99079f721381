import type { ServiceSettings } from '../config/settings.ts';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import type { Clock } from '../kernel/clock.ts';
import { LedgerError } from '../kernel/errors.ts';
import type { TicketSource } from '../kernel/ticket.ts';
import type { Signer } from '../service/signing/signer.ts';
import { buildRequest } from '../service/transport/build-request.ts';
import { type Failure, judgeAnswer } from '../service/transport/judge-answer.ts';
import { sendRequest } from '../service/transport/send-request.ts';
import { withDeadline } from '../service/transport/with-deadline.ts';

/** Dependencies of signed requests to the service. */
export type Contact = {
  service: ServiceSettings;
  tickets: TicketSource;
  clock: Clock;
  signal: AbortSignal;
};

/** Result of one signed request. `aheadMs`: the time of the header Date minus ours, null without such a time. */
export type CoinsAnswer = { failure: Failure | null; date: string | null; aheadMs: number | null };

export const signedEndpoint = '/v1/wallet/coin';

const attemptsMax = 3;
const pauseMaxMs = 5_000;

/**
 * Sends one signed GET of the coins, the smallest request of the service. Retries at most twice, if the failure is
 * retryable.
 */
export async function askCoins(contact: Contact, signer: Signer): Promise<CoinsAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await askCoinsOnce(contact, signer);
    const { failure } = answer;
    if (!failure?.isRetryable || attempt === attemptsMax) return answer;
    await abortableSleep(Math.min(failure.pauseMs ?? 300 * attempt, pauseMaxMs), contact.signal);
  }
}

/** Sends the request once, without a retry. */
export async function askCoinsOnce(contact: Contact, signer: Signer): Promise<CoinsAnswer> {
  const { service, clock, signal } = contact;
  const ticket = await contact.tickets.take('head', signal);
  if ('backInMs' in ticket) throw new Error('a request of the first lane was deferred');
  const { nonce } = ticket;
  const request = buildRequest(service.baseUrl, { method: 'GET', path: signedEndpoint }, nonce);
  const sentAt = clock();
  try {
    return await withDeadline(service.timeoutMs, signal, async (deadline) => {
      const answer = await sendRequest(request, signer, deadline);
      const now = clock();
      const judgement = judgeAnswer(answer, 'GET', now);
      if ('data' in judgement) await signer.verifyResponse?.(answer);
      const failure = 'failure' in judgement ? judgement.failure : null;
      const date = answer.headers.get('date');
      return { failure, date, aheadMs: aheadMsOf(date, (sentAt + now) / 2) };
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof LedgerError)) throw error;
    const { code, message, isRetryable } = error;
    return { failure: { code, message, isRetryable }, date: null, aheadMs: null };
  }
}

/** The Date header is truncated to whole seconds, so half a second is added as the expected remainder. */
function aheadMsOf(date: string | null, now: number): number | null {
  const at = Date.parse(date ?? '');
  return Number.isNaN(at) ? null : at + 500 - now;
}

const refusals = new Set<string>([
  'service-authentication',
  'service-nonce',
  'service-refused',
  'service-unsettled',
]);

/**
 * Returns true if another signature or another parameter could change the answer. Some services refuse a signature with
 * HTTP 200 and a code.
 */
export function isRefusal({ code, isNotFound }: Failure): boolean {
  return refusals.has(code) && isNotFound !== true;
}
