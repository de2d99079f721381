import { html, raw } from 'hono/html';
import type {
  ListedRow,
  TransactionFilter,
  TransactionPage,
} from '../../ledger/reports/explorer/list-transactions.ts';
import type { Choices } from '../../ledger/reports/explorer/read-coins.ts';
import { counted } from '../../status/status-words.ts';
import { cut, foreign, type Html, scrollingTable } from '../page/page-frame.ts';
import { amountCell } from './amount.ts';
import { chainText, chainWords } from './chain-words.ts';
import { toCsv } from './csv.ts';
import { linkTo } from './explorer-frame.ts';
import { filterQuery } from './query-params.ts';
import { timeWords } from './times.ts';

/** Shows a page of the list with its filters. Every link contains all filters, so it can be shared. */
export function transactionList(
  filter: TransactionFilter,
  page: TransactionPage,
  choices: Choices,
): Html {
  const { rows, next, isSearchCut } = page;
  const query = filterQuery(filter);
  const oldest = next && html` down to ${timeWords(next.time)}`;
  const links = [
    filter.before === null
      ? null
      : html`<a href="transactions${filterQuery({ ...filter, before: null })}">To the latest</a>`,
    next === null
      ? null
      : html`<a href="transactions${filterQuery({ ...filter, before: next })}" rel="next">${isSearchCut ? 'Search older ones' : 'Older'}</a>`,
    rows.length === 0
      ? null
      : html`<a href="transactions${query}${query === '' ? '?' : '&'}format=csv">${csvWords(rows.length)}</a>`,
  ];
  const found =
    rows.length === 0
      ? html`<p>${isSearchCut ? 'None so far.' : 'None.'}</p>`
      : transactionTable(rows, choices);
  return html`${filterForm(filter, choices)}
<section aria-label="Transactions">${found}
${isSearchCut ? html`<p class="soft">Searched${oldest}. A page reads a bounded number of transactions; a period makes the search shorter.</p>` : ''}
<p class="pages">${links}</p></section>`;
}

function csvWords(count: number): string {
  return count === 1 ? 'This one as CSV' : `These ${count} as CSV`;
}

/** Table of transactions, latest first. */
export function transactionTable(
  rows: ListedRow[],
  { chains }: Pick<Choices, 'chains'>,
  root = '',
): Html {
  const lines = rows.map(
    (row) => html`<tr><td class="time">${timeWords(row.time)}</td>${streamCell(row.stream)}
${amountCell(row.amount)}
<td>${textOr(row.symbol, (symbol) => linkTo(root, 'coins', symbol))}</td>
<td class="short">${row.slip44 === null ? html`<span class="soft">not known</span>` : chainWords(chains, row.slip44)}</td>
${stateCell(row)}
<td class="key order">${linkTo(root, 'transactions', row.orderNo)}</td>
<td class="key">${textOr(row.toAddress, (address) => linkTo(root, 'addresses', address))}</td>
<td class="key" title="${cut(row.txHash ?? '')}">${textOr(row.txHash, foreign)}</td></tr>`,
  );
  const names = ['Coin', 'Chain', 'State', 'Order', 'To', 'Hash'];
  const table = html`<table><caption>${counted(rows.length, 'transaction', 'transactions')}, latest first</caption>
<thead><tr><th scope="col">Time, UTC</th><th scope="col">List</th><th scope="col" class="number">Amount</th>
${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${lines}</tbody></table>`;
  return scrollingTable('Transactions', table);
}

function textOr(text: string | null, show: (text: string) => Html): Html | string {
  return text === null ? '–' : show(text);
}

function streamCell(stream: string): Html {
  return stream === 'deposit'
    ? html`<td class="in short">▲ deposit</td>`
    : html`<td class="out short">▼ ${stream}</td>`;
}

function stateCell({ state, isFinal, isSuccess, isListed }: ListedRow): Html {
  const tone = isSuccess ? 'good' : isFinal ? '' : 'warn';
  return html`<td><span class="${tone}">${foreign(state ?? 'no state')}</span>${isListed ? '' : html` <span class="bad">no longer listed</span>`}</td>`;
}

/** Writes the shown rows as CSV. */
export function transactionCsv(rows: ListedRow[]): string {
  const names = [
    'order_no',
    'stream',
    'occurred_at',
    'symbol',
    'slip44',
    'amount',
    'state',
    'is_final',
    'is_success',
    'is_listed',
    'from_address',
    'to_address',
    'tx_hash',
  ];
  return toCsv(
    names,
    rows.map((row) => [
      row.orderNo,
      row.stream,
      row.micros === null ? null : new Date(Number(row.micros) / 1_000).toISOString(),
      row.symbol,
      row.slip44 === null ? null : String(row.slip44),
      row.amount,
      row.state,
      String(row.isFinal),
      String(row.isSuccess),
      String(row.isListed),
      row.fromAddress,
      row.toAddress,
      row.txHash,
    ]),
  );
}

function filterForm(filter: TransactionFilter, { coins, chains, states }: Choices): Html {
  const input = (name: string, label: string, value: string | null, more = '') =>
    html`<label>${label}<input class="short" name="${name}" value="${value ?? ''}"${raw(more)}></label>`;
  const option = (value: string, words: string, chosen: string | null) =>
    html`<option value="${value}"${raw(value === (chosen ?? '') ? ' selected' : '')}>${words}</option>`;
  const offer = (id: string, values: string[]) =>
    html`<datalist id="${id}">${values.map((value) => html`<option value="${cut(value)}"></option>`)}</datalist>`;
  const chain = filter.chain === null ? null : String(filter.chain);
  const isOffered = chains.some(({ slip44 }) => slip44 === filter.chain);
  return html`<section aria-label="Filters"><form method="get" action="transactions">
<label>List<select name="stream">${option('', 'both', filter.stream)}${option('deposit', 'deposits', filter.stream)}${option('withdraw', 'withdrawals', filter.stream)}</select></label>
${input('state', 'State', filter.state, ' list="states"')}
${input('coin', 'Coin', filter.coin, ' list="coins"')}
<label>Chain, where known<select name="chain">${option('', 'any', chain)}${chains.map(({ slip44 }) => option(String(slip44), chainText(chains, slip44), chain))}
${chain === null || isOffered ? '' : option(chain, chain, chain)}</select></label>
${input('from', 'From day', filter.from, ' type="date"')}
${input('to', 'To day', filter.to, ' type="date"')}
${input('min', 'Amount from', filter.min, ' inputmode="decimal"')}
${input('max', 'Amount to', filter.max, ' inputmode="decimal"')}
${filter.address === null ? '' : input('address', 'To address', filter.address)}
${filter.sender === null ? '' : input('sender', 'From address', filter.sender)}
<label class="check"><input type="checkbox" name="open" value="yes"${raw(filter.isOpen ? ' checked' : '')}> not final only</label>
<button>Show</button>
${offer('states', states)}${offer('coins', coins)}
</form></section>`;
}
