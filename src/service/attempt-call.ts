import { type Span, SpanKind, type SpanOptions, SpanStatusCode } from '@opentelemetry/api';
import type { Clock } from '../kernel/clock.ts';
import { LedgerError } from '../kernel/errors.ts';
import { inSpan } from '../kernel/in-span.ts';
import type { Ticket, TicketSource } from '../kernel/ticket.ts';
import { buildRequest, type RequestParts } from './build-request.ts';
import { type Failure, isJudgedByBody, judgeAnswer } from './judge-answer.ts';
import type { Fetch } from './pooled-fetch.ts';
import { createRequestSlots } from './request-slots.ts';
import { sendRequest } from './send-request.ts';
import type { Signer } from './signer.ts';
import { withDeadline } from './with-deadline.ts';

/** One operation of the service. */
export type Call<T> = RequestParts & {
  /** Reads the data of a success; throws service-malformed when its shape is wrong. */
  decode(data: unknown, observation: number): T;
  /** How many answers with a code other than 0 are enough; as many as attempts where absent. */
  unsettledMax?: number;
};

export type AttemptOptions = {
  baseUrl: string;
  signer: Signer;
  tickets: TicketSource;
  /** Requests in flight at most. */
  concurrency: number;
  /** Per attempt, from the signature to the last byte of the answer. */
  timeoutMs: number;
  clock: Clock;
  /** Over connections that are kept where absent. */
  fetch?: Fetch;
  /** Told of every attempt: `outcome` is success, interrupted, or the error code without `service-`. */
  onAttempt?: (attempt: { endpoint: string; outcome: string; seconds: number }) => void;
};

type Outcome<T> = { value: T } | { failure: Failure };

export type Attempter = {
  /**
   * `attempt` counts the call's attempts, from 1; `onSent` is told when it has its ticket. Rejects only with what is
   * no verdict on the service: the signal's reason, or the tickets' error.
   */
  attempt<T>(
    call: Call<T>,
    attempt: number,
    signal?: AbortSignal,
    onSent?: () => void,
  ): Promise<Outcome<T>>;
  /** Attempts sent so far. */
  requests(): number;
};

/** Makes single attempts: slot, ticket, signature, request, verdict. Each has a ticket of its own. */
export function createAttempter(options: AttemptOptions): Attempter {
  const { baseUrl, signer, tickets, timeoutMs, clock } = options;
  const slots = createRequestSlots(options.concurrency);
  let requests = 0;

  async function attemptInSlot<T>(
    call: Call<T>,
    attempt: number,
    signal?: AbortSignal,
    onSent?: () => void,
  ): Promise<Outcome<T>> {
    const ticket = await tickets.take(signal);
    signal?.throwIfAborted();
    requests += 1;
    onSent?.();
    return await inSpan(`${call.method} ${call.path}`, spanOptions(call, attempt), (span) =>
      attemptInSpan(call, ticket, span, signal),
    );
  }

  async function attemptInSpan<T>(
    call: Call<T>,
    ticket: Ticket,
    span: Span,
    signal?: AbortSignal,
  ): Promise<Outcome<T>> {
    const startedAt = clock();
    let label = 'interrupted';
    try {
      const judgement = await judgedAnswer(call, ticket.nonce, span, signal);
      const outcome =
        'data' in judgement ? decodeData(call, judgement.data, ticket.observation) : judgement;
      label = 'failure' in outcome ? outcome.failure.code.replace('service-', '') : 'success';
      return outcome;
    } finally {
      const seconds = Math.max(0, clock() - startedAt) / 1000;
      options.onAttempt?.({ endpoint: call.path, outcome: label, seconds });
      span.setAttribute('wallet_ledger.outcome', label);
      if (label !== 'success') span.setStatus({ code: SpanStatusCode.ERROR });
    }
  }

  async function judgedAnswer(call: RequestParts, nonce: string, span: Span, signal?: AbortSignal) {
    try {
      return await withDeadline(timeoutMs, signal, async (deadline) => {
        const answer = await sendRequest(
          buildRequest(baseUrl, call, nonce),
          signer,
          deadline,
          options.fetch,
        );
        span.setAttribute('http.response.status_code', answer.status);
        if (isJudgedByBody(answer.status)) await signer.verifyResponse?.(answer);
        return judgeAnswer(answer, call.method, clock());
      });
    } catch (error) {
      signal?.throwIfAborted();
      return { failure: failureOf(error) };
    }
  }

  return {
    attempt: (call, attempt, signal, onSent) =>
      slots.run(() => attemptInSlot(call, attempt, signal, onSent), signal),
    requests: () => requests,
  };
}

/** The path of the endpoint and no more: parameters, headers and body are nobody else's business. */
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

function decodeData<T>(call: Call<T>, data: unknown, observation: number): Outcome<T> {
  try {
    return { value: call.decode(data, observation) };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** A failure of the service or of the signer is judged; any other, a bug's say, goes up as it is. */
function failureOf(error: unknown): Failure {
  if (!(error instanceof LedgerError && error.code.startsWith('service-'))) throw error;
  const { code, message, cause, isRetryable } = error;
  return { code, message, cause, isRepeated: isRetryable };
}
