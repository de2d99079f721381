import { html } from 'hono/html';
import type { OrderPostings, PostingRow } from '../../ledger/reports/explorer/read-postings.ts';
import { foreign, type Html, scrollingTable, section } from '../page/page-frame.ts';
import { amountCell } from './amount.ts';
import { timeWords } from './times.ts';

/** Words for each value that the books may lack, with the reason where it is known. */
const missingWords: Record<string, string> = {
  amount: 'the amount is not known',
  symbol: 'the coin is not known',
  fee: 'the fee is not known yet: its detail has not been fetched, or could not be decoded',
  fee_symbol: 'the coin of the fee is not known',
};

/** Shows the postings of an order: each side with its account, and the values that are missing. */
export function postingSection({ postings, missing }: OrderPostings): Html {
  const gaps = missing.map(
    (name) => html`<li class="warn">not booked: ${missingWords[name] ?? foreign(name)}</li>`,
  );
  const content =
    postings.length === 0
      ? html`<p>None. Only transactions that the service lists in a success state are booked.</p>`
      : scrollingTable('Postings', postingTable(postings));
  return section(
    'postings',
    'Postings',
    html`${content}${gaps.length === 0 ? '' : html`<ul class="stack">${gaps}</ul>`}`,
  );
}

function postingTable(postings: PostingRow[]): Html {
  const rows = postings.map(({ account, symbol, amount, bookedAt }) => {
    const isCredit = amount.startsWith('-');
    const none = html`<td class="number"></td>`;
    return html`<tr><th scope="row">${foreign(account)}</th><td>${foreign(symbol)}</td>
${isCredit ? none : amountCell(amount)}${isCredit ? amountCell(amount.slice(1)) : none}<td class="time">${timeWords(bookedAt)}</td></tr>`;
  });
  return html`<table><caption>How the order stands in the books; debits and credits of a coin are equal</caption>
<thead><tr><th scope="col">Account</th><th scope="col">Coin</th><th scope="col" class="number">Debit</th><th scope="col" class="number">Credit</th><th scope="col">Booked</th></tr></thead>
<tbody>${rows}</tbody></table>`;
}
