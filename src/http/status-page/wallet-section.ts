import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import { transactionTypes } from '../../kernel/vocabulary.ts';
import type { PoolStatus, StreamStatus, WalletStatus } from '../../ledger/reports/ledger-status.ts';
import { reportOfWallet } from '../../status/report-of-wallet.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { agoWords } from '../../status/status-words.ts';
import { foreign, type Html, scrollingTable, section } from '../page/page-frame.ts';
import { walletsPath } from '../page/place.ts';

const none = '–';

/**
 * Shows a line for each wallet of the ledger. `services` has those with pages of their own, each with the address that
 * it is read from.
 */
export function walletSection(report: StatusReport, services: ReadonlyMap<string, string>): Html {
  const rows = report.wallets.map((wallet) => walletRow(wallet, report, services));
  const table = html`<table>
<caption>Each name leads to the wallet's own pages; those of a resting wallet are kept and no longer read</caption>
<thead><tr><th scope="col">Wallet</th><th scope="col">Service</th>
<th scope="col" class="number">Transactions</th><th scope="col" class="number">Not final or without detail</th>
<th scope="col">Proven?</th><th scope="col" class="number">Read</th><th scope="col">Pools</th></tr></thead>
<tbody>${rows}</tbody>
</table>`;
  return section('wallets', 'Wallets', scrollingTable('Wallets', table));
}

function walletRow(
  { name, isResting, counts }: WalletStatus,
  report: StatusReport,
  services: ReadonlyMap<string, string>,
): Html {
  const { streams, pools } = reportOfWallet(report, name);
  const service = services.get(name);
  const shown = service === undefined ? foreign(name) : linkToWallet(name);
  const count = (transactions: number | undefined) =>
    transactions === undefined ? none : countWords(transactions);
  return html`<tr class="${isResting ? 'resting' : ''}"><th scope="row">${shown}${isResting ? ' (resting)' : ''}</th>
<td>${service === undefined ? none : foreign(service)}</td>
<td class="number">${count(counts?.transactions.total)}</td><td class="number">${count(counts?.transactions.incomplete)}</td>
<td>${proofCell(streams)}</td><td class="number">${isResting ? none : lagWords(streams)}</td><td>${poolCell(pools)}</td></tr>`;
}

function linkToWallet(name: string): Html {
  return html`<a href="${walletsPath.slice(1)}/${name}/"><bdi>${name}</bdi></a>`;
}

function proofCell(streams: StreamStatus[]): Html | string {
  if (streams.length === 0) return none;
  const open = streams.filter(({ isComplete }) => !isComplete).length;
  return open === 0
    ? html`<span class="good">✓ proven complete</span>`
    : html`<span class="bad">✗ ${countWords(open)} of ${countWords(streams.length)} lists not proven</span>`;
}

/** Says when the least recently read list of transactions was read. */
function lagWords(streams: StreamStatus[]): string {
  const lags = streams
    .filter(({ name }) => transactionTypes.some((type) => type === name))
    .map(({ lagSeconds }) => lagSeconds);
  if (lags.length === 0) return none;
  return agoWords(lags.includes(null) ? null : Math.max(...lags.map((lag) => lag ?? 0)));
}

function poolCell(pools: PoolStatus[]): Html | string {
  if (pools.length === 0) return none;
  const low = pools.filter(({ available, threshold }) => available < threshold);
  const chains = low.map(({ slip44 }) => slip44).join(', ');
  return low.length === 0
    ? `${countWords(pools.length)} filled`
    : html`<span class="bad">low: chain ${chains}</span>`;
}
