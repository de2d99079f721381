import { html } from 'hono/html';
import type { BalanceCourse } from '../../ledger/reports/explorer/read-balance-course.ts';
import type { NamedChain } from '../../ledger/reports/explorer/read-chains.ts';
import type { CoinFlows } from '../../ledger/reports/explorer/read-coin-flow.ts';
import type {
  AssetRow,
  CoinPage,
  CoinReport,
  CoinRow,
  DifferenceRow,
} from '../../ledger/reports/explorer/read-coins.ts';
import { cut, foreign, type Html, scrollingTable, section } from '../page/page-frame.ts';
import { amountCell } from './amount.ts';
import { coinFlow } from './coin-flow.ts';
import { courseChart } from './course-chart.ts';
import { linkTo } from './explorer-frame.ts';
import { filterQuery } from './query-params.ts';
import { timeWords } from './times.ts';

const root = '../';

/** Shows the coins, one row for each over all its chains. */
export function coinList({ rows, next }: CoinPage, after: string | null): Html {
  if (rows.length === 0) {
    const words = after === null ? 'None read yet.' : 'No further coins.';
    return html`<section aria-label="Coins"><p>${words}</p></section>`;
  }
  const lines = rows.map(
    (
      coin,
    ) => html`<tr><th scope="row">${linkTo('', 'coins', coin.symbol)}</th><td class="number">${coin.chains}</td>
${amountCell(coin.reported)}${amountCell(coin.expected)}${amountCell(coin.difference)}<td>${judgement(coin)}</td></tr>`,
  );
  const table = html`<table><caption>Each coin over all its chains; expected is what the transactions add up to</caption>
<thead><tr><th scope="col">Coin</th><th scope="col" class="number">Chains</th><th scope="col" class="number">Reported</th>
<th scope="col" class="number">Expected</th><th scope="col" class="number">Difference</th><th scope="col">Does it add up</th></tr></thead>
<tbody>${lines}</tbody></table>`;
  const older =
    next === null
      ? ''
      : html`<p class="pages"><a href="coins?after=${encodeURIComponent(next)}" rel="next">Further coins</a></p>`;
  return html`<section aria-label="Coins">${scrollingTable('Coins', table)}${older}</section>`;
}

function judgement({
  difference,
  isExplained,
  explanation,
}: Pick<CoinRow, 'difference' | 'isExplained' | 'explanation'>): Html {
  if (difference === null) return html`<span class="soft">not compared yet</span>`;
  if (/^-?0(\.0*)?$/.test(difference) && explanation === null)
    return html`<span class="good">✓ to the digit</span>`;
  const words = html`<span class="soft">${foreign(explanation ?? '')}</span>`;
  return isExplained
    ? html`<span class="good">✓ explained</span> ${words}`
    : html`<span class="bad">✗ not explained</span> ${words}`;
}

/** Lengths of the charts in days; `all` begins with the first known balance. */
export const periods = ['7', '30', '90', '365', 'all'] as const;
export type Period = (typeof periods)[number];

/** Shows a coin: its assets with their balances over time, its movements, and expected against reported balance. */
export function coinFacts(
  { coin, assets, differences }: CoinReport,
  {
    courses,
    flow,
    chains,
    period,
  }: { courses: (BalanceCourse | null)[]; flow: CoinFlows; chains: NamedChain[]; period: Period },
): Html {
  const lengths = periods.map((each) =>
    each === period
      ? html`<strong>${periodWords(each)}</strong> `
      : html`<a href="?days=${each}">${periodWords(each)}</a> `,
  );
  const cards = assets.map((asset, index) => assetCard(coin.symbol, asset, courses[index] ?? null));
  return html`${section(
    'sums',
    'Expected against reported',
    html`<p>${judgement(coin)}</p>${sumsTable(coin)}${differences.length === 0 ? '' : differenceTable(differences)}`,
  )}
${section('balances', 'Balances', cards.length === 0 ? noAsset : html`<p class="pages">${lengths}</p><ul class="stack">${cards}</ul>`)}
${section('flows', 'Last 30 days', coinFlow(coin.symbol, flow, chains))}
<p class="pages"><a href="${root}transactions${filterQuery({ coin: coin.symbol })}">Its transactions</a></p>`;
}

function sumsTable(coin: CoinRow): Html | '' {
  if (coin.difference === null) return '';
  const table = html`<table><thead><tr><th scope="col" class="number">Reported</th>
<th scope="col" class="number">Expected</th><th scope="col" class="number">Difference</th></tr></thead>
<tbody><tr>${amountCell(coin.reported)}${amountCell(coin.expected)}${amountCell(coin.difference)}</tr></tbody></table>`;
  return scrollingTable('Expected against reported', table);
}

const noAsset = html`<p>Neither the balances nor the coins of the service name this coin; only transactions do.</p>`;

function periodWords(period: Period): string {
  return period === 'all' ? 'all' : `${period} days`;
}

function assetCard(symbol: string, asset: AssetRow, course: BalanceCourse | null): Html {
  const { slip44, chainName, contractAddress, isListed } = asset;
  const chain = chainName === null ? `Chain ${slip44}` : `${chainName} (${slip44})`;
  const table = html`<table><thead><tr><th scope="col" class="number">Balance</th><th scope="col" class="number">Frozen</th>
<th scope="col" class="number">Expected</th><th scope="col" class="number">Difference</th><th scope="col">Deposit state</th><th scope="col">Withdrawal state</th><th scope="col">Last read</th><th scope="col">Last changed</th></tr></thead>
<tbody><tr>${amountCell(asset.balance)}${amountCell(asset.frozen)}${amountCell(asset.expected)}${amountCell(asset.difference)}<td>${asset.depositState ?? '–'}</td><td>${asset.withdrawState ?? '–'}</td>
<td class="time">${timeWords(asset.observedAt)}</td><td class="time">${timeWords(asset.changedAt)}</td></tr></tbody></table>`;
  return html`<li><h3>${foreign(chain)} ${isListed ? '' : html`<span class="bad">no longer listed</span>`}</h3>
${contractAddress === '' ? '' : html`<p class="soft">contract ${foreign(contractAddress)}</p>`}
${asset.difference === null ? '' : html`<p>${judgement(asset)}</p>`}
${scrollingTable(`${cut(symbol)} on ${cut(chain)}`, table)}
${course === null ? html`<p class="soft">No balance is stored.</p>` : courseChart(course, `${cut(symbol)} on ${cut(chain)}`)}</li>`;
}

function differenceTable(differences: DifferenceRow[]): Html {
  const rows = differences.map(
    (
      each,
    ) => html`<tr><td class="time">${timeWords(each.observedAt)}</td>${amountCell(each.expected)}${amountCell(each.reported)}
${amountCell(each.difference)}<td>${judgement(each)}</td></tr>`,
  );
  const table = html`<table><caption>Whenever the difference changed, latest first</caption><thead><tr><th scope="col">Since, UTC</th>
<th scope="col" class="number">Expected</th><th scope="col" class="number">Reported</th><th scope="col" class="number">Difference</th><th scope="col">Judgement</th></tr></thead>
<tbody>${rows}</tbody></table>`;
  return html`<details><summary>Differences over time</summary>${scrollingTable('Differences', table)}</details>`;
}
