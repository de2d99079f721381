import { html, raw } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { RejectRow, RunRow } from '../../ledger/reports/explorer/list-records.ts';
import type { LogPage } from '../../ledger/reports/explorer/log-page.ts';
import type { Problem } from '../../ledger/reports/ledger-status.ts';
import { agoWords, secondsBetween } from '../../status/status-words.ts';
import {
  cut,
  dateWords,
  foreign,
  type Html,
  scrollingTable,
  withCode,
} from '../page/page-frame.ts';
import { linkTo } from './explorer-frame.ts';
import { timeWords } from './times.ts';

/** Shows the values that could not be decoded, latest first. */
export function rejectList({ rows, next }: LogPage<RejectRow>, isAll: boolean): Html {
  const lines = rows.map(
    (row) => html`<tr><td class="number">${row.id}</td><td>${foreign(row.source)}</td>
<td class="key">${row.orderNo === null ? '–' : linkTo('', 'transactions', row.orderNo)}</td><td>${foreign(row.field ?? 'whole row')}</td>
<td>${foreign(row.reason)}<details><summary>What came<span class="unseen">, reject ${row.id}</span></summary><pre>${row.payload}</pre></details></td>
<td class="number">${countWords(row.times)}</td><td class="time">${timeWords(row.firstSeenAt)}</td><td class="time">${timeWords(row.lastSeenAt)}</td>
<td class="time">${row.resolvedAt === null ? html`<span class="warn">open</span>` : timeWords(row.resolvedAt)}</td></tr>`,
  );
  const table = html`<table><caption>${isAll ? 'All that are kept' : 'Open'}, latest first; <code>wallet-ledger verify --repair</code> reads them again, and after an update <code>wallet-ledger rejects retry</code> decodes them again</caption>
<thead><tr><th scope="col" class="number">Id</th><th scope="col">Source</th><th scope="col">Order</th><th scope="col">Field</th><th scope="col">Reason</th>
<th scope="col" class="number">Times</th><th scope="col">First seen</th><th scope="col">Last seen</th><th scope="col">Resolved</th></tr></thead><tbody>${lines}</tbody></table>`;
  const found = rows.length === 0 ? html`<p>None.</p>` : scrollingTable('Rejects', table);
  const base = isAll ? 'rejects?show=all' : 'rejects?show=open';
  const other = isAll
    ? html`<a href="rejects">Only open ones</a>`
    : html`<a href="rejects?show=all">Resolved ones too</a>`;
  return html`<section aria-label="Rejects"><p>A reject is a value from the service that could not be decoded, or a row that could not be stored. What came is kept here; the rest of its row is in the ledger.</p>
${found}<p class="pages">${other}${olderLink(base, next)}</p></section>`;
}

/** Shows the runs of the jobs, latest first, each with its error. */
export function runList(
  { rows, next }: LogPage<RunRow>,
  { job, isFailed, jobs }: { job: string | null; isFailed: boolean; jobs: readonly string[] },
): Html {
  const lines = rows.map(
    (run) => html`<tr><td class="time">${timeWords(run.finishedAt)}</td><td>${foreign(run.job)}</td>
<td><span class="${run.outcome === 'failed' ? 'bad' : run.outcome === 'done' ? 'good' : 'warn'}">${foreign(run.outcome)}</span>
${run.error === null ? '' : html`<pre>${run.error}</pre>`}</td>
<td class="number">${run.seconds.toLocaleString('en-US', { maximumFractionDigits: 1 })} s</td>
${[run.requests, run.rowsSeen, run.rowsInserted, run.rowsUpdated].map((count) => html`<td class="number">${countWords(count)}</td>`)}</tr>`,
  );
  const names = ['Took', 'Requests', 'Rows seen', 'New', 'Changed'];
  const table = html`<table><caption>Runs that sent requests to the service, latest first</caption>
<thead><tr><th scope="col">Ended, UTC</th><th scope="col">Job</th><th scope="col">Outcome</th>
${names.map((name) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead><tbody>${lines}</tbody></table>`;
  const found = rows.length === 0 ? html`<p>None.</p>` : scrollingTable('Runs', table);
  const query = new URLSearchParams({
    ...(job === null ? {} : { job }),
    ...(isFailed ? { outcome: 'failed' } : {}),
  });
  const option = (name: string) =>
    html`<option${raw(name === job ? ' selected' : '')}>${cut(name)}</option>`;
  const known = job === null || jobs.includes(job) ? jobs : [job, ...jobs];
  return html`<section aria-label="Filters"><form method="get" action="runs">
<label>Job<select name="job"><option value="">all</option>${known.map(option)}</select></label>
<label class="check"><input type="checkbox" name="outcome" value="failed"${raw(isFailed ? ' checked' : '')}> failed only</label>
<button>Show</button></form></section>
<section aria-label="Runs">${found}<p class="pages">${olderLink(`runs?${query}`, next)}</p></section>`;
}

/** Shows the problems that need a person, critical ones first. */
export function problemList(problems: Problem[], readAt: string): Html {
  if (problems.length === 0)
    return html`<section aria-label="Problems"><p class="good">✓ Nothing needs a person.</p></section>`;
  const items = problems.map(
    ({ name, severity, since, what, cure }, place) =>
      html`<li><h2${isFirst(problems, place) ? html` id="${cut(name)}"` : ''}><span class="${severity === 'critical' ? 'bad' : 'warn'}">${severity}</span> <code>${cut(name)}</code></h2>
<p>${foreign(what)}</p>
${since === null ? '' : html`<p class="soft">since <time datetime="${since}">${dateWords(since)}</time>, ${agoWords(secondsBetween(since, readAt))}</p>`}
<p>What to do: ${withCode(cure)}</p></li>`,
  );
  return html`<section aria-label="Problems"><ul class="stack">${items}</ul></section>`;
}

/** Returns true for the first problem of its name, which is the target of links to the name. */
function isFirst(problems: Problem[], place: number): boolean {
  return problems.findIndex(({ name }) => name === problems[place]?.name) === place;
}

function olderLink(path: string, next: number | null): Html | string {
  return next === null
    ? ''
    : html`<a href="${path}${path.includes('?') ? '&' : '?'}before=${next}" rel="next">Older</a>`;
}
