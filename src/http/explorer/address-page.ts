import { html } from 'hono/html';
import type { TransactionPage } from '../../ledger/reports/explorer/list-transactions.ts';
import type { NamedChain } from '../../ledger/reports/explorer/read-chains.ts';
import type { FoundAddress } from '../../ledger/transactions/find-records.ts';
import { addressDoubts } from '../../status/describe-record.ts';
import { cut, foreign, type Html, section } from '../page/page-frame.ts';
import { chainText, chainWords } from './chain-words.ts';
import { factList, linkTo } from './explorer-frame.ts';
import { filterQuery } from './query-params.ts';
import { timeWords } from './times.ts';
import { transactionTable } from './transaction-list.ts';
import { doubtSection } from './transaction-page.ts';

const root = '../';

/** Shows an address on each chain that has it, and the latest transactions to it and from it. */
export function addressFacts(
  address: string,
  found: { addresses: FoundAddress[]; list: TransactionPage; sent: TransactionPage },
  chains: NamedChain[],
): Html {
  const cards = found.addresses.map(
    (each) =>
      html`${section(`chain-${each.slip44}`, chainWords(chains, each.slip44), factsOf(each))}`,
  );
  const { list, sent } = found;
  const parts = [list.rows.length > 0 ? 'a recipient' : '', sent.rows.length > 0 ? 'a sender' : ''];
  const part = parts.filter((each) => each !== '').join(' and ');
  const unknown = html`<section aria-label="Address"><p>This ledger does not have the address. It is ${part} of the transactions below.</p></section>`;
  const to = tableOf(list, { address }, chains, 'to it');
  const from = tableOf(sent, { sender: address }, chains, 'from it');
  return html`${found.addresses.length === 0 ? unknown : cards}
${doubtSection(found.addresses.flatMap((each) => addressDoubts(each).map((doubt) => `chain ${chainText(chains, each.slip44)}: ${doubt}`)))}
${section('transactions', 'Transactions to it', to)}
${section('sent', 'Transactions from it', from)}`;
}

/** Lists a page of transactions, with the link to all of them. */
function tableOf(
  { rows, next, isSearchCut }: TransactionPage,
  filter: Parameters<typeof filterQuery>[0],
  chains: NamedChain[],
  place: string,
): Html {
  const words = isSearchCut
    ? `Search older transactions ${place}`
    : next === null
      ? 'Filter them'
      : `All transactions ${place}`;
  const all = html`<p class="pages"><a href="${root}transactions${filterQuery(filter)}">${words}</a></p>`;
  if (rows.length === 0)
    return isSearchCut ? html`<p>None among the latest.</p>${all}` : html`<p>None.</p>`;
  return html`${transactionTable(rows, { chains }, root)}${all}`;
}

function factsOf(address: FoundAddress): Html {
  const { firstDepositOrderNo: first, assignedTo } = address;
  return factList([
    ['Address', html`<span class="key">${cut(address.address)}</span>`],
    ['Status', address.status],
    ["Customer's reference", assignedTo && foreign(assignedTo)],
    ['Handed out', address.assignedAt && timeWords(address.assignedAt)],
    [
      'First deposit',
      first && html`<span class="key">${linkTo(root, 'transactions', first)}</span>`,
    ],
    [
      'Generated',
      address.generatedBy === null ? 'not by this program' : `by request ${address.generatedBy}`,
    ],
    ['First seen', timeWords(address.firstSeenAt)],
  ]);
}
