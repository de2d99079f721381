import type { Clock } from '../kernel/clock.ts';
import { LedgerError } from '../kernel/errors.ts';
import type { TicketSource } from '../kernel/ticket.ts';
import { buildRequest, type RequestParts } from './build-request.ts';
import { type Failure, isJudgedByBody, judgeAnswer } from './judge-answer.ts';
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
  /** Told of every attempt: `outcome` is success, interrupted, or the error code without `service-`. */
  onAttempt?: (attempt: { endpoint: string; outcome: string; seconds: number }) => void;
};

type Outcome<T> = { value: T } | { failure: Failure };

export type Attempter = {
  /** Rejects only with what is no verdict on the service: the signal's reason, or the tickets' error. */
  attempt<T>(call: Call<T>, signal?: AbortSignal, onSent?: () => void): Promise<Outcome<T>>;
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
    signal?: AbortSignal,
    onSent?: () => void,
  ): Promise<Outcome<T>> {
    const ticket = await tickets.take(signal);
    signal?.throwIfAborted();
    requests += 1;
    onSent?.();
    const startedAt = clock();
    let label = 'interrupted';
    try {
      const judgement = await judgedAnswer(call, ticket.nonce, signal);
      const outcome =
        'data' in judgement ? decodeData(call, judgement.data, ticket.observation) : judgement;
      label = 'failure' in outcome ? outcome.failure.code.replace('service-', '') : 'success';
      return outcome;
    } finally {
      const seconds = Math.max(0, clock() - startedAt) / 1000;
      options.onAttempt?.({ endpoint: call.path, outcome: label, seconds });
    }
  }

  async function judgedAnswer(call: RequestParts, nonce: string, signal?: AbortSignal) {
    try {
      return await withDeadline(timeoutMs, signal, async (deadline) => {
        const answer = await sendRequest(buildRequest(baseUrl, call, nonce), signer, deadline);
        if (isJudgedByBody(answer.status)) await signer.verifyResponse?.(answer);
        return judgeAnswer(answer, call.method, clock());
      });
    } catch (error) {
      signal?.throwIfAborted();
      return { failure: failureOf(error) };
    }
  }

  return {
    attempt: (call, signal, onSent) => slots.run(() => attemptInSlot(call, signal, onSent), signal),
    requests: () => requests,
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
