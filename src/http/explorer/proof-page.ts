import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { LogPage } from '../../ledger/reports/explorer/log-page.ts';
import type {
  CoveredList,
  CoveredYear,
  ProofRow,
} from '../../ledger/reports/explorer/read-proofs.ts';
import type { CoveredDay, StreamStatus } from '../../ledger/reports/ledger-status.ts';
import { foreign, type Html, scrollingTable, section } from '../page/page-frame.ts';
import { calendarChart, calendarLegend, countNever } from '../status-page/calendar-chart.ts';
import { streamSection } from '../status-page/stream-section.ts';
import { filterQuery } from './query-params.ts';
import { timeWords } from './times.ts';

const dayMs = 86_400_000;
/** Upper bound, for each list, of the days that were never compared and are named one by one. */
const namedMax = 40;

/** Content of the page of the proof; `year` is the year that the calendars show. */
export type Proof = {
  streams: StreamStatus[];
  years: CoveredYear[];
  year: number;
  lists: CoveredList[];
  changes: LogPage<ProofRow>;
  readAt: string;
};

/** Shows the proof that the ledger is complete: counts, the calendar of a year, and when the proof changed. */
export function proofPage({ streams, years, year, lists, changes, readAt }: Proof): Html {
  return html`${streamSection(streams, 'What the service counts and what the ledger holds')}
${section('calendar', `When each day of ${year} was last compared with the service`, calendars({ years, year, lists, readAt }))}
${section('changes', 'When the proof changed', changeTable(changes))}`;
}

function calendars({ years, year, lists, readAt }: Omit<Proof, 'streams' | 'changes'>): Html {
  const all = [...new Set([year, ...years.map((one) => one.year)])].sort((a, b) => b - a);
  const links = all.map((one) =>
    one === year
      ? html`<strong aria-current="true">${one}</strong> `
      : html`<a href="proof?year=${one}">${one}</a> `,
  );
  const span = {
    first: Date.UTC(year, 0, 1) / dayMs,
    last: Math.min(Date.UTC(year, 11, 31), Date.parse(readAt)) / dayMs,
    name: String(year),
    readAt,
  };
  const items = lists.map(
    (list) => html`<li><h3>${foreign(list.stream)}</h3>${calendarChart(list, span)}
${neverWords(list)}${monthTable(list)}</li>`,
  );
  const drawn =
    items.length === 0
      ? html`<p>No transaction of this year.</p>`
      : html`<ul class="calendars">${items}</ul>${calendarLegend()}`;
  return html`<p>A day is verified when the service listed exactly the rows that the ledger has for it.</p>
<p class="pages">${links}</p>${drawn}${yearTable(years)}`;
}

/** Link to the transactions of a list in a period. */
function rowsOf(stream: string, from: string, to: string, words: string): Html {
  if (stream !== 'deposit' && stream !== 'withdraw') return html`${words}`;
  return html`<a href="transactions${filterQuery({ stream, from, to })}">${words}</a>`;
}

function neverWords({ stream, days }: CoveredList): Html | string {
  const never = days.filter(({ verifiedAt }) => verifiedAt === null);
  if (never.length === 0) return '';
  const links = never
    .slice(0, namedMax)
    .map(({ day }) => html`<li>${rowsOf(stream, day, day, day)}</li>`);
  const more =
    never.length > namedMax ? html`<li>and ${countWords(never.length - namedMax)} more</li>` : '';
  return html`<p class="warn">${countWords(never.length)} ${never.length === 1 ? 'day' : 'days'} never verified:</p><ul class="days-never">${links}${more}</ul>`;
}

function monthTable({ stream, days }: CoveredList): Html {
  const months = [...new Set(days.map(({ day }) => day.slice(0, 7)))].reverse();
  const rows = months.map((month) => {
    const own = days.filter(({ day }) => day.startsWith(month));
    return html`<tr><th scope="row" class="time">${rowsOf(stream, `${month}-01`, lastDayOf(month), month)}</th><td class="number">${countWords(own.length)}</td>
<td class="number">${countWords(own.reduce((sum, { transactions }) => sum + transactions, 0))}</td><td class="number">${countWords(countNever(own))}</td><td class="time">${oldestOf(own)}</td></tr>`;
  });
  const table = html`<table><caption>Days with transactions</caption><thead><tr><th scope="col">Month</th><th scope="col" class="number">Days</th><th scope="col" class="number">Transactions</th>
<th scope="col" class="number">Days never verified</th><th scope="col">Oldest verification</th></tr></thead><tbody>${rows}</tbody></table>`;
  return html`<details><summary>By month<span class="unseen">, ${foreign(stream)}</span></summary>${scrollingTable(`Months of ${stream}`, table)}</details>`;
}

function lastDayOf(month: string): string {
  const next = new Date(`${month}-01T00:00:00Z`);
  next.setUTCMonth(next.getUTCMonth() + 1, 0);
  return next.toISOString().slice(0, 10);
}

function oldestOf(days: CoveredDay[]): Html | string {
  const [oldest] = days.flatMap(({ verifiedAt }) => verifiedAt ?? []).sort();
  return oldest === undefined ? 'never' : timeWords(oldest);
}

function yearTable(years: CoveredYear[]): Html | string {
  if (years.length === 0) return '';
  const rows = years.map(
    (
      one,
    ) => html`<tr><th scope="row"><a href="proof?year=${one.year}">${one.year}<span class="unseen">, ${foreign(one.stream)}</span></a></th><td>${foreign(one.stream)}</td><td class="number">${countWords(one.days)}</td>
<td class="number">${countWords(one.transactions)}</td><td class="number ${one.neverVerified > 0 ? 'warn' : ''}">${countWords(one.neverVerified)}</td>
<td class="time">${one.verifiedThrough === null ? 'never' : timeWords(one.verifiedThrough)}</td></tr>`,
  );
  const table = html`<table><caption>All years</caption><thead><tr><th scope="col">Year</th><th scope="col">List</th><th scope="col" class="number">Days</th>
<th scope="col" class="number">Transactions</th><th scope="col" class="number">Days never verified</th><th scope="col">Oldest verification</th></tr></thead><tbody>${rows}</tbody></table>`;
  return scrollingTable('All years', table);
}

function changeTable({ rows, next }: LogPage<ProofRow>): Html {
  if (rows.length === 0) return html`<p>None.</p>`;
  const total = (count: number | null) => (count === null ? '–' : countWords(count));
  const lines = rows.map(
    (
      row,
    ) => html`<tr><td class="time">${timeWords(row.observedAt)}</td><td>${foreign(row.name)}</td>
<td>${row.isComplete ? html`<span class="good">✓ proven complete</span>` : html`<span class="bad">✗ not proven</span>`}</td>
<td class="number">${total(row.serviceTotal)}</td><td class="number">${countWords(row.ledgerCount)}</td><td>${row.reason === null ? '' : foreign(row.reason)}</td></tr>`,
  );
  const table = html`<table><caption>Each change, latest first</caption><thead><tr><th scope="col">Time, UTC</th><th scope="col">List</th><th scope="col">Proof</th>
<th scope="col" class="number">Service says</th><th scope="col" class="number">Ledger holds</th><th scope="col">Reason</th></tr></thead><tbody>${lines}</tbody></table>`;
  const older =
    next === null
      ? ''
      : html`<p class="pages"><a href="proof?before=${next}" rel="next">Older changes</a></p>`;
  return html`${scrollingTable('Changes of the proof', table)}${older}`;
}
