import { html } from 'hono/html';
import type { ReferencedAddress } from '../../ledger/reports/explorer/find-by-reference.ts';
import type { NamedChain } from '../../ledger/reports/explorer/read-chains.ts';
import type { FoundRecords } from '../../ledger/transactions/find-records.ts';
import { foreign, type Html, scrollingTable, section } from '../page/page-frame.ts';
import { amountCell } from './amount.ts';
import { chainWords } from './chain-words.ts';
import { linkTo } from './explorer-frame.ts';
import { timeWords } from './times.ts';

/** Records and addresses that a search found. */
export type Found = Pick<FoundRecords, 'transactions' | 'addresses' | 'isCut'> & {
  referenced: ReferencedAddress[];
};

/** Path below `/` of the only page that a search can mean; null if it found several records or none. */
export function onlyPage({ transactions, addresses, referenced }: Found): string | null {
  const orders = transactions.map(({ orderNo }) => `transactions/${encodeURIComponent(orderNo)}`);
  const own = [...addresses, ...referenced].map(
    ({ address }) => `addresses/${encodeURIComponent(address)}`,
  );
  // The transactions to an address are on its page.
  const pages = new Set(
    addresses.length > 0 && referenced.length === 0 ? own : [...orders, ...own],
  );
  const [page] = pages;
  return pages.size === 1 && page !== undefined && !/\/\.{1,2}$/.test(page) ? page : null;
}

/** Lists everything that a search found. */
export function searchResults(
  { transactions, addresses, referenced, isCut }: Found,
  chains: NamedChain[],
): Html {
  const places = [...addresses, ...referenced].map(
    ({ slip44, address, status, assignedAt }) =>
      html`<tr><td>${chainWords(chains, slip44)}</td><td class="key">${linkTo('', 'addresses', address)}</td><td>${status}</td><td class="time">${assignedAt === null ? '–' : timeWords(assignedAt)}</td></tr>`,
  );
  const rows = transactions.map(
    (
      row,
    ) => html`<tr><td class="time">${timeWords(row.occurredAt)}</td><td>${row.stream}</td>${amountCell(row.amount)}
<td>${foreign(row.symbol ?? '–')}</td><td>${foreign(row.state ?? '–')}</td><td class="key">${linkTo('', 'transactions', row.orderNo)}</td></tr>`,
  );
  const addressTable = html`<table><caption>Addresses</caption><thead><tr><th scope="col">Chain</th><th scope="col">Address</th><th scope="col">Status</th><th scope="col">Handed out</th></tr></thead><tbody>${places}</tbody></table>`;
  const rowTable = html`<table><caption>Transactions, latest first${isCut ? ', the first 50' : ''}</caption><thead><tr><th scope="col">Time, UTC</th><th scope="col">List</th>
<th scope="col" class="number">Amount</th><th scope="col">Coin</th><th scope="col">State</th><th scope="col">Order</th></tr></thead><tbody>${rows}</tbody></table>`;
  return html`${places.length === 0 ? '' : section('addresses', 'Addresses', scrollingTable('Addresses', addressTable))}
${rows.length === 0 ? '' : section('found', 'Transactions', scrollingTable('Transactions', rowTable))}`;
}
