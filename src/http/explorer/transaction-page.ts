import { html } from 'hono/html';
import type { NamedChain } from '../../ledger/reports/explorer/read-chains.ts';
import type { OrderPostings } from '../../ledger/reports/explorer/read-postings.ts';
import type { OtherSide } from '../../ledger/reports/explorer/read-transfer.ts';
import type {
  FoundAddress,
  FoundRecords,
  FoundTransaction,
} from '../../ledger/transactions/find-records.ts';
import { transactionDoubts } from '../../status/describe-record.ts';
import { cut, foreign, type Html, scrollingTable, section } from '../page/page-frame.ts';
import { pagesOfWallet, type Site } from '../page/place.ts';
import { amountWords, shortAmount } from './amount.ts';
import { chainWords } from './chain-words.ts';
import { factList, linkTo } from './explorer-frame.ts';
import { postingSection } from './posting-section.ts';
import { timeWords } from './times.ts';

const root = '../';

/** Shows one transaction: its facts, its address, its uncertain facts, and its changes. */
export function transactionFacts(
  found: FoundTransaction,
  {
    chains,
    books,
    otherSide,
    site,
  }: {
    chains: NamedChain[];
    books: OrderPostings;
    otherSide: OtherSide | null;
    site: Site;
  },
): Html {
  const { state, slip44, isFinal, isSuccess, extra } = found;
  const standing = isSuccess ? 'final, moved money' : isFinal ? 'final' : 'not final';
  const key = (value: string | null) => value && html`<span class="key">${foreign(value)}</span>`;
  return html`${section(
    'facts',
    'Facts',
    factList([
      ['List', found.stream],
      ['Type', found.type && foreign(found.type)],
      ['Amount', html`${amountWords(found.amount, found.symbol)}${exactWords(found.amount)}`],
      ['Coin', found.symbol && linkTo(root, 'coins', found.symbol)],
      ['Chain', slip44 === null ? 'not known' : chainWords(chains, slip44)],
      ['State', html`${foreign(state ?? 'none')} (${standing})`],
      ['Fee', found.fee === null ? null : amountWords(found.fee, found.feeSymbol)],
      ['Confirmations', found.confirmNum === null ? null : String(found.confirmNum)],
      ['Time', timeWords(found.occurredAt)],
      ['Request', key(found.requestId)],
      ['Hash', key(found.txHash)],
      ['From', key(found.fromAddress)],
      [
        'To',
        found.toAddress &&
          html`<span class="key">${linkTo(root, 'addresses', found.toAddress)}</span>`,
      ],
      ['Other side', otherSide && otherSideWords(found, otherSide, site)],
      ['Further fields', extra === null ? null : html`<pre>${cut(JSON.stringify(extra))}</pre>`],
    ]),
  )}
${addressSection(found.addresses, chains)}
${postingSection(books)}
${doubtSection(transactionDoubts(found))}
${timeline(found)}`;
}

/** Links to the row of the other wallet that shows the same transfer. */
function otherSideWords(
  { stream, symbol }: FoundTransaction,
  { wallet, orderNo, amount, isExact, isSuccess }: OtherSide,
  site: Site,
): Html {
  const kind = stream === 'deposit' ? 'withdraw' : 'deposit';
  const link = linkTo(pagesOfWallet(site, root, wallet), 'transactions', orderNo);
  const differs = isExact ? '' : html`, ${amountWords(amount, symbol)}`;
  return html`${kind} <span class="key">${link}</span> of wallet <bdi>${cut(wallet)}</bdi>${differs}${isSuccess ? '' : html` <span class="warn">not both final</span>`}`;
}

/** Returns the exact amount if it differs from the short form. */
function exactWords(amount: string | null): Html | string {
  if (amount === null || shortAmount(amount) === amount) return '';
  return html` <span class="soft">exactly ${cut(amount)}</span>`;
}

/** Shows what the ledger knows about an order that it does not have: the values that could not be decoded. */
export function rejectedOrder(rejects: FoundRecords['rejects']): Html {
  const items = rejects.map(
    ({ field, reason }) =>
      html`<li>${foreign(field ?? 'the row')} could not be decoded: ${foreign(reason)}</li>`,
  );
  return section(
    'rejects',
    'Not stored',
    html`<p>The service listed this order, and its row could not be stored.</p><ul class="stack">${items}</ul>`,
  );
}

/** Lists the uncertain facts of a record; empty if there are none. */
export function doubtSection(doubts: string[]): Html | string {
  if (doubts.length === 0) return '';
  const items = doubts.map((doubt) => html`<li class="warn">${foreign(doubt)}</li>`);
  return section('doubts', 'Not certain', html`<ul class="stack">${items}</ul>`);
}

function addressSection(addresses: FoundAddress[], chains: NamedChain[]): Html | string {
  if (addresses.length === 0) return '';
  const rows = addresses.map(
    (address) => html`<tr><td>${chainWords(chains, address.slip44)}</td><td>${address.status}</td>
<td>${address.assignedTo === null ? '–' : foreign(address.assignedTo)}</td><td class="time">${address.assignedAt === null ? '–' : timeWords(address.assignedAt)}</td></tr>`,
  );
  const table = html`<table><caption>The recipient's address in this ledger</caption>
<thead><tr><th scope="col">Chain</th><th scope="col">Status</th><th scope="col">Customer's reference</th><th scope="col">Handed out</th></tr></thead>
<tbody>${rows}</tbody></table>`;
  return section('address', 'Address', scrollingTable('Address', table));
}

function timeline(found: FoundTransaction): Html {
  type Entry = { at: string; what: Html | string };
  const changes = found.changes.map(
    ({ observedAt, field, oldValue, newValue }): Entry => ({
      at: observedAt,
      what: html`${foreign(field)}: ${foreign(oldValue ?? 'none')} → ${foreign(newValue ?? 'none')}`,
    }),
  );
  const entries: Entry[] = [
    {
      at: found.firstSeenAt,
      what: found.isBackfilled ? 'first seen, with the history' : 'first seen',
    },
    ...changes,
    ...(found.detailSyncedAt === null
      ? []
      : [{ at: found.detailSyncedAt, what: 'detail last fetched' }]),
    { at: found.observedAt, what: 'last seen in an answer of the service' },
  ];
  // Sorting is stable: changes of one moment stay in the order in which they were stored.
  entries.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  const items = entries.map(
    ({ at, what }) => html`<li><span class="soft">${timeWords(at)}</span> ${what}</li>`,
  );
  return section('timeline', 'Timeline', html`<ol class="timeline">${items}</ol>`);
}
