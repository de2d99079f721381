import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { BalanceStatus } from '../../ledger/reports/ledger-status.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { amountCell } from '../explorer/amount.ts';
import { linkTo } from '../explorer/explorer-frame.ts';
import { dateWords, foreign, type Html, scrollingTable, section } from '../page/page-frame.ts';
import { balanceChart } from './balance-chart.ts';

/** Number of latest changes listed for each balance. */
const changesMax = 10;

/** Shows every balance with a chart of its changes; the numbers are in a collapsed table. */
export function balanceSection({ balances, leftOut, readAt }: StatusReport): Html {
  if (balances.length === 0) return section('balances', 'Balances', html`<p>None read yet.</p>`);
  const rows = balances.map(
    (
      balance,
    ) => html`<tr><th scope="row">${linkTo('', 'coins', balance.symbol)} <span class="soft">${foreign(balance.chain)}</span></th>
${amountCell(balance.balance)}${amountCell(balance.frozen)}
<td>${course(balance, readAt)}</td></tr>`,
  );
  const table = html`<table>
<caption>As the service reports them; the course of the latest changes</caption>
<thead><tr><th scope="col">Coin</th><th scope="col" class="number">Balance</th>
<th scope="col" class="number">Frozen</th><th scope="col">Over time</th></tr></thead>
<tbody>${rows}</tbody>
</table>`;
  const more = leftOut?.balances
    ? html`<p>And ${countWords(leftOut.balances)} more in ledger.balances.</p>`
    : '';
  return section('balances', 'Balances', html`${scrollingTable('Balances', table)}${more}`);
}

function course(balance: BalanceStatus, readAt: string): Html {
  const chart = balanceChart(balance, readAt);
  if (chart === null) return html`<span class="soft">unchanged</span>`;
  const latest = balance.history.slice(-changesMax).reverse();
  const rows = latest.map(
    ({ at, balance: then }) =>
      html`<tr>${amountCell(then)}<td><time datetime="${at}">${dateWords(at)}</time></td></tr>`,
  );
  return html`<div class="curve">${chart}</div>
<details><summary>Changes<span class="unseen"> of ${foreign(balance.symbol)}</span></summary>
<table><caption>The latest changes; ledger.balance_history has all</caption>
<thead><tr><th scope="col" class="number">Balance</th><th scope="col">From</th></tr></thead>
<tbody>${rows}</tbody></table></details>`;
}
