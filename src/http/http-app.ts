import { isIP } from 'node:net';
import { Hono, type MiddlewareHandler } from 'hono';
import type { Registry } from 'prom-client';
import { LedgerError, toError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { carriesToken } from './check-token.ts';
import { renderFailure } from './page-frame.ts';
import { securityHeaders } from './page-style.ts';
import { answerWithin, shareBriefly } from './share-briefly.ts';
import { renderStatus } from './status-page.ts';
import type { StatusReport } from './status-report.ts';

type Readiness = { database: boolean; queue: boolean; migrated: boolean };

export type HttpAppOptions = {
  /** The name or address that the pages are served on. */
  host: string;
  /** Null: whoever reaches the port may read. */
  token: string | null;
  readStatus(): Promise<StatusReport>;
  isReady(): Promise<Readiness>;
  metrics: Registry;
  log: Log;
};

const keepMs = 1_000;
const answerMs = 10_000;
const openPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/** The routes of section 5 of the contract. Both reads are shared among the requests of a second. */
export function createHttpApp(options: HttpAppOptions): Hono {
  const { metrics, log } = options;
  const isReady = shareBriefly(options.isReady, keepMs);
  const readStatus = shareBriefly(logged(options.readStatus, log), keepMs);
  const app = new Hono();
  app.use(addSecurityHeaders, onlyReading, openOrAdmitted(options));
  app.get('/healthz', (c) => c.text('ok\n'));
  app.get('/readyz', async (c) => {
    const notReady = await answerWithin(isReady(), answerMs).then(
      (parts) => (['database', 'queue', 'migrated'] as const).filter((part) => !parts[part]),
      (error) => [toError(error).message],
    );
    const ready = notReady.length === 0;
    return c.json({ ready, notReady }, ready ? 200 : 503);
  });
  app.get('/metrics', async (c) => {
    const text = await answerWithin(metrics.metrics(), answerMs);
    return c.body(text, 200, { 'Content-Type': metrics.contentType });
  });
  app.get('/', async (c) => {
    const report = await answerWithin(readStatus(), answerMs).catch(toError);
    return report instanceof Error
      ? c.html(renderFailure(describeFailure(report)), 503)
      : c.html(renderStatus(report));
  });
  app.notFound((c) => c.text('not found\n', 404));
  app.onError((error, c) => {
    log.error({ error, path: c.req.path }, 'a page could not be made');
    return c.text('this page could not be made; the log says why\n', 503);
  });
  return app;
}

const addSecurityHeaders: MiddlewareHandler = async (c, next) => {
  await next();
  for (const [name, value] of Object.entries(securityHeaders)) c.res.headers.set(name, value);
};

const onlyReading: MiddlewareHandler = async (c, next) => {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return await next();
  return c.text('only GET and HEAD are served\n', 405, { Allow: 'GET, HEAD' });
};

/** Lets through what is open to all, what carries the token, and, where there is none, what names this host. */
function openOrAdmitted({ token, host }: HttpAppOptions): MiddlewareHandler {
  return async (c, next) => {
    if (openPaths.has(c.req.path)) return await next();
    if (token !== null) {
      if (carriesToken(c.req.header('Authorization'), token)) return await next();
      const challenge = { 'WWW-Authenticate': 'Basic realm="wallet-ledger", charset="UTF-8"' };
      return c.text(
        'the token is required: as Bearer, or as the password of Basic\n',
        401,
        challenge,
      );
    }
    // A web page elsewhere can point a name of its own at this machine and read as if it were part of the service.
    if (isOwnName(new URL(c.req.url).hostname, host)) return await next();
    return c.text('unknown host name: use localhost or the address, or set HTTP_TOKEN\n', 403);
  };
}

function isOwnName(name: string, host: string): boolean {
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
  return (
    isAddress || name === 'localhost' || name.endsWith('.localhost') || name === host.toLowerCase()
  );
}

/** Tells the log when reading begins to fail, and when it works again. */
function logged(read: () => Promise<StatusReport>, log: Log): () => Promise<StatusReport> {
  let isFailing = false;
  return async () => {
    try {
      const report = await read();
      if (isFailing) log.info({}, 'the status can be read again');
      isFailing = false;
      return report;
    } catch (error) {
      if (!isFailing) log.warn({ error: toError(error) }, 'the status cannot be read');
      isFailing = true;
      throw error;
    }
  };
}

/** Only our own errors have words for readers; others may quote statements. */
function describeFailure(error: Error): { message: string; cure: string } {
  if (error instanceof LedgerError) return { message: error.message, cure: error.cure };
  return {
    message: 'The database or the queue does not answer.',
    cure: 'see that PostgreSQL and, where REDIS_URL is set, Redis run; the log has the details',
  };
}
