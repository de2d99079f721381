import type { Context, Hono } from 'hono';
import type { Log } from '../../kernel/log.ts';
import { chainOf } from '../../ledger/reports/explorer/chain-of.ts';
import { findByReference } from '../../ledger/reports/explorer/find-by-reference.ts';
import { listRejects, listRuns } from '../../ledger/reports/explorer/list-records.ts';
import {
  listTransactions,
  type TransactionFilter,
} from '../../ledger/reports/explorer/list-transactions.ts';
import { readBalanceCourse } from '../../ledger/reports/explorer/read-balance-course.ts';
import { readCoinFlow } from '../../ledger/reports/explorer/read-coin-flow.ts';
import { listCoins, readChoices, readCoin } from '../../ledger/reports/explorer/read-coins.ts';
import { findAddress, findIndexed, findOrder } from '../../ledger/transactions/find-records.ts';
import { listProblems } from '../../status/list-problems.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { cacheFor } from '../cache-for.ts';
import type { Site } from '../place.ts';
import { addressFacts } from './address-page.ts';
import { type Answer, createPageAnswers, type ReadLedger } from './answer-page.ts';
import { coinFacts, coinList, periods } from './coin-pages.ts';
import { BadParameter, readFilter, readId, readText, readWord } from './query-params.ts';
import { problemList, rejectList, runList } from './record-pages.ts';
import { nothingFound, onlyPage, searchResults } from './search-results.ts';
import { transactionCsv, transactionList } from './transaction-list.ts';
import { rejectedOrder, transactionFacts } from './transaction-page.ts';

export type ExplorerOptions = {
  read: ReadLedger;
  readStatus(): Promise<StatusReport>;
  site: Site;
  log: Log;
};

const searchPath = '/transactions';

const statusKeepMs = 1_000;
const soughtBytesMax = 8_192;
/** Assets of a coin whose course is drawn. */
const coursesMax = 12;

/** Matches the paths of the pages, of each wallet too. */
const ownPaths =
  /^(?:\/wallets\/[a-z][a-z0-9_]*)?\/(?:transactions|addresses|coins|rejects|runs|problems)(?:\/|$)/;
const searchPaths = /^(?:\/wallets\/[a-z][a-z0-9_]*)?\/transactions$/;

export function isOfExplorer(path: string): boolean {
  return ownPaths.test(path);
}

/** Matches the only paths that take a POST: a search, so that what is searched for is in no address and in no log. */
export function isSearch(path: string): boolean {
  return searchPaths.test(path);
}

/** Adds the pages to look things up, below the base path of `app`. */
export function addExplorer(app: Hono, options: ExplorerOptions): void {
  const { answer } = createPageAnswers(options);
  const readStatus = cacheFor(options.readStatus, statusKeepMs);
  const up = '../';
  app.get(searchPath, (c) => answer(c, '', 'transactions', (read) => transactionsPage(c, read)));
  app.post(searchPath, (c) => answer(c, '', 'transactions', (read) => searchPage(c, read)));
  app.get('/transactions/:orderNo', (c) =>
    answer(c, up, 'transactions', (read) => orderPage(c.req.param('orderNo'), read)),
  );
  app.get('/addresses/:address', (c) =>
    answer(c, up, 'transactions', (read) => addressPage(c.req.param('address'), read)),
  );
  app.get('/coins', (c) =>
    answer(c, '', 'coins', async (read) => {
      const after = readText(queryOf(c), 'after');
      const coins = await read((db) => listCoins(db, after));
      return { page: { title: 'Coins', current: 'coins', content: coinList(coins) } };
    }),
  );
  app.get('/coins/:symbol', (c) =>
    answer(c, up, 'coins', (read) => coinPage(c, c.req.param('symbol'), read)),
  );
  app.get('/rejects', (c) =>
    answer(c, '', 'rejects', async (read) => {
      const before = readId(queryOf(c), 'before');
      const isAll = readWord(queryOf(c), 'show', ['open', 'all']) === 'all';
      const rejects = await read((db) => listRejects(db, { isAll, before }));
      return {
        page: { title: 'Rejects', current: 'rejects', content: rejectList(rejects, isAll) },
      };
    }),
  );
  app.get('/runs', (c) =>
    answer(c, '', 'runs', async (read) => {
      const job = readText(queryOf(c), 'job');
      const isFailed = readWord(queryOf(c), 'outcome', ['failed']) !== null;
      const before = readId(queryOf(c), 'before');
      const runs = await read((db) => listRuns(db, { job, isFailed, before }));
      const jobs = (await readStatus()).lastRuns.map((run) => run.job);
      return {
        page: { title: 'Runs', current: 'runs', content: runList(runs, { job, isFailed, jobs }) },
      };
    }),
  );
  app.get('/problems', (c) =>
    answer(c, '', 'problems', async () => {
      const report = await readStatus();
      const content = problemList(listProblems(report), report.readAt);
      return { page: { title: 'Problems', current: 'problems', content } };
    }),
  );
}

function queryOf(c: Context): (name: string) => string | undefined {
  return (name) => c.req.query(name);
}

async function transactionsPage(c: Context, read: ReadLedger): Promise<Answer> {
  const filter = readFilter(queryOf(c));
  const isCsv = readWord(queryOf(c), 'format', ['csv']) !== null;
  const { page, choices } = await read(async (db) => ({
    page: await listTransactions(db, filter),
    choices: await readChoices(db),
  }));
  if (isCsv) return { csv: transactionCsv(page.rows), name: 'transactions' };
  const content = transactionList(filter, page, choices);
  return { page: { title: 'Transactions', current: 'transactions', content } };
}

async function searchPage(c: Context, read: ReadLedger): Promise<Answer> {
  const length = Number(c.req.header('Content-Length') ?? Number.NaN);
  if (!(length <= soughtBytesMax)) throw new BadParameter('the text to search for is too long');
  const { q } = await c.req.parseBody();
  const sought = readText(() => (typeof q === 'string' ? q : undefined), 'q');
  if (sought === null) return { goTo: 'transactions' };
  const found = await read(async (db) => ({
    ...(await findIndexed(db, sought)),
    referenced: await findByReference(db, sought),
  }));
  const page = onlyPage(found);
  if (page !== null) return { goTo: page };
  const isNothing =
    found.transactions.length + found.addresses.length + found.referenced.length === 0;
  // A rejected row has no page but that of its order.
  if (isNothing && found.rejects.length > 0)
    return { goTo: `transactions/${encodeURIComponent(sought)}` };
  const content = isNothing ? nothingFound : searchResults(found);
  return {
    page: { title: isNothing ? 'Nothing found' : 'Found', current: 'transactions', content },
    status: isNothing ? 404 : 200,
    sought,
  };
}

async function orderPage(orderNo: string, read: ReadLedger): Promise<Answer> {
  const { transaction, rejects, slip44 } = await read(async (db) => {
    const found = await findOrder(db, orderNo);
    const [chain = null] = found.transaction ? await chainOf(db, [found.transaction]) : [];
    return { ...found, slip44: chain };
  });
  const current = 'transactions';
  if (transaction === null && rejects.length > 0)
    return { page: { title: `Order ${orderNo}`, current, content: rejectedOrder(rejects) } };
  if (transaction === null)
    return { page: { title: 'Nothing found', current, content: nothingFound }, status: 404 };
  const content = transactionFacts(transaction, slip44);
  return { page: { title: `${transaction.stream} ${orderNo}`, current, content } };
}

/** Any transaction to this address. */
function toAddress(address: string): TransactionFilter {
  const none = {
    stream: null,
    state: null,
    coin: null,
    chain: null,
    from: null,
    to: null,
    min: null,
    max: null,
  };
  return { ...none, address, isOpen: false, before: null };
}

async function addressPage(address: string, read: ReadLedger): Promise<Answer> {
  const { addresses, list, choices } = await read(async (db) => ({
    addresses: await findAddress(db, address),
    list: await listTransactions(db, toAddress(address)),
    choices: await readChoices(db),
  }));
  const current = 'transactions';
  if (addresses.length + list.rows.length === 0)
    return { page: { title: 'Nothing found', current, content: nothingFound }, status: 404 };
  const found = { addresses, rows: list.rows, hasMore: list.next !== null };
  return {
    page: { title: `Address ${address}`, current, content: addressFacts(address, found, choices) },
  };
}

async function coinPage(c: Context, symbol: string, read: ReadLedger): Promise<Answer> {
  const period = readWord(queryOf(c), 'days', periods) ?? '90';
  const days = period === 'all' ? null : Number(period);
  const found = await read(async (db) => {
    const report = await readCoin(db, symbol);
    if (!report) return null;
    const courses = [];
    for (const asset of report.assets.slice(0, coursesMax))
      courses.push(await readBalanceCourse(db, { ...asset, symbol }, days));
    return { report, courses, flow: await readCoinFlow(db, symbol) };
  });
  if (!found)
    return {
      page: { title: 'Nothing found', current: 'coins', content: nothingFound },
      status: 404,
    };
  const { report, ...rest } = found;
  return {
    page: { title: symbol, current: 'coins', content: coinFacts(report, { ...rest, period }) },
  };
}
