import { type Span, SpanKind, type SpanOptions, SpanStatusCode } from '@opentelemetry/api';
import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import type { Clock } from '../../kernel/clock.ts';
import { LedgerError } from '../../kernel/errors.ts';
import { breathe } from '../../kernel/in-slices.ts';
import { inSpan } from '../../kernel/in-span.ts';
import type { Deferral, Lane, Ticket, TicketSource } from '../../kernel/ticket.ts';
import { UnreadableAnswer } from '../decoding/unreadable-answer.ts';
import type { Signer } from '../signing/signer.ts';
import { buildRequest, type RequestParts } from './build-request.ts';
import { type Failure, isJudgedByBody, type Judgement, judgeAnswer } from './judge-answer.ts';
import { type Fetch, largeLength } from './pooled-fetch.ts';
import { createSemaphore } from './semaphore.ts';
import { sendRequest } from './send-request.ts';
import { withDeadline } from './with-deadline.ts';

export type Call<T> = RequestParts & {
  lane: Lane;
  /**
   * Decodes the data of a success; throws service-malformed if its shape is wrong. `isLenient` accepts an OddAnswer,
   * which has come several times in a row. `length` is that of the whole answer, in characters.
   */
  decode(data: unknown, observation: number, isLenient: boolean, length: number): T;
  /** Maximum of answers with a code other than 0; default: the maximum of attempts. */
  unsettledMax?: number;
  /** Maximum of unreadable answers; default: the maximum of attempts. */
  malformedMax?: number;
  /** Maximum of answers such as HTTP 500; default: the maximum of attempts. */
  failingMax?: number;
  /**
   * Time (ms) from the beginning of the call after which no attempt follows one without an answer, or one such as HTTP
   * 500; default: no limit.
   */
  unreachableMs?: number;
  /** Maximum of attempts; default: that of the retry policy. */
  attemptsMax?: number;
};

/** One attempt of a call. `attempt` counts from 1; `isLenient` accepts an OddAnswer. */
type AttemptTurn = { attempt: number; isLenient: boolean };

export type AttemptOptions = {
  baseUrl: string;
  signer: Signer;
  tickets: TicketSource;
  /** Maximum of requests in flight. */
  concurrency: number;
  /** Milliseconds per attempt, from the signature to the last byte of the answer. */
  timeoutMs: number;
  clock: Clock;
  /** Default: `pooledFetch`, over kept-alive connections. */
  fetch?: Fetch;
  /** Callback before every attempt; `onAttempt` follows each. */
  onSend?: () => void;
  /** Callback after every attempt. `outcome` is success, interrupted, or the error code without `service-`. */
  onAttempt?: (attempt: { endpoint: string; outcome: string; seconds: number }) => void;
};

type Outcome<T> = { value: T } | { failure: Failure };

export type RequestSender = {
  /**
   * Makes one attempt; calls `onSent` once it has its ticket. Rejects only with the signal's reason, the tickets'
   * error, or an error of this program. All failures of the service are outcomes.
   */
  attempt<T>(
    call: Call<T>,
    turn: AttemptTurn,
    signal?: AbortSignal,
    onSent?: () => void,
  ): Promise<Outcome<T>>;
  /** Number of attempts sent so far. */
  requests(): number;
};

/**
 * Creates a sender of single attempts: request slot, ticket, signature, request, outcome. Each attempt takes its own
 * ticket.
 */
export function createRequestSender(options: AttemptOptions): RequestSender {
  const { tickets, clock } = options;
  const slots = createSemaphore(options.concurrency);
  let requests = 0;

  async function attemptInSlot<T>(
    call: Call<T>,
    turn: AttemptTurn,
    signal?: AbortSignal,
    onSent?: () => void,
  ): Promise<Outcome<T> | Deferral> {
    const ticket = await tickets.take(call.lane, signal);
    if ('backInMs' in ticket) return ticket;
    signal?.throwIfAborted();
    requests += 1;
    onSent?.();
    return await inSpan(`${call.method} ${call.path}`, spanOptions(call, turn.attempt), (span) =>
      attemptInSpan(call, { ...turn, ticket, span, signal }),
    );
  }

  async function attemptInSpan<T>(call: Call<T>, sending: Sending): Promise<Outcome<T>> {
    const startedAt = clock();
    options.onSend?.();
    let label = 'interrupted';
    try {
      const { judgement, rawBody } = await exchange(options, call, sending);
      if (rawBody.length > largeLength) await breathe();
      const outcome =
        'data' in judgement ? decodeData(call, judgement.data, sending, rawBody) : judgement;
      if (rawBody.length > largeLength) await breathe();
      label = 'failure' in outcome ? outcome.failure.code.replace('service-', '') : 'success';
      return outcome;
    } finally {
      const seconds = Math.max(0, clock() - startedAt) / 1000;
      options.onAttempt?.({ endpoint: call.path, outcome: label, seconds });
      sending.span.setAttribute('wallet_ledger.outcome', label);
      if (label !== 'success') sending.span.setStatus({ code: SpanStatusCode.ERROR });
    }
  }

  return {
    async attempt(call, turn, signal, onSent) {
      const work = () => attemptInSlot(call, turn, signal, onSent);
      for (;;) {
        const ended = await slots.run(call.lane, work, signal);
        if (!('backInMs' in ended)) return ended;
        // Waits without a request slot, so that a higher lane can have it.
        await abortableSleep(ended.backInMs, signal);
      }
    },
    requests: () => requests,
  };
}

type Sending = AttemptTurn & { ticket: Ticket; span: Span; signal: AbortSignal | undefined };

/** Signs, sends and judges one request; `rawBody` is '' without an answer. */
async function exchange(
  { baseUrl, signer, timeoutMs, clock, fetch }: AttemptOptions,
  call: RequestParts,
  { ticket, isLenient, span, signal }: Sending,
): Promise<{ judgement: Judgement; rawBody: string }> {
  try {
    return await withDeadline(timeoutMs, signal, async (deadline) => {
      const request = buildRequest(baseUrl, call, ticket.nonce);
      const answer = await sendRequest(request, signer, deadline, fetch, isLenient);
      span.setAttribute('http.response.status_code', answer.status);
      if (answer.rawBody.length > largeLength) await breathe();
      if (isJudgedByBody(answer.status)) await signer.verifyResponse?.(answer);
      return { judgement: judgeAnswer(answer, call.method, clock()), rawBody: answer.rawBody };
    });
  } catch (error) {
    signal?.throwIfAborted();
    return { judgement: { failure: failureOf(error) }, rawBody: '' };
  }
}

/** Returns attributes with the endpoint's path alone, because parameters, headers and body are confidential. */
function spanOptions({ method, path }: RequestParts, attempt: number): SpanOptions {
  return {
    kind: SpanKind.CLIENT,
    attributes: {
      'http.request.method': method,
      'url.template': path,
      'wallet_ledger.attempt': attempt,
    },
  };
}

function decodeData<T>(
  call: Call<T>,
  data: unknown,
  { ticket, isLenient }: Sending,
  rawBody: string,
): Outcome<T> {
  try {
    return { value: call.decode(data, ticket.observation, isLenient, rawBody.length) };
  } catch (error) {
    const failure = failureOf(error);
    return { failure: { ...failure, cause: failure.cause ?? new UnreadableAnswer(rawBody) } };
  }
}

/** Converts an error of the service or the signer to a failure; rethrows any other error, such as a bug. */
function failureOf(error: unknown): Failure {
  if (!(error instanceof LedgerError && error.code.startsWith('service-'))) throw error;
  const { code, message, cause, isRetryable } = error;
  return { code, message, cause, isRetryable: isRetryable };
}
