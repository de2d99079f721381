import { Hono, type MiddlewareHandler } from 'hono';
import type { Registry } from 'prom-client';
import { toError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import type { QueueBoard } from '../queue/queue-board.ts';
import { listProblems } from '../status/list-problems.ts';
import { toStatusJson } from '../status/status-report.ts';
import { createAdmission, type Refusal } from './access/admit-request.ts';
import { addSites, type SiteOptions, siteOf } from './add-sites.ts';
import { boardPath, createBoardRoute, headersOfBoard, isOfBoard } from './board-route.ts';
import { isOfExplorer, isSearch } from './explorer/explorer-routes.ts';
import { explorerHeaders } from './explorer/explorer-style.ts';
import { noSuchPage } from './explorer/no-such-page.ts';
import { createFeedRoute, type FeedOptions } from './feed/feed-route.ts';
import { createHintRoute, type HintOptions, loggedPath } from './hint-route.ts';
import { answerWithin, cacheFor } from './page/cache-for.ts';
import { securityHeaders } from './page/page-style.ts';

const parts = ['database', 'queue', 'migrated'] as const;
type Readiness = Record<(typeof parts)[number], boolean>;

export type HttpAppOptions = HintOptions &
  FeedOptions &
  SiteOptions & {
    /** Name or address on which the pages are served. */
    host: string;
    /** Null: the private pages are served on a loopback `host` only, to requests of this machine. */
    token: string | null;
    /** Opens the queue's own pages under the path; returns null while there is no queue. */
    openBoard(basePath: string): Promise<QueueBoard> | null;
    isReady(): Promise<Readiness>;
    metrics: Registry;
    /** Called for each refused request or connection. */
    onRefused(reason: Refusal): void;
    log: Log;
  };

export type HttpApp = {
  fetch: Hono['fetch'];
  /** Ends the live streams and delayed answers, and stops the timers. */
  close(): void;
};

const keepMs = 1_000;
const answerMs = 10_000;
/** Time to wait for database and queue. A probe times out after a few seconds. */
const readyAnswerMs = 3_000;
/** Readiness is public and requested often, so problems are read at most every 5 s and awaited for 2 s. */
const problemsKeepMs = 5_000;
const problemsAnswerMs = 2_000;

/** Creates all routes of the HTTP server. Requests within one second share their readings. */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const { metrics, log } = options;
  const readMetrics = cacheFor(() => metrics.metrics(), keepMs);
  const app = new Hono();
  const admission = createAdmission(options);
  const hints = createHintRoute(options);
  const feed = createFeedRoute(options);
  app.use(addSecurityHeaders, hints.handle, onlyReading, feed.handle, admission.admit);
  app.get('/healthz', (c) => c.text('ok\n'));
  addReadiness(app, options);
  app.get('/metrics', async (c) => {
    const text = await answerWithin(readMetrics(), answerMs);
    return c.body(text, 200, { 'Content-Type': metrics.contentType });
  });
  addStatusJson(app, options);
  const sites = addSites(app, options);
  app.get(`${boardPath}/`, (c) => c.redirect(`..${boardPath}`, 307));
  app.get(`${boardPath}/*`, createBoardRoute(options));
  app.notFound((c) => noSuchPage(c, siteOf(options)));
  app.onError((error, c) => {
    log.error({ error, path: loggedPath(c.req.path) }, 'a page could not be rendered');
    return c.text('this page could not be rendered; the log says why\n', 503);
  });
  return {
    fetch: app.fetch,
    close() {
      sites.close();
      admission.close();
      hints.close();
      feed.close();
    },
  };
}

function addReadiness(app: Hono, options: HttpAppOptions): void {
  const isReady = cacheFor(options.isReady, keepMs);
  const readProblems = cacheFor(
    async () => listProblems(await options.readStatus()),
    problemsKeepMs,
  );
  app.get('/readyz', async (c) => {
    const [notReady, problems] = await Promise.all([
      answerWithin(isReady(), readyAnswerMs).then(
        (answers) => parts.filter((part) => !answers[part]),
        () => parts,
      ),
      // Only names: the messages may quote the service, and this page is public.
      answerWithin(readProblems(), problemsAnswerMs).then(
        (all) => all.map(({ name, severity }) => ({ name, severity })),
        () => null,
      ),
    ]);
    const ready = notReady.length === 0;
    return c.json({ ready, notReady, problems }, ready ? 200 : 503);
  });
}

function addStatusJson(app: Hono, { readStatus, log }: HttpAppOptions): void {
  const read = cacheFor(async () => toStatusJson(await readStatus()), keepMs);
  app.get('/status.json', async (c) => {
    try {
      const json = await answerWithin(read(), answerMs);
      return c.body(json, 200, { 'Content-Type': 'application/json' });
    } catch (error) {
      log.warn({ error: toError(error) }, 'the status cannot be read');
      return c.json({ error: 'the status cannot be read; the log says why' }, 503);
    }
  });
}

const addSecurityHeaders: MiddlewareHandler = async (c, next) => {
  await next();
  const { path } = c.req;
  const isBoard = isOfBoard(path) && c.res.ok;
  const isOfLookup = isOfExplorer(path) || c.res.status === 404;
  const ofOthers = isOfLookup ? explorerHeaders : securityHeaders;
  const headers = isBoard ? headersOfBoard(path) : ofOthers;
  for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
};

const onlyReading: MiddlewareHandler = async (c, next) => {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return await next();
  const isSearched = isSearch(c.req.path);
  if (c.req.method === 'POST' && isSearched) return await next();
  const allowed = isSearched ? 'GET, HEAD, POST' : 'GET, HEAD';
  return c.text(`only ${allowed} are served here\n`, 405, { Allow: allowed });
};
