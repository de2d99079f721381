import { isIP } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, MiddlewareHandler } from 'hono';
import type { Log } from '../../kernel/log.ts';
import { isLoopbackHost } from '../../kernel/loopback.ts';
import { clientKey } from './client-address.ts';
import { createRefusalLog } from './refusal-log.ts';
import { createTokenGuard, type TokenGuard, type TokenVerdict } from './token-guard.ts';

/** Reason for refusing a request or a connection; a label of the metric. */
export type Refusal =
  | 'wrong_token'
  | 'missing_token'
  | 'too_many_tokens'
  | 'host'
  | 'cross_site'
  | 'connections';

export type Admission = {
  admit: MiddlewareHandler;
  close(): void;
};

type AdmissionOptions = {
  host: string;
  token: string | null;
  onRefused(reason: Refusal): void;
  log: Log;
};

const retryAfterSeconds = 5;
/** Headers that only proxies add. */
const proxyHeaders = ['Forwarded', 'Via', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Real-IP'];

/** Returns true for the public paths, whose answers contain nothing about the wallet's contents. */
export function isOpenPath(path: string): boolean {
  return path === '/healthz' || path === '/readyz';
}

/**
 * Allows public paths and requests with the token. Without a configured token, allows only requests of this machine
 * whose Host is ours (DNS rebinding).
 */
export function createAdmission(options: AdmissionOptions): Admission {
  const { token, log } = options;
  const refusals = createRefusalLog(log);
  const guard = token === null ? null : createTokenGuard(token, () => performance.now());
  return {
    async admit(c, next) {
      if (isOpenPath(c.req.path)) return await next();
      const refused =
        refuseBySite(c, options) ??
        (guard ? await refuseByToken(c, guard, options, refusals.note) : refuseByHost(c, options));
      return refused ?? (await next());
    },
    close() {
      guard?.close();
      refusals.close();
    },
  };
}

const tokenRefusals = {
  missing: { reason: 'missing_token', status: 401 },
  wrong: { reason: 'wrong_token', status: 401 },
  busy: { reason: 'too_many_tokens', status: 429 },
} as const satisfies Record<
  Exclude<TokenVerdict, 'admitted'>,
  { reason: Refusal; status: 401 | 429 }
>;

async function refuseByToken(
  c: Context,
  guard: TokenGuard,
  { onRefused }: AdmissionOptions,
  note: (address: string) => void,
): Promise<Response | null> {
  const address = clientKey(getConnInfo(c).remote.address);
  const verdict = await guard.judge(address, c.req.header('Authorization'));
  if (verdict === 'admitted') return null;
  const { reason, status } = tokenRefusals[verdict];
  onRefused(reason);
  // A browser sends its first request without credentials, so a missing token is not logged.
  if (verdict !== 'missing') note(address);
  if (status === 429) return tooManyTokens(c);
  const challenge = { 'WWW-Authenticate': 'Basic realm="wallet-ledger", charset="UTF-8"' };
  return c.text(
    'the token is required: as Bearer, or as the password of Basic\n',
    status,
    challenge,
  );
}

/** Answers a request whose token was not checked. */
export function tooManyTokens(c: Context): Response {
  const headers = { 'Retry-After': String(retryAfterSeconds) };
  return c.text('too many wrong tokens from this address\n', 429, headers);
}

/**
 * Refuses cross-site requests, to which the browser may add the stored password. Allows links from other sites (GET of
 * a whole document), but no frames.
 */
export function refuseBySite(
  c: Context,
  { onRefused }: Pick<AdmissionOptions, 'onRefused'>,
): Response | null {
  if (c.req.header('Sec-Fetch-Site') !== 'cross-site') return null;
  const isLink =
    c.req.header('Sec-Fetch-Mode') === 'navigate' && c.req.header('Sec-Fetch-Dest') === 'document';
  if (isLink && c.req.method === 'GET') return null;
  onRefused('cross_site');
  return c.text('a page of another site may link to this one, but not read from it\n', 403);
}

function refuseByHost(c: Context, { host, onRefused }: AdmissionOptions): Response | null {
  const refuse = (why: string) => {
    onRefused('host');
    return c.text(`${why}\n`, 403);
  };
  if (!isLoopbackHost(host)) return refuse('off loopback the pages need HTTP_TOKEN');
  // Every client of the proxy would look like a request of this machine.
  if (proxyHeaders.some((name) => c.req.header(name) !== undefined))
    return refuse('behind a proxy the pages need HTTP_TOKEN');
  // Prevents DNS rebinding: another site can point its own host name at this machine and read the pages as same-origin.
  if (isOwnName(new URL(c.req.url).hostname, host)) return null;
  return refuse('unknown host name: use localhost or the address, or set HTTP_TOKEN');
}

function isOwnName(name: string, host: string): boolean {
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
  return (
    isAddress || name === 'localhost' || name.endsWith('.localhost') || name === host.toLowerCase()
  );
}
