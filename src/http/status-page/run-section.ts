import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { agoWords, secondsBetween } from '../../status/status-words.ts';
import { foreign, type Html, scrollingTable, section } from '../page/page-frame.ts';

export function runSection({ lastRuns, readAt }: StatusReport): Html {
  if (lastRuns.length === 0) return section('runs', 'Last runs', html`<p>None yet.</p>`);
  const rows = lastRuns.map((run) => {
    const counts = [run.requests, run.rowsSeen, run.rowsInserted, run.rowsUpdated];
    return html`<tr><th scope="row">${foreign(run.job)}</th>
<td class="${run.outcome === 'failed' ? 'bad' : ''}">${run.outcome}</td>
<td class="number"><time datetime="${run.finishedAt}">${agoWords(secondsBetween(run.finishedAt, readAt))}</time></td>
${counts.map((count) => html`<td class="number">${countWords(count)}</td>`)}</tr>`;
  });
  const columns = ['Ended', 'Requests', 'Rows seen', 'New', 'Changed'];
  const table = html`<table>
<caption>The latest run of each job that sent requests to the service</caption>
<thead><tr><th scope="col">Job</th><th scope="col">Outcome</th>
${columns.map((column) => html`<th scope="col" class="number">${column}</th>`)}</tr></thead>
<tbody>${rows}</tbody>
</table>`;
  return section(
    'runs',
    'Last runs',
    html`${scrollingTable('Last runs', table)}<p><a href="runs">All runs</a></p>`,
  );
}

/** Shows the last errors; with `isOfSeveral`, each with its wallet. */
export function errorSection(
  { lastErrors, readAt }: StatusReport,
  isOfSeveral = false,
): Html | string {
  if (lastErrors.length === 0) return '';
  const items = lastErrors.map(
    (
      error,
    ) => html`<li><h3>${isOfSeveral ? html`${error.wallet}: ` : ''}${foreign('stream' in error ? error.stream : error.job)}</h3>
<p>${foreign(error.message)}</p>
<p class="soft"><time datetime="${error.at}">${agoWords(secondsBetween(error.at, readAt))}</time></p></li>`,
  );
  return section('errors', 'Last errors', html`<ul class="stack">${items}</ul>`);
}
