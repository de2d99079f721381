import { scaleLinear } from 'd3-scale';
import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { PoolStatus } from '../../ledger/reports/ledger-status.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { daysWords, unexpectedWords } from '../../status/status-words.ts';
import { foreign, type Html, section } from '../page/page-frame.ts';

/** Shows the available addresses of each pool and for how many days they last. */
export function poolSection({ pools, unexpectedDeposits }: StatusReport): Html | string {
  if (pools.length === 0) return '';
  const unexpected = unexpectedWords(unexpectedDeposits);
  const note = unexpected === null ? '' : html`<p class="soft">${unexpected}</p>`;
  return section(
    'pools',
    'Address pools',
    html`<ul class="cards">${pools.map(poolItem)}</ul>${note}
<p><a href="pools">Levels over time, and the requests</a></p>`,
  );
}

/** `Ethereum (60)`; `Chain 60` without a name. */
function chainName(chain: string | null, slip44: number): Html {
  return chain === null ? html`Chain ${slip44}` : html`${foreign(chain)} (${slip44})`;
}

function poolItem({ slip44, chain, available, threshold, target, daysLeft }: PoolStatus): Html {
  const percent = scaleLinear().domain([0, target]).range([0, 100]).clamp(true);
  const lasts = daysLeft === null ? '' : ` · ${daysWords(daysLeft)}`;
  return html`<li class="level ${available < threshold ? 'low' : ''}">
<h3>${chainName(chain, slip44)}</h3>
<p class="count">${countWords(available)} of ${countWords(target)} addresses available${lasts}</p>
<svg aria-hidden="true"><rect class="track" width="100%" height="100%" rx="4"/>
<rect class="fill" width="${percent(available)}%" height="100%" rx="4"/>
<rect class="mark" x="${percent(threshold)}%" width="2" height="100%"/></svg>
<p class="soft">refilled below ${countWords(threshold)}</p>
</li>`;
}
