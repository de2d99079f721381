import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { CoinFlow, DailyFlows } from '../../ledger/reports/read-flows.ts';
import { amountCell, shortData } from '../explorer/amount.ts';
import { linkTo } from '../explorer/explorer-frame.ts';
import { foreign, type Html, scrollingTable, section } from '../page/page-frame.ts';
import { coinChart, countChart } from './flow-chart.ts';

const title = 'Last 30 days';

/** Shows the counts per day and the amounts of each coin. `flows` is null when they could not be read. */
export function flowSection(flows: DailyFlows | null): Html {
  if (flows === null) {
    return section('flows', title, html`<p>The daily flows cannot be read at the moment.</p>`);
  }
  const { deposits, withdrawals, coins } = flows;
  const [ins, outs] = [sum(deposits), sum(withdrawals)];
  if (ins + outs === 0) {
    return section('flows', title, html`<p>No deposit and no withdrawal in these days.</p>`);
  }
  return section(
    'flows',
    title,
    html`<p class="split"><span><strong class="in">▲ ${countWords(ins)} deposits</strong> ·
<strong class="out">▼ ${countWords(outs)} withdrawals</strong></span><span class="soft">per UTC day, in all states</span></p>
${countChart(flows)}
${countTable(flows)}
${coins.length === 0 ? '' : coinCharts(flows)}`,
  );
}

function countTable({ days, deposits, withdrawals }: DailyFlows): Html {
  const rows = days.map(
    (day, index) => html`<tr><th scope="row" class="number">${day}</th>
<td class="number">${countWords(deposits[index] ?? 0)}</td><td class="number">${countWords(withdrawals[index] ?? 0)}</td></tr>`,
  );
  const table = html`<table><caption>Transactions per UTC day</caption>
<thead><tr><th scope="col">Day</th><th scope="col" class="number">Deposits</th><th scope="col" class="number">Withdrawals</th></tr></thead>
<tbody>${rows.reverse()}</tbody></table>`;
  return html`<details><summary>Transactions as a table</summary>${scrollingTable('Transactions per day', table)}</details>`;
}

function coinCharts({ days, coins, coinsOmitted }: DailyFlows): Html {
  const omitted =
    coinsOmitted === 0
      ? ''
      : html` · ${countWords(coinsOmitted)} more on <a href="coins">their pages</a>`;
  return html`<h3 class="multiples">Amounts per coin</h3>
<p class="soft">Of what succeeded, per UTC day; each coin on a scale of its own${omitted}</p>
<ul class="cards">${coins.map((coin) => coinCard(coin, days))}</ul>`;
}

function coinCard(coin: CoinFlow, days: string[]): Html {
  const { symbol, deposit, withdraw } = coin;
  const rows = days.flatMap((day, index) => {
    const [moved, out] = [deposit.daily[index] ?? null, withdraw.daily[index] ?? null];
    if (moved === null && out === null) return [];
    return [
      html`<tr><th scope="row" class="number">${day}</th>${amountCell(moved)}${amountCell(out)}</tr>`,
    ];
  });
  const table = html`<table><caption>${foreign(symbol)} per UTC day</caption>
<thead><tr><th scope="col">Day</th><th scope="col" class="number">In</th><th scope="col" class="number">Out</th></tr></thead>
<tbody>${rows.reverse()}</tbody></table>`;
  return html`<li><h4>${linkTo('', 'coins', symbol)}</h4>
<p class="split count"><span class="in">▲ ${shortData(deposit.total)}</span><span class="out">▼ ${shortData(withdraw.total)}</span></p>
${coinChart(coin, days)}
<details><summary>As a table<span class="unseen">: ${foreign(symbol)}</span></summary>${scrollingTable('Amounts per day', table)}</details></li>`;
}

function sum(counts: number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
