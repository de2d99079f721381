import { html } from 'hono/html';
import type { ListedRow } from '../../ledger/reports/explorer/list-transactions.ts';
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

/** Shows an address on each chain that has it, and the latest transactions to it. */
export function addressFacts(
  address: string,
  found: { addresses: FoundAddress[]; rows: ListedRow[]; hasMore: boolean },
  chains: NamedChain[],
): Html {
  const cards = found.addresses.map(
    (each) =>
      html`${section(`chain-${each.slip44}`, chainWords(chains, each.slip44), factsOf(each))}`,
  );
  const unknown = html`<section aria-label="Address"><p>This ledger does not have the address. It is a recipient of the transactions below.</p></section>`;
  const all = html`<p class="pages"><a href="${root}transactions${filterQuery({ address })}">${found.hasMore ? 'All transactions to it' : 'Filter them'}</a></p>`;
  const list =
    found.rows.length === 0
      ? html`<p>None.</p>`
      : html`${transactionTable(found.rows, { chains }, root)}${all}`;
  return html`${found.addresses.length === 0 ? unknown : cards}
${doubtSection(found.addresses.flatMap((each) => addressDoubts(each).map((doubt) => `chain ${chainText(chains, each.slip44)}: ${doubt}`)))}
${section('transactions', 'Transactions to it', list)}`;
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
