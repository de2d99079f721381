import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, MiddlewareHandler } from 'hono';
import type { Log } from '../kernel/log.ts';
import { type Refusal, tooManyTokens } from './access/admit-request.ts';
import { isToken } from './access/check-token.ts';
import { clientKey } from './access/client-address.ts';
import { createRefusalLog } from './access/refusal-log.ts';
import { createTokenGuard, type TokenGuard } from './access/token-guard.ts';
import { readOrderNumbers } from './read-order-numbers.ts';

export type HintOptions = {
  /** Null: hints are switched off, and their path does not exist. */
  hintToken: string | null;
  /** Called for each hint with the order numbers that it names; nothing of it has been verified. */
  onHint(orderNos: string[]): void;
  onRefused(reason: Refusal): void;
  log: Log;
};

export type HintRoute = {
  handle: MiddlewareHandler;
  close(): void;
};

const hintPath = '/hint/';
const methods = ['GET', 'POST'];
const bodyBytesMax = 65_536;

/** Returns the path as it may be logged: without the token of a hint. */
export function loggedPath(path: string): string {
  return path.startsWith(hintPath) ? `${hintPath}…` : path;
}

/**
 * Serves `/hint/<token>`, which needs no other token. Every hint gets the same answer, whatever its body says. A wrong
 * token gets the same answer as an unknown path, with the delay of any other wrong token and by any method.
 */
export function createHintRoute(options: HintOptions): HintRoute {
  const { hintToken, onHint, log } = options;
  const refusals = createRefusalLog(log, 'hints');
  const guard =
    hintToken === null ? null : createTokenGuard(hintToken, () => performance.now(), isToken);
  return {
    async handle(c, next) {
      if (!c.req.path.startsWith(hintPath)) return await next();
      if (guard === null) return await c.notFound();
      const refused = await refuseHint(c, guard, { ...options, note: refusals.note });
      if (refused) return refused;
      if (!methods.includes(c.req.method)) {
        const allowed = methods.join(', ');
        return c.text(`only ${allowed} are served here\n`, 405, { Allow: allowed });
      }
      onHint(readOrderNumbers(c.req.method === 'POST' ? await readBody(c) : ''));
      return c.text('taken: the lists are read at once\n', 202);
    },
    close() {
      guard?.close();
      refusals.close();
    },
  };
}

async function refuseHint(
  c: Context,
  guard: TokenGuard,
  { onRefused, note }: Pick<HintOptions, 'onRefused'> & { note(address: string): void },
): Promise<Response | null> {
  const address = clientKey(getConnInfo(c).remote.address);
  const verdict = await guard.judge(address, c.req.path.slice(hintPath.length));
  if (verdict === 'admitted') return null;
  note(address);
  onRefused(verdict === 'busy' ? 'too_many_tokens' : 'wrong_token');
  return verdict === 'busy' ? tooManyTokens(c) : await c.notFound();
}

/** Returns the body; an empty text if it is too long or cannot be read, because the hint holds without it. */
async function readBody(c: Context): Promise<string> {
  try {
    const length = c.req.header('Content-Length');
    // A body of known length is the usual case, and its text is read in one go.
    if (length !== undefined && Number(length) <= bodyBytesMax) return await c.req.text();
    if (length === undefined) return await readBounded(c);
  } catch {
    // The client has left, or was too slow.
  }
  // Unread bytes of the body would be parsed as the next request on this connection.
  c.header('Connection', 'close');
  return '';
}

async function readBounded(c: Context): Promise<string> {
  const reader = c.req.raw.body?.getReader();
  if (!reader) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > bodyBytesMax) {
      await reader.cancel();
      throw new Error('the body is too long');
    }
    text += decoder.decode(value, { stream: true });
  }
}
