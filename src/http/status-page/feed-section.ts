import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import { type FeedConsumer, isFailing } from '../../ledger/feed/consumer-report.ts';
import { stateReason } from '../../status/consumer-words.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { durationWords } from '../../status/status-words.ts';
import { foreign, type Html, scrollingTable, section } from '../page/page-frame.ts';

/** Shows the consumers and webhooks of the change feed, and the position of each. */
export function feedSection({ feed }: StatusReport): Html | string {
  if (feed.length === 0) return '';
  const rows = feed.map(
    (consumer) => html`<tr><th scope="row">${foreign(consumer.name)}</th><td>${consumer.kind}</td>
<td class="${isFailing(consumer) ? 'bad' : ''}">${consumer.state}${reasonWords(consumer)}</td>
<td class="number">${countWords(consumer.position)}</td><td class="number">${countWords(Math.max(0, consumer.lagEvents))}</td>
<td class="number">${consumer.lagSeconds === null ? '–' : durationWords(consumer.lagSeconds)}</td></tr>`,
  );
  const columns = ['At event', 'Events behind', 'Behind by'];
  const table = html`<table>
<caption>Programs that read the change feed, and webhooks that it is sent to</caption>
<thead><tr><th scope="col">Name</th><th scope="col">Kind</th><th scope="col">State</th>
${columns.map((column) => html`<th scope="col" class="number">${column}</th>`)}</tr></thead>
<tbody>${rows}</tbody>
</table>`;
  return section('feed', 'Change feed', scrollingTable('Change feed', table));
}

function reasonWords(consumer: FeedConsumer): Html | string {
  const reason = stateReason(consumer);
  return reason === null ? '' : html`: ${foreign(reason)}`;
}
