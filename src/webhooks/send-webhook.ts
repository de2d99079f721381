import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Webhook } from 'standardwebhooks';
import { toError } from '../kernel/errors.ts';
import type { FeedEvent } from '../ledger/feed/event-store.ts';
import { toJsonText } from '../ledger/feed/json-text.ts';
import type { DeliveryFailure } from '../ledger/feed/webhook-store.ts';
import { pinAddress, type Resolve } from './receiver-address.ts';

/** A receiver as the settings name it. Each event is signed with every secret, so that a secret can be replaced. */
export type Receiver = {
  name: string;
  url: string;
  secrets: readonly string[];
  /** True if the name in the address may lead into a private network. */
  isPrivateAllowed: boolean;
};

/** Time limit of an attempt, resolving the name included; shorter than the claim of a delivery. */
const attemptMs = 15_000;
/**
 * Time that an attempt still gets when the process stops, because a receiver that has the event may be accepting it.
 */
const lastAnswerMs = 5_000;
const headersMaxBytes = 8_192;

/**
 * Posts the event to the receiver once. Returns null if it accepted the event with a status of 2xx, otherwise the
 * reason. Follows no redirect, and reads only the status of the answer. When `stopping` aborts, still waits a few
 * seconds for an answer: without it the receiver would get the event again.
 */
export async function sendWebhook(
  receiver: Receiver,
  event: FeedEvent,
  { resolve, stopping }: { resolve: Resolve; stopping: AbortSignal },
): Promise<DeliveryFailure | null> {
  const late = new AbortController();
  const abortAfter = (ms: number) => setTimeout(() => late.abort(), ms);
  const timers = [abortAfter(attemptMs)];
  const hurry = () => timers.push(abortAfter(lastAnswerMs));
  if (stopping.aborted) hurry();
  else stopping.addEventListener('abort', hurry, { once: true });
  try {
    const status = await post(receiver, event, resolve, late.signal);
    if (status >= 200 && status < 300) return null;
    return { message: `it answered ${status}`, isGone: status === 410 };
  } catch (error) {
    const words = stopping.aborted
      ? 'it did not answer before the daemon stopped'
      : 'it did not answer in time';
    return { message: late.signal.aborted ? words : reasonOf(toError(error)), isGone: false };
  } finally {
    stopping.removeEventListener('abort', hurry);
    for (const timer of timers) clearTimeout(timer);
  }
}

async function post(
  receiver: Receiver,
  event: FeedEvent,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<number> {
  const url = new URL(receiver.url);
  const body = toJsonText(event);
  const resolving = pinAddress(url, receiver.isPrivateAllowed, resolve);
  const pinned = await untilAborted(resolving, signal);
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return await new Promise<number>((done, fail) => {
    const sent = send(url, {
      method: 'POST',
      headers: {
        ...signedHeaders(receiver.secrets, event.seq, body),
        'content-length': Buffer.byteLength(body),
      },
      agent: false,
      lookup: pinned,
      maxHeaderSize: headersMaxBytes,
      signal,
    });
    sent.on('error', fail);
    sent.on('close', () => fail(new Error('it closed the connection without an answer')));
    sent.on('response', (answer) => {
      done(answer.statusCode ?? 0);
      // Destroys the answer unread, because its body may be endless.
      answer.destroy();
      sent.destroy();
    });
    sent.end(body);
  });
}

/** The headers of the Standard Webhooks specification; `webhook-id` is the number of the event. */
function signedHeaders(secrets: readonly string[], seq: number, body: string) {
  const id = String(seq);
  const now = new Date();
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, now, body));
  return {
    'content-type': 'application/json',
    'user-agent': 'wallet-ledger',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': signatures.join(' '),
  };
}

/** Rejects when the signal aborts before the promise settles. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = new Promise<never>((_, fail) => {
    signal.addEventListener('abort', () => fail(signal.reason), { once: true });
  });
  return await Promise.race([promise, aborted]);
}

/** Returns the reason without the address, which may contain a token. */
function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? error.message : `it cannot be reached (${code})`;
}
