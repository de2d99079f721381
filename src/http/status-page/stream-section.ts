import { scaleLinear } from 'd3-scale';
import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { StreamStatus } from '../../ledger/reports/ledger-status.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { agoWords, finalChangesWords, proofWords } from '../../status/status-words.ts';
import { foreign, type Html, section } from '../page/page-frame.ts';

/** Compares for each stream the service's total with the ledger's count. */
export function streamSection(streams: StreamStatus[], title = 'Proof of completeness'): Html {
  const items = streams.map((stream) => {
    const paging = [stream.listOrder, stream.pageSize && `${countWords(stream.pageSize)} a page`];
    const read = stream.lagSeconds === null ? 'never read' : `read ${agoWords(stream.lagSeconds)}`;
    const mark = stream.isComplete ? '✓' : '✗';
    return html`<li class="level ${stream.isComplete ? '' : 'low'}">
<h3>${foreign(stream.name)}</h3>
<p class="${stream.isComplete ? 'good' : 'bad'}">${mark} ${proofWords(stream)}</p>
${heldBar(stream)}
<p class="soft">${foreign([read, ...paging].filter(Boolean).join(' · '))}</p>
</li>`;
  });
  const content =
    items.length > 0 ? html`<ul class="cards">${items}</ul>` : html`<p>Nothing read yet.</p>`;
  return section('streams', title, content);
}

function heldBar({ serviceTotal, ledgerCount }: StreamStatus): Html | string {
  if (serviceTotal === null) return '';
  const width = scaleLinear()
    .domain([0, Math.max(1, serviceTotal, ledgerCount)])
    .range([0, 100]);
  const held = serviceTotal + ledgerCount === 0 ? 100 : width(ledgerCount);
  return html`<svg aria-hidden="true"><rect class="track" width="100%" height="100%" rx="4"/>
<rect class="fill" width="${held}%" height="100%" rx="4"/></svg>`;
}

/** Shows the counts of the ledger's transactions, of the pending work and of the queue. */
export function factSection({
  transactions,
  rejects,
  queue,
  streams,
  processes,
}: StatusReport): Html {
  const facts: [string, number][] = [
    ['in the ledger', transactions.total],
    ['final', transactions.final],
    ['not final yet', transactions.total - transactions.final],
    ['details to fetch', transactions.detailsToFetch],
    ['details refused for days', transactions.detailsRefused],
    ['values not decoded', rejects],
  ];
  if (queue) {
    const { waiting, active, failed } = queue;
    facts.push(['jobs due', waiting], ['jobs running', active], ['jobs failed, 1 h', failed]);
  }
  facts.push(['daemons and commands connected', processes]);
  const items = facts.map(
    ([name, count]) => html`<div><dt>${name}</dt><dd>${countWords(count)}</dd></div>`,
  );
  const turned = finalChangesWords(streams);
  const note = turned === null ? '' : html`<p class="soft">${turned}</p>`;
  return section('transactions', 'Transactions and queue', html`<dl>${items}</dl>${note}`);
}
