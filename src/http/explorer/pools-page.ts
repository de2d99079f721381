import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { LogPage } from '../../ledger/reports/explorer/log-page.ts';
import type { NamedChain } from '../../ledger/reports/explorer/read-chains.ts';
import type {
  PoolPeriod,
  PoolRow,
  PoolStep,
  RequestRow,
} from '../../ledger/reports/explorer/read-pools.ts';
import { daysWords } from '../../status/status-words.ts';
import { type Html, scrollingTable, section } from '../page/page-frame.ts';
import { chainText, chainWords } from './chain-words.ts';
import { type Level, levelChart } from './level-chart.ts';
import { timeWords } from './times.ts';

/** Lengths of the charts by the word of the link; steps divide a day. */
export const poolPeriods = {
  '7': { days: 7, stepHours: 1 },
  '30': { days: 30, stepHours: 4 },
  '90': { days: 90, stepHours: 12 },
} as const satisfies Record<string, PoolPeriod>;

export type PoolPeriodName = keyof typeof poolPeriods;

/** Content of the page of the pools; `steps` has an entry for each of the first pools. */
export type Pools = {
  pools: PoolRow[];
  steps: PoolStep[][];
  requests: LogPage<RequestRow>;
  chains: NamedChain[];
};

/** Shows the address pools: their levels over time, the addresses that came and were handed out, and the requests. */
export function poolsPage({ pools, steps, requests, chains }: Pools, period: PoolPeriodName): Html {
  const lengths = Object.keys(poolPeriods).map((each) =>
    each === period
      ? html`<strong aria-current="true">${each} days</strong> `
      : html`<a href="pools?days=${each}">${each} days</a> `,
  );
  const cards = pools.map((pool, index) => poolCard(pool, steps[index] ?? null, chains));
  const content =
    cards.length === 0
      ? html`<p>This ledger has no addresses and no pool; ADDRESS_POOLS sets them.</p>`
      : html`<p class="pages">${lengths}</p><ul class="stack">${cards}</ul>
<p class="soft">The levels are computed back from the present by the requests and by what was handed out. A move of the database, an adopted address, or a deposit to an address that was not handed out shifts the levels before it.</p>`;
  return html`${section('pools', 'Available addresses', content)}
${section('requests', 'Requests for new addresses', requestTable(requests, chains, period))}`;
}

function poolCard(pool: PoolRow, steps: PoolStep[] | null, chains: NamedChain[]): Html {
  const { slip44, available, threshold, target, daysLeft } = pool;
  const bounds =
    target === null || threshold === null
      ? 'no pool in the settings'
      : `refilled below ${countWords(threshold)}, up to ${countWords(target)}`;
  const lasts = daysLeft === null ? '' : ` · ${daysWords(daysLeft)}`;
  const isLow = threshold !== null && available < threshold;
  return html`<li><h3>${chainWords(chains, slip44)}</h3>
<p><strong class="${isLow ? 'bad' : ''}">${countWords(available)} available</strong> <span class="soft">${bounds}${lasts}</span></p>
${steps === null ? '' : overTime(pool, steps, chainText(chains, slip44))}</li>`;
}

function overTime(pool: PoolRow, steps: PoolStep[], chain: string): Html {
  return html`${levelChart(levelsOf(pool.available, steps), pool, chain)}
<details><summary>By day<span class="unseen">, ${chain}</span></summary>${scrollingTable(`Days of the pool of ${chain}`, dayTable(pool, steps))}</details>`;
}

/** Levels at the beginning of each step and at the end of the last, back from the present one; never below 0. */
function levelsOf(available: number, steps: readonly PoolStep[]): Level[] {
  const levels: Level[] = [];
  let level = available;
  for (const { from, to, generated, handedOut } of [...steps].reverse()) {
    if (levels.length === 0) levels.push({ at: to, available });
    level -= generated - handedOut;
    levels.push({ at: from, available: Math.max(0, level) });
  }
  return levels.reverse();
}

function dayTable({ available }: PoolRow, steps: PoolStep[]): Html {
  const levels = levelsOf(available, steps);
  const days = new Map<string, [generated: number, handedOut: number, level: number]>();
  steps.forEach(({ from, generated, handedOut }, index) => {
    const day = new Date(from).toISOString().slice(0, 10);
    const [came, gone] = days.get(day) ?? [0, 0];
    const level = levels[index + 1]?.available ?? available;
    days.set(day, [came + generated, gone + handedOut, level]);
  });
  const rows = [...days]
    .reverse()
    .map(
      ([day, sums]) =>
        html`<tr><th scope="row" class="time">${day}</th>${sums.map((count) => html`<td class="number">${countWords(count)}</td>`)}</tr>`,
    );
  return html`<table><caption>Per UTC day</caption><thead><tr><th scope="col">Day</th><th scope="col" class="number">Generated</th>
<th scope="col" class="number">Handed out</th><th scope="col" class="number">Available at its end</th></tr></thead><tbody>${rows}</tbody></table>`;
}

/** States of a request in plain words, with their tone. */
const stateWords: Record<string, { words: string; tone: string }> = {
  done: { words: 'done', tone: 'good' },
  sent: { words: 'sent, no answer yet', tone: 'warn' },
  unknown: {
    words: 'answer lost; the address list is read before anything else is requested',
    tone: 'warn',
  },
  failed: { words: 'refused', tone: 'bad' },
};

function requestTable(
  { rows, next }: LogPage<RequestRow>,
  chains: NamedChain[],
  period: PoolPeriodName,
): Html {
  if (rows.length === 0) return html`<p>None.</p>`;
  const lines = rows.map((row) => {
    const { words, tone } = stateWords[row.state] ?? { words: row.state, tone: '' };
    return html`<tr><td class="number">${row.id}</td><td class="time">${timeWords(row.requestedAt)}</td><td>${chainWords(chains, row.slip44)}</td>
<td class="number">${countWords(row.num)}</td><td class="number">${row.received === null ? '–' : countWords(row.received)}</td>
<td><span class="${tone}">${words}</span>${row.error === null ? '' : html`<pre>${row.error}</pre>`}</td><td class="time">${row.finishedAt === null ? '–' : timeWords(row.finishedAt)}</td></tr>`;
  });
  const table = html`<table><caption>Latest first</caption><thead><tr><th scope="col" class="number">Id</th><th scope="col">Sent, UTC</th><th scope="col">Chain</th>
<th scope="col" class="number">Asked for</th><th scope="col" class="number">Came</th><th scope="col">Outcome</th><th scope="col">Ended</th></tr></thead><tbody>${lines}</tbody></table>`;
  const older =
    next === null
      ? ''
      : html`<p class="pages"><a href="pools?days=${period}&amp;before=${next}" rel="next">Older requests</a></p>`;
  return html`${scrollingTable('Requests for new addresses', table)}${older}`;
}
