import type { ErrorCode } from '../../kernel/errors.ts';
import { type Envelope, openEnvelope } from '../decoding/open-envelope.ts';
import { printableText } from '../decoding/printable-text.ts';
import { UnreadableAnswer } from '../decoding/unreadable-answer.ts';
import type { AnswerToVerify } from '../signing/signer.ts';
import { parseRetryAfterMs } from './retry-after.ts';

/** Reason why an attempt failed, and the information whether a retry can help. */
export type Failure = {
  code: ErrorCode;
  message: string;
  isRetryable: boolean;
  /** Milliseconds that all processes must wait, as the service requested; null means the default backoff. */
  pauseMs?: number | null;
  /** True for HTTP 403, which more likely concerns the key's rights than its signature or the nonce. */
  isOfRights?: boolean;
  /** True for HTTP 404 of a GET: the service does not have the path, or the requested record. */
  isNotFound?: boolean;
  /** True for a failure of the service itself, such as HTTP 500. */
  isAnswered?: boolean;
  /** Action for the operator if the answer itself shows the cause; a retry then gets the same answer. */
  cure?: string | undefined;
  cause?: unknown;
};

export type Judgement = { data: unknown } | { failure: Failure };

const skewToleratedMs = 5_000;
const excerptLength = 120;

/** Returns true if the meaning of an answer depends on its body, not on its HTTP status alone. */
export function isJudgedByBody(status: number): boolean {
  return status < 500 && !isRedirect(status) && ![401, 403, 408, 429].includes(status);
}

export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/**
 * Returns the data of an answer, or its failure. For a POST only HTTP 401, 403, 429 and a readable code other than 0
 * are refusals (service-authentication, service-nonce, service-rate-limited, service-refused). After any other failure
 * the outcome of a POST is unknown. `now` is in Unix milliseconds.
 */
export function judgeAnswer(
  answer: AnswerToVerify,
  method: 'GET' | 'POST',
  now: number,
): Judgement {
  return isJudgedByBody(answer.status)
    ? judgeBody(answer, method)
    : { failure: judgeStatus(answer, now) };
}

function judgeStatus(answer: AnswerToVerify, now: number): Failure {
  const { status, headers } = answer;
  const said = describeAnswer(answer);
  if (status === 304) {
    const message =
      'HTTP 304 (Not Modified) has no content: a cache between this program and the service answered. Let it pass all requests on to the service';
    return { code: 'service-unreachable', message, isRetryable: true };
  }
  if (isRedirect(status)) {
    const target = printableText(headers.get('location') ?? 'nowhere');
    // Following the redirect would send the three headers to another address, with a signature for this one.
    const message = `HTTP ${status} redirects to ${target}: set WALLET_BASE_URL to the address of the service itself`;
    return { code: 'service-unreachable', message, isRetryable: false };
  }
  if (status === 429) {
    const pauseMs = parseRetryAfterMs(headers, now);
    return { code: 'service-rate-limited', message: said, isRetryable: true, pauseMs };
  }
  if (status === 401 || status === 403) {
    const message = said + describeSkew(headers.get('date'), now);
    if (isOfNonce(openEnvelope(answer.rawBody))) {
      return { code: 'service-nonce', message, isRetryable: true };
    }
    const isOfRights = status === 403;
    return { code: 'service-authentication', message, isRetryable: false, isOfRights };
  }
  const failure = { code: 'service-unreachable', isRetryable: true, isAnswered: true } as const;
  const pauseMs = status === 503 ? parseRetryAfterMs(headers, now) : null;
  return { ...failure, message: said, ...(pauseMs !== null && { pauseMs }) };
}

function judgeBody(answer: AnswerToVerify, method: 'GET' | 'POST'): Judgement {
  const isOk = answer.status >= 200 && answer.status < 300;
  // A POST is parsed strictly, because its effect matters more than its answer.
  const envelope = openEnvelope(answer.rawBody, method === 'GET');
  if (!('problem' in envelope) && envelope.code === '0' && isOk) return { data: envelope.data };

  const message = describeAnswer(answer, envelope);
  const isRefusal = !('problem' in envelope) && envelope.code !== '0';
  if (isRefusal && isOfNonce(envelope)) {
    return { failure: { code: 'service-nonce', message, isRetryable: true } };
  }
  const cure = refusalCure(envelope);
  if (method === 'POST') {
    const code = isRefusal ? 'service-refused' : 'service-malformed';
    return { failure: { code, message, isRetryable: false } };
  }
  if (!isOk) {
    const isNotFound = answer.status === 404;
    return { failure: { code: 'service-refused', message, isRetryable: false, isNotFound, cure } };
  }
  if (isRefusal) {
    return { failure: { code: 'service-unsettled', message, isRetryable: true, cure } };
  }
  const cause = new UnreadableAnswer(answer.rawBody);
  return { failure: { code: 'service-malformed', message, isRetryable: true, cause } };
}

/**
 * Returns true if the service refuses a request for its nonce: another request has overtaken it, and a new attempt has
 * a new nonce. No code for that is documented, but the header's name is. A web page may have a nonce of its own.
 */
function isOfNonce(envelope: Envelope | { problem: string }): boolean {
  return !('problem' in envelope) && /nonce/i.test(envelope.message);
}

const successCode = /^(0+|200|ok|success(ful)?)$/i;
const missingParameter =
  /\b(required|mandatory)\b|\bmissing \w*param|param\w*\b.* missing\b|(can ?not|must not|should not) be (null|blank|empty)/i;
const ofRights = /\b(sign|auth|login|token|api.?key|permission)/i;

/**
 * Returns the action where a refusal shows that the service misses a parameter, or that its success has another code
 * than the documented one; otherwise undefined.
 */
function refusalCure(envelope: Envelope | { problem: string }): string | undefined {
  if ('problem' in envelope) return undefined;
  const { code, message } = envelope;
  if (code !== '0' && successCode.test(code.trim()))
    return 'ask the operator of the service: this may be a success, but the code of a success is 0 by its document';
  if (!missingParameter.test(message) || ofRights.test(message)) return undefined;
  return 'set WALLET_PARAM_NAMES to the names that the service expects: `wallet-ledger doctor` checks them; if they are right, ask the operator of the service';
}

function describeAnswer(
  { status, rawBody }: AnswerToVerify,
  envelope: Envelope | { problem: string } = openEnvelope(rawBody),
): string {
  if ('problem' in envelope) {
    const text = printableText(rawBody);
    const excerpt = text.length > excerptLength ? `${text.slice(0, excerptLength - 1)}…` : text;
    return `HTTP ${status} with ${envelope.problem}${excerpt && `: ${excerpt}`}`;
  }
  const message = printableText(envelope.message);
  return `HTTP ${status} with code ${printableText(envelope.code)}${message && `: ${message}`}`;
}

function describeSkew(date: string | null, now: number): string {
  const skewMs = Date.parse(date ?? '') - now;
  if (!(Math.abs(skewMs) > skewToleratedMs)) return '';
  const direction = skewMs > 0 ? 'behind' : 'ahead of';
  return ` (this machine's clock is ${Math.round(Math.abs(skewMs) / 1000)} s ${direction} the service's)`;
}
