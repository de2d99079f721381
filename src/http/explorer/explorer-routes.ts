import type { Hono } from 'hono';
import type { Log } from '../../kernel/log.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { answerWithin, cacheFor } from '../page/cache-for.ts';
import type { Site } from '../page/place.ts';
import { createPageAnswers, type ReadLedger } from './answer-page.ts';
import { queryOf } from './query-params.ts';
import {
  coinPage,
  coinsPage,
  poolsOverTime,
  problemsPage,
  proofOverTime,
  rejectsPage,
  runsPage,
} from './record-answers.ts';
import { addressPage, orderPage, searchPage, transactionsPage } from './transaction-answers.ts';

export type ExplorerOptions = {
  read: ReadLedger;
  readStatus(): Promise<StatusReport>;
  site: Site;
  log: Log;
};

const statusKeepMs = 1_000;
const statusAnswerMs = 10_000;
/** Age (ms) up to which a status may be shown again: under load reading it takes as long as all the rest of a page. */
const statusStaleMs = 5_000;

/** Matches the paths of the pages, including those of each wallet. */
const ownPaths =
  /^(?:\/wallets\/[a-z][a-z0-9_]*)?\/(?:transactions|addresses|coins|pools|proof|rejects|runs|problems)(?:\/|$)/;
const searchPaths = /^(?:\/wallets\/[a-z][a-z0-9_]*)?\/transactions$/;

export function isOfExplorer(path: string): boolean {
  return ownPaths.test(path);
}

/**
 * Matches the only paths that accept a POST: a search, so that the text searched for is in no address and in no log.
 */
export function isSearch(path: string): boolean {
  return searchPaths.test(path);
}

/** Adds the pages to look things up, below the base path of `app`. */
export function addExplorer(app: Hono, options: ExplorerOptions): void {
  const { answer, answerShared } = createPageAnswers(options);
  const shared = cacheFor(options.readStatus, statusKeepMs, statusStaleMs);
  const readStatus = () => answerWithin(shared(), statusAnswerMs);
  const up = '../';
  app.get('/transactions', (c) => {
    // The list of one address is read again for each request.
    const answerList = c.req.query('address') ? answer : answerShared;
    return answerList(c, '', 'transactions', (read) => transactionsPage(c, read));
  });
  app.post('/transactions', (c) => answer(c, '', 'transactions', (read) => searchPage(c, read)));
  app.get('/transactions/:orderNo', (c) =>
    answer(c, up, 'transactions', (read) => {
      queryOf(c, []);
      return orderPage(c.req.param('orderNo'), read, options.site);
    }),
  );
  app.get('/addresses/:address', (c) =>
    answer(c, up, 'transactions', (read) => {
      queryOf(c, []);
      return addressPage(c.req.param('address'), read);
    }),
  );
  app.get('/coins', (c) => answerShared(c, '', 'coins', (read) => coinsPage(c, read)));
  app.get('/coins/:symbol', (c) =>
    answerShared(c, up, 'coins', (read) => coinPage(c, c.req.param('symbol'), read)),
  );
  app.get('/pools', (c) => answerShared(c, '', 'pools', (read) => poolsOverTime(c, read)));
  app.get('/proof', (c) =>
    answerShared(c, '', 'proof', (read) => proofOverTime(c, read, readStatus)),
  );
  app.get('/rejects', (c) => answer(c, '', 'rejects', (read) => rejectsPage(c, read)));
  app.get('/runs', (c) => answerShared(c, '', 'runs', (read) => runsPage(c, read, readStatus)));
  app.get('/problems', (c) => answer(c, '', 'problems', () => problemsPage(c, readStatus)));
}
