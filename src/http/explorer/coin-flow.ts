import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { NamedChain } from '../../ledger/reports/explorer/read-chains.ts';
import type { CoinFlows } from '../../ledger/reports/explorer/read-coin-flow.ts';
import { type Html, scrollingTable } from '../page/page-frame.ts';
import { coinChart } from '../status-page/flow-chart.ts';
import { amountCell, amountWords } from './amount.ts';
import { chainWords } from './chain-words.ts';

/** Shows the movements of a coin on the last days: a chart, and a table with a row for each day and chain. */
export function coinFlow(symbol: string, flow: CoinFlows, chains: NamedChain[]): Html {
  const { days, all, moved } = flow;
  if (all.transactions === 0) return html`<p>Nothing moved.</p>`;
  const daily = (amountOf: (day: CoinFlows['moved'][number]) => string | null) =>
    days.map((day) => {
      const found = moved.find((one) => one.day === day);
      return found ? amountOf(found) : null;
    });
  const drawn = {
    symbol,
    deposit: { total: all.deposited ?? '0', daily: daily(({ deposited }) => deposited) },
    withdraw: { total: all.withdrawn ?? '0', daily: daily(({ withdrawn }) => withdrawn) },
  };
  return html`<p><strong class="in">▲ ${amountWords(all.deposited ?? '0', symbol)} in</strong> · <strong class="out">▼ ${amountWords(all.withdrawn ?? '0', symbol)} out</strong>
<span class="soft">${countWords(all.transactions)} transactions that succeeded</span></p>
${coinChart(drawn, days)}<p class="days"><span>${days[0]}</span><span>${days.at(-1)}, today</span></p>
${flowTable(flow, chains)}`;
}

function flowTable({ chains: flows }: CoinFlows, chains: NamedChain[]): Html {
  const rows = flows.map(
    (
      day,
    ) => html`<tr><th scope="row" class="time">${day.day}</th><td>${day.slip44 === null ? html`<span class="soft">not known</span>` : chainWords(chains, day.slip44)}</td>
${amountCell(day.deposited)}${amountCell(day.withdrawn)}<td class="number">${countWords(day.transactions)}</td></tr>`,
  );
  const table = html`<table><caption>Per UTC day and chain; the service does not name the chain of a transaction</caption><thead><tr><th scope="col">Day</th><th scope="col">Chain</th><th scope="col" class="number">▲ In</th>
<th scope="col" class="number">▼ Out</th><th scope="col" class="number">Transactions</th></tr></thead><tbody>${rows}</tbody></table>`;
  return scrollingTable('Flows per day', table);
}
