import type { Context, Hono } from 'hono';
import type { Log } from '../kernel/log.ts';
import type { DailyFlows } from '../ledger/reports/read-flows.ts';
import { reportOfWallet } from '../status/report-of-wallet.ts';
import type { StatusReport } from '../status/status-report.ts';
import type { ReadLedger } from './explorer/answer-page.ts';
import { addExplorer, isOfExplorer } from './explorer/explorer-routes.ts';
import { findWallet, recordPages } from './explorer/find-wallet.ts';
import { noSuchPage } from './explorer/no-such-page.ts';
import { cacheFor } from './page/cache-for.ts';
import { answerWithEvents } from './page/event-stream.ts';
import { timesScript } from './page/own-times.ts';
import { renderDocument } from './page/page-frame.ts';
import { createPageSource, type ReadPage } from './page/page-source.ts';
import { basePathOf, type Place, type Site, siteWords, topOf, walletsPath } from './page/place.ts';
import { searchForm } from './page/search-form.ts';
import { createLiveStatus } from './status-page/live-status.ts';
import { renderLedger, renderStatus } from './status-page/status-page.ts';
import { statusScript } from './status-page/status-script.ts';

/** Content of the pages of one wallet. */
export type WalletContent = {
  name: string;
  /** Shown on every page of the wallet. */
  place: Place;
  /** Called at most twice a minute. */
  readFlows(): Promise<DailyFlows>;
  /** Reads the status of a wallet that the status of all wallets leaves out, because it rests. */
  readStatus?(): Promise<StatusReport>;
  /** Runs reads of the pages to look things up: in one snapshot, read-only, 2 s for each statement. */
  read: ReadLedger;
};

export type SiteOptions = {
  /** Reads the status of all wallets. */
  readStatus(): Promise<StatusReport>;
  /** Installation that the pages of the whole ledger name. */
  place: Place;
  /** At least one. */
  wallets: readonly WalletContent[];
  /** Interval of the updates of the status pages in ms; default 5,000. */
  liveEveryMs?: number;
  log: Log;
};

/** Pages that close with the server. */
type Closing = { close(): void };

const keepMs = 1_000;
const liveEveryDefaultMs = 5_000;
const liveListenersMax = 50;

/**
 * Adds the status pages and the pages to look things up. With one wallet its pages are at the root. With several, each
 * wallet has pages below `/wallets/<name>/`, and the status page at the root shows the whole ledger. The root's other
 * paths then redirect to the pages of the first wallet; those of an order, an address or a coin redirect to the first
 * wallet that has it.
 */
export function addSites(app: Hono, options: SiteOptions): Closing {
  const { log, liveEveryMs = liveEveryDefaultMs } = options;
  const [first, ...others] = options.wallets;
  if (!first) throw new Error('there are no pages without a wallet');
  const site = siteOf(options);
  if (others.length === 0) return addWallet(app, first, { ...options, liveEveryMs, site });
  const { wallets } = site;
  const services = new Map(options.wallets.map((own) => [own.name, own.place.service]));
  const readStatus = cacheFor(options.readStatus, keepMs);
  const readPage = createPageSource({
    readStatus,
    render: (report) => renderLedger(report, services),
    log,
  });
  const all = [
    addStatus(app, readPage, { site, liveEveryMs }),
    ...options.wallets.map((content) =>
      addWallet(app, content, {
        liveEveryMs,
        site: { place: content.place, wallet: content.name, wallets },
        readStatus:
          content.readStatus ?? (async () => reportOfWallet(await readStatus(), content.name)),
        log,
      }),
    ),
  ];
  addRedirects(
    app,
    site,
    options.wallets.map(({ name, read, place: own }) => {
      return { name, read, site: { place: own, wallet: name, wallets } };
    }),
  );
  return {
    close() {
      for (const each of all) each.close();
    },
  };
}

/** Returns the place of the pages at the root: those of the only wallet, or of the whole ledger. */
export function siteOf({ place, wallets }: Pick<SiteOptions, 'place' | 'wallets'>): Site {
  const [only, ...others] = wallets;
  if (only && others.length === 0) return { place: only.place, wallet: null, wallets: [] };
  return { place, wallet: null, wallets: wallets.map(({ name }) => name) };
}

function addWallet(
  app: Hono,
  { readFlows, read }: WalletContent,
  options: { site: Site; liveEveryMs: number } & Pick<SiteOptions, 'readStatus' | 'log'>,
): Closing {
  const { site, readStatus, log } = options;
  const readPage = createPageSource({
    readStatus,
    readFlows,
    render: (report, flows) => renderStatus(report, flows, site.wallet),
    log,
  });
  addExplorer(app.basePath(basePathOf(site.wallet)), { read, readStatus, site, log });
  return addStatus(app, readPage, options);
}

function addStatus(
  app: Hono,
  readPage: () => Promise<ReadPage>,
  { site, liveEveryMs }: { site: Site; liveEveryMs: number },
): Closing {
  const base = basePathOf(site.wallet);
  // A search is for one wallet.
  const isOfLedger = site.wallet === null && site.wallets.length > 0;
  const live = createLiveStatus({
    render: async () => (await readPage()).page,
    everyMs: liveEveryMs,
    listenersMax: liveListenersMax,
  });
  app.get(`${base}/`, async (c) => {
    const { page, isFailure } = await readPage();
    const document = renderDocument(page, siteWords(site, ''), {
      top: topOf(site, ''),
      search: isOfLedger ? '' : searchForm(''),
    });
    return c.html(document, isFailure ? 503 : 200);
  });
  app.get(`${base}/status.js`, (c) =>
    c.body(statusScript, 200, { 'Content-Type': 'text/javascript; charset=utf-8' }),
  );
  app.get(`${base}/times.js`, (c) =>
    c.body(timesScript, 200, { 'Content-Type': 'text/javascript; charset=utf-8' }),
  );
  app.get(`${base}/events`, (c) => answerWithEvents(c, live));
  return live;
}

/** Adds the redirects to the wallets' pages. All are relative, so that they work below any path of a proxy. */
function addRedirects(
  app: Hono,
  site: Site,
  sources: readonly { name: string; read: ReadLedger; site: Site }[],
): void {
  const wallets = sources.map(({ name }) => name);
  const [first = ''] = wallets;
  app.get(walletsPath, (c) => c.redirect('./', 307));
  app.get(`${walletsPath}/`, (c) => c.redirect('../', 307));
  for (const name of wallets) app.get(basePathOf(name), (c) => c.redirect(`${name}/`, 307));
  app.all(`${walletsPath}/*`, (c) => {
    const [, , name = ''] = c.req.path.split('/');
    if (wallets.includes(name)) return c.notFound();
    const line = `there is no page of such a wallet; there are: ${wallets.join(', ')}`;
    return noSuchPage(c, site, { line, words: 'There is no wallet of this name.' });
  });
  for (const kind of Object.keys(recordPages))
    app.get(`/${kind}/:id`, async (c) => {
      const found = await findWallet(c, { kind, id: c.req.param('id') }, sources);
      return c.redirect(pathToWallet(c, found ?? first), 307);
    });
  app.all('*', async (c, next) => {
    if (!isOfExplorer(c.req.path)) return await next();
    return c.redirect(pathToWallet(c, first), 307);
  });
}

/** Returns the relative path from a path at the root to the same path of a wallet. */
function pathToWallet(c: Context, wallet: string): string {
  const { pathname, search } = new URL(c.req.url);
  const up = '../'.repeat(pathname.split('/').length - 2);
  return `${up}wallets/${wallet}${pathname}${search}`;
}
