import { html } from 'hono/html';
import type { BalanceStatus, StreamStatus } from '../ledger/read-status.ts';
import { drawBalance, drawingSize } from './draw-balance.ts';
import { foreign, type Html, renderPage } from './page-frame.ts';
import { listProblems, type Problem } from './status-problems.ts';
import type { StatusReport } from './status-report.ts';
import {
  agoWords,
  countWords,
  daysWords,
  finalChangesWords,
  proofWords,
  secondsBetween,
  unexpectedWords,
} from './status-words.ts';

/** The status as one page: complete without script, with nothing to load, every foreign text escaped. */
export function renderStatus(report: StatusReport): Html {
  const problems = listProblems(report);
  const attention =
    problems.length === 1 ? '1 thing needs attention' : `${problems.length} things need attention`;
  const verdict =
    problems.length === 0
      ? html`<p class="good">✓ All is well</p>`
      : html`<p class="bad">✗ ${attention}</p>`;
  return renderPage({
    title: `wallet-ledger: ${problems.length === 0 ? 'all is well' : attention}`,
    header: html`${verdict}<p class="soft">as of <time datetime="${report.readAt}">${dateWords(report.readAt)}</time></p>`,
    main: html`${problemSection(problems)}${streamSection(report.streams)}${transactionSection(report)}
${balanceSection(report)}${poolSection(report)}${runSection(report)}${errorSection(report)}`,
  });
}

function section(id: string, title: string, content: Html): Html {
  return html`<section aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${content}
</section>
`;
}

function problemSection(problems: Problem[]): Html | string {
  if (problems.length === 0) return '';
  const items = problems.map(
    ({ what, cure }) =>
      html`<li><p class="bad">${foreign(what)}</p><p class="soft">What to do: ${cure}</p></li>`,
  );
  return section('problems', 'Needs attention', html`<ul>${items}</ul>`);
}

function streamSection(streams: StreamStatus[]): Html {
  const items = streams.map((stream) => {
    const paging = [stream.listOrder, stream.pageSize && `${countWords(stream.pageSize)} a page`];
    const mark = stream.isComplete ? '✓' : '✗';
    return html`<li>
<h3>${foreign(stream.name)}</h3>
<p class="${stream.isComplete ? 'good' : 'bad'}">${mark} ${proofWords(stream)}</p>
<p class="soft">read ${[agoWords(stream.lagSeconds), ...paging].filter(Boolean).join(' · ')}</p>
</li>`;
  });
  const content = items.length > 0 ? html`<ul>${items}</ul>` : html`<p>Nothing read yet.</p>`;
  return section('streams', 'Proof of completeness', content);
}

function transactionSection({ transactions, rejects, queue, streams }: StatusReport): Html {
  const facts: [string, number][] = [
    ['in the ledger', transactions.total],
    ['final', transactions.final],
    ['incomplete rows', transactions.incomplete],
    ['rejects', rejects],
  ];
  if (queue) {
    const { waiting, active, failed } = queue;
    facts.push(['jobs due', waiting], ['jobs at work', active], ['jobs failed, 1 h', failed]);
  }
  const items = facts.map(
    ([name, count]) => html`<div><dt>${name}</dt><dd>${countWords(count)}</dd></div>`,
  );
  const turned = finalChangesWords(streams);
  const note = turned === null ? '' : html`<p class="soft">${turned}</p>`;
  return section('transactions', 'Transactions and queue', html`<dl>${items}</dl>${note}`);
}

function balanceSection({ balances, readAt }: StatusReport): Html {
  if (balances.length === 0) return section('balances', 'Balances', html`<p>None read yet.</p>`);
  const rows = balances.map(
    (
      balance,
    ) => html`<tr><th scope="row">${foreign(balance.symbol)}</th><td>${foreign(balance.chain)}</td>
<td class="number">${balance.balance ?? '–'}</td><td class="number">${balance.frozen ?? '–'}</td>
<td>${balanceCurve(balance, readAt)}</td></tr>`,
  );
  return section(
    'balances',
    'Balances',
    html`<div class="scroll"><table>
<caption>As the service reports them; the curve shows the latest changes</caption>
<thead><tr><th scope="col">Coin</th><th scope="col">Chain</th><th scope="col" class="number">Balance</th>
<th scope="col" class="number">Frozen</th><th scope="col">Over time</th></tr></thead>
<tbody>${rows}</tbody>
</table></div>`,
  );
}

function balanceCurve({ history }: BalanceStatus, readAt: string): Html | string {
  const points = drawBalance(history, readAt);
  const since = history[0]?.at;
  if (points === null || since === undefined) return 'unchanged';
  const { width, height } = drawingSize;
  return html`<svg role="img" aria-label="${history.length - 1} changes since ${dateWords(since)}" width="${width}"
height="${height}" viewBox="-1 -1 ${width + 2} ${height + 2}"><polyline class="curve" points="${points}"/></svg>`;
}

function poolSection({ pools, unexpectedDeposits }: StatusReport): Html | string {
  if (pools.length === 0) return '';
  const unexpected = unexpectedWords(unexpectedDeposits);
  const items = pools.map(({ slip44, available, threshold, target, daysLeft }) => {
    const percent = (count: number) => Math.min(100, (count / target) * 100);
    return html`<li class="${available < threshold ? 'low' : ''}">
<h3>Chain ${slip44}</h3>
<p>${countWords(available)} of ${countWords(target)} addresses available · refilled below ${countWords(threshold)}${daysLeft === null ? '' : ` · ${daysWords(daysLeft)}`}</p>
<svg aria-hidden="true" width="320" height="10" viewBox="0 0 100 4" preserveAspectRatio="none">
<rect class="track" width="100" height="4"/><rect class="level" width="${percent(available)}" height="4"/>
<rect class="mark" x="${percent(threshold) - 0.3}" width="0.6" height="4"/></svg>
</li>`;
  });
  const note = unexpected === null ? '' : html`<p class="soft">${unexpected}</p>`;
  return section('pools', 'Address pools', html`<ul>${items}</ul>${note}`);
}

function runSection({ lastRuns, readAt }: StatusReport): Html {
  if (lastRuns.length === 0) return section('runs', 'Last runs', html`<p>None yet.</p>`);
  const rows = lastRuns.map((run) => {
    const counts = [run.requests, run.rowsSeen, run.rowsInserted, run.rowsUpdated];
    return html`<tr><th scope="row">${foreign(run.job)}</th>
<td class="${run.outcome === 'failed' ? 'bad' : ''}">${run.outcome}</td>
<td><time datetime="${run.finishedAt}">${agoWords(secondsBetween(run.finishedAt, readAt))}</time></td>
${counts.map((count) => html`<td class="number">${countWords(count)}</td>`)}</tr>`;
  });
  const columns = ['Requests', 'Rows seen', 'New', 'Changed'];
  return section(
    'runs',
    'Last runs',
    html`<div class="scroll"><table>
<caption>The latest run of each job that asked the service for something</caption>
<thead><tr><th scope="col">Job</th><th scope="col">Outcome</th><th scope="col">Ended</th>
${columns.map((column) => html`<th scope="col" class="number">${column}</th>`)}</tr></thead>
<tbody>${rows}</tbody>
</table></div>`,
  );
}

function errorSection({ lastErrors, readAt }: StatusReport): Html | string {
  if (lastErrors.length === 0) return '';
  const items = lastErrors.map(
    (error) => html`<li><h3>${foreign('stream' in error ? error.stream : error.job)}</h3>
<p>${foreign(error.message)}</p>
<p class="soft"><time datetime="${error.at}">${agoWords(secondsBetween(error.at, readAt))}</time></p></li>`,
  );
  return section('errors', 'Last errors', html`<ul>${items}</ul>`);
}

/** 2026-01-02T03:04:05Z → `2026-01-02 03:04:05 UTC`. */
function dateWords(iso: string): string {
  return `${iso.slice(0, 19).replace('T', ' ')} UTC`;
}
