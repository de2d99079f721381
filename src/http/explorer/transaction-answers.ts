import type { Context } from 'hono';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { findByReference } from '../../ledger/reports/explorer/find-by-reference.ts';
import {
  listTransactions,
  type TransactionFilter,
  type TransactionPage,
} from '../../ledger/reports/explorer/list-transactions.ts';
import { readChains } from '../../ledger/reports/explorer/read-chains.ts';
import { readChoices } from '../../ledger/reports/explorer/read-coins.ts';
import { readPostings } from '../../ledger/reports/explorer/read-postings.ts';
import { readOtherSide } from '../../ledger/reports/explorer/read-transfer.ts';
import { findAddress, findIndexed, findOrder } from '../../ledger/transactions/find-records.ts';
import type { Site } from '../page/place.ts';
import { addressFacts } from './address-page.ts';
import type { Answer, ReadLedger } from './answer-page.ts';
import {
  BadParameter,
  filterNames,
  queryOf,
  readFilter,
  readText,
  readWord,
} from './query-params.ts';
import { onlyPage, searchResults } from './search-results.ts';
import { transactionCsv, transactionList } from './transaction-list.ts';
import { rejectedOrder, transactionFacts } from './transaction-page.ts';

const soughtBytesMax = 8_192;

/** Answers with a page of the list of transactions, or with its rows as CSV. */
export async function transactionsPage(c: Context, read: ReadLedger): Promise<Answer> {
  const asked = queryOf(c, [...filterNames, 'format']);
  const filter = readFilter(asked);
  const isCsv = readWord(asked, 'format', ['csv']) !== null;
  const { page, choices } = await read(async (db) => ({
    page: await listTransactions(db, filter),
    choices: await readChoices(db),
  }));
  if (isCsv) return { csv: transactionCsv(page.rows), name: 'transactions' };
  const content = transactionList(filter, page, choices);
  return { page: { title: 'Transactions', current: 'transactions', content } };
}

/** Answers with what was found, or redirects to the page if only one matches. */
export async function searchPage(c: Context, read: ReadLedger): Promise<Answer> {
  const length = Number(c.req.header('Content-Length') ?? Number.NaN);
  if (!(length <= soughtBytesMax)) throw new BadParameter('the text to search for is too long');
  const { q } = await c.req.parseBody();
  const sought = readText(() => (typeof q === 'string' ? q : undefined), 'q');
  if (sought === null) return { goTo: 'transactions' };
  const found = await read(async (db) => ({
    ...(await findIndexed(db, sought)),
    referenced: await findByReference(db, sought),
    chains: await readChains(db),
  }));
  const page = onlyPage(found);
  if (page !== null) return { goTo: page };
  const isNothing =
    found.transactions.length + found.addresses.length + found.referenced.length === 0;
  // A rejected row has no page but that of its order.
  if (isNothing && found.rejects.length > 0)
    return { goTo: `transactions/${encodeURIComponent(sought)}` };
  if (isNothing) {
    const sent = await read((db) => sentFrom(db, sought));
    if (sent.rows.length > 0) return { goTo: `addresses/${encodeURIComponent(sought)}` };
    return { nothingIn: 'transactions', sought };
  }
  const content = searchResults(found, found.chains);
  return { page: { title: 'Found', current: 'transactions', content }, sought };
}

/** Answers with the page of an order. Another wallet's side of it is shown if that wallet has pages here. */
export async function orderPage(orderNo: string, read: ReadLedger, site: Site): Promise<Answer> {
  const { transaction, rejects, ...more } = await read(async (db) => {
    const found = await findOrder(db, orderNo);
    const books = await readPostings(db, orderNo);
    const hasOthers = site.wallets.length > 1;
    const other =
      hasOthers && found.transaction ? await readOtherSide(db, found.transaction) : null;
    const otherSide = other && site.wallets.includes(other.wallet) ? other : null;
    return { ...found, books, otherSide, chains: await readChains(db) };
  });
  const current = 'transactions';
  if (transaction === null && rejects.length > 0)
    return { page: { title: `Order ${orderNo}`, current, content: rejectedOrder(rejects) } };
  if (transaction === null) return { nothingIn: current };
  const content = transactionFacts(transaction, { ...more, site });
  return { page: { title: `${transaction.stream} ${orderNo}`, current, content } };
}

/** Any transaction of these addresses. */
function filterOf(given: Pick<TransactionFilter, 'address' | 'sender'>): TransactionFilter {
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
  return { ...none, ...given, isOpen: false, before: null };
}

/** Reads the transactions from this address among the latest ones. */
function sentFrom(db: LedgerDb, address: string): Promise<TransactionPage> {
  return listTransactions(db, filterOf({ address: null, sender: address }));
}

/** Answers with the page of an address in any spelling, of the ledger, of a recipient or of a sender. */
export async function addressPage(address: string, read: ReadLedger): Promise<Answer> {
  const { addresses, list, sent, chains } = await read(async (db) => ({
    addresses: await findAddress(db, address),
    list: await listTransactions(db, filterOf({ address, sender: null })),
    sent: await sentFrom(db, address),
    chains: await readChains(db),
  }));
  const current = 'transactions';
  if (addresses.length + list.rows.length + sent.rows.length === 0)
    return { nothingIn: current, sender: address };
  const found = { addresses, list, sent };
  return {
    page: { title: `Address ${address}`, current, content: addressFacts(address, found, chains) },
  };
}
