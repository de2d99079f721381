import { setMaxListeners } from 'node:events';
import type { HttpBindings } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, MiddlewareHandler } from 'hono';
import { toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { withAnySignal } from '../../kernel/with-any-signal.ts';
import { databaseError } from '../../ledger/connection/database-error.ts';
import type { FeedPage, FeedReader } from '../../ledger/feed/feed-reader.ts';
import { toJsonText } from '../../ledger/feed/json-text.ts';
import { type Refusal, refuseBySite, tooManyTokens } from '../access/admit-request.ts';
import { clientKey } from '../access/client-address.ts';
import { createRefusalLog } from '../access/refusal-log.ts';
import { createTokenGuard, type TokenGuard } from '../access/token-guard.ts';
import { answerWithFeed } from './feed-stream.ts';

export type FeedOptions = {
  /** Null: the feed over HTTP is switched off, and its paths do not exist. */
  feedToken: string | null;
  feed: FeedReader;
  onRefused(reason: Refusal): void;
  log: Log;
};

export type FeedRoute = { handle: MiddlewareHandler; close(): void };

/** Events of one answer. */
const pageMax = 500;
const waitMaxMs = 60_000;
/** Time that a waiting connection may be idle beyond its wait. */
const graceMs = 10_000;
/** Clients that wait or stream at the same time. */
const clientsMax = 100;
const retryAfterSeconds = 5;

/**
 * Serves `/feed` (long poll, JSON lines) and `/feed/stream` (server-sent events), which need FEED_TOKEN and no other
 * token.
 */
export function createFeedRoute(options: FeedOptions): FeedRoute {
  const { feedToken, feed, log } = options;
  const refusals = createRefusalLog(log, 'the feed');
  const guard = feedToken === null ? null : createTokenGuard(feedToken, () => performance.now());
  const closing = new AbortController();
  // Every client adds a listener.
  setMaxListeners(0, closing.signal);
  let clients = 0;

  async function serve(c: Context): Promise<Response> {
    const misuse = misuseOf(c.req.queries());
    if (misuse !== null) return c.text(`${misuse}\n`, 400);
    const after = positionOf(c);
    if (after === null)
      return c.text('after and Last-Event-ID are numbers of events: 0, 1, 2 …\n', 400);
    if (c.req.path === '/feed') return await answerPoll(c, feed, after, closing.signal);
    const first = await feed.read(after, 1);
    if (first.kind !== 'events') return refusePosition(c, first, after);
    return answerWithFeed(c, { feed, after, signal: closing.signal, log });
  }

  return {
    async handle(c, next) {
      if (c.req.path !== '/feed' && c.req.path !== '/feed/stream') return await next();
      if (guard === null) return await c.notFound();
      const refused = await refuseClient(c, guard, { ...options, note: refusals.note });
      if (refused) return refused;
      if (c.req.method === 'HEAD') return c.body(null);
      if (clients >= clientsMax || closing.signal.aborted) return tooManyClients(c);
      clients += 1;
      (c.env as HttpBindings).outgoing.once('close', () => {
        clients -= 1;
      });
      return await serve(c).catch((error) => unreadable(c, toError(error), log));
    },
    close() {
      closing.abort();
      guard?.close();
      refusals.close();
    },
  };
}

async function refuseClient(
  c: Context,
  guard: TokenGuard,
  { onRefused, note }: Pick<FeedOptions, 'onRefused'> & { note(address: string): void },
): Promise<Response | null> {
  const foreign = refuseBySite(c, { onRefused });
  if (foreign) return foreign;
  const address = clientKey(getConnInfo(c).remote.address);
  const verdict = await guard.judge(address, c.req.header('Authorization'));
  if (verdict === 'admitted') return null;
  if (verdict !== 'missing') note(address);
  if (verdict === 'busy') {
    onRefused('too_many_tokens');
    return tooManyTokens(c);
  }
  onRefused(verdict === 'missing' ? 'missing_token' : 'wrong_token');
  const challenge = { 'WWW-Authenticate': 'Bearer realm="wallet-ledger feed"' };
  return c.text('the token of the feed (FEED_TOKEN) is required, as Bearer\n', 401, challenge);
}

/** Answers with the events after the position; waits for them as long as `wait` says while there are none. */
async function answerPoll(
  c: Context,
  feed: FeedReader,
  after: number,
  closing: AbortSignal,
): Promise<Response> {
  const waitMs = durationOf(c.req.query('wait'));
  if (waitMs === null) return c.text('wait is a duration such as 30s, at most 60s\n', 400);
  const { incoming, outgoing } = c.env as HttpBindings;
  incoming.socket.setTimeout(waitMs + graceMs);
  const disconnected = new AbortController();
  outgoing.once('close', () => disconnected.abort());
  const late = AbortSignal.timeout(Math.max(1, waitMs));
  return await withAnySignal([closing, disconnected.signal, late], async (signal) => {
    const isOver = new Promise((resolve) => signal.addEventListener('abort', resolve));
    for (;;) {
      const wake = feed.nextWake();
      const page = await feed.read(after, pageMax);
      if (page.kind !== 'events') return refusePosition(c, page, after);
      if (page.events.length > 0 || waitMs === 0 || signal.aborted) {
        const lines = page.events.map((event) => `${toJsonText(event)}\n`).join('');
        return c.body(lines, 200, { 'Content-Type': 'application/x-ndjson; charset=utf-8' });
      }
      await Promise.race([wake, isOver]);
    }
  });
}

function refusePosition(
  c: Context,
  page: Exclude<FeedPage, { kind: 'events' }>,
  after: number,
): Response {
  if (page.kind === 'deleted') {
    const words = `the events ${after + 1} to ${page.oldest - 1} have been deleted; begin with the tables`;
    return c.text(`${words}: docs/change-feed.md says how\n`, 410);
  }
  return c.text(
    `event ${after} was read before, but the feed ends at ${page.head}: the database went back to an earlier state ` +
      '(a restore or a failover); compare your books with the tables, then go on behind the end of the feed\n',
    409,
  );
}

/** Returns why the parameters cannot be used: an unknown one, or one that is given twice; null if they can. */
function misuseOf(params: Record<string, string[]>): string | null {
  for (const [name, values] of Object.entries(params)) {
    if (name !== 'after' && name !== 'wait') {
      const shown = name.slice(0, 40).replaceAll(/[^\w-]/g, '?');
      return `the feed has no parameter ${shown}; it takes after and wait`;
    }
    if (values.length > 1) return `${name} is given ${values.length} times`;
  }
  return null;
}

function unreadable(c: Context, error: Error, log: Log): Response {
  log.warn({ reason: databaseError(error).message }, 'the feed could not be read');
  const headers = { 'Retry-After': String(retryAfterSeconds) };
  return c.text('the database does not answer; the log says why\n', 503, headers);
}

/** Position that the request names, by default 0; null if it is not a number. */
function positionOf(c: Context): number | null {
  const text = c.req.header('Last-Event-ID') ?? c.req.query('after') ?? '0';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Milliseconds, by default 0; null if the text is no duration or longer than the maximum. */
function durationOf(text = '0s'): number | null {
  const [, digits, unit = 's'] = /^(\d{1,6})(ms|s|m)?$/.exec(text) ?? [];
  const ms = Number(digits) * ({ ms: 1, m: 60_000 }[unit] ?? 1_000);
  return ms <= waitMaxMs ? ms : null;
}

function tooManyClients(c: Context): Response {
  const headers = { 'Retry-After': String(retryAfterSeconds) };
  return c.text('too many clients read the feed\n', 503, headers);
}
