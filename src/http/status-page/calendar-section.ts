import { html } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { CoverageStatus } from '../../ledger/reports/ledger-status.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { agoWords, secondsBetween } from '../../status/status-words.ts';
import { cut, dateWords, foreign, type Html, scrollingTable, section } from '../page/page-frame.ts';
import { calendarChart, calendarLegend, countNever } from './calendar-chart.ts';

const dayMs = 86_400_000;
const daysShown = 366;

/**
 * Shows for each transaction list when every UTC day was last compared with the service. Returns '' before the first
 * row.
 */
export function calendarSection({ coverage, streams, readAt }: StatusReport): Html | string {
  if (coverage.length === 0) return '';
  const last = Math.floor(Date.parse(readAt) / dayMs);
  const span = { first: last - daysShown + 1, last, name: 'the last 12 months', readAt };
  const items = coverage.map((one) => {
    const verified = streams.find(({ name }) => name === one.stream)?.verifiedThrough ?? null;
    return html`<li><h3>${foreign(one.stream)}</h3>
<p>${summaryWords(one, verified, readAt)}</p>
${calendarChart(one, span)}
${olderWords(one)}
<details><summary>Days by month as a table</summary>${monthTable(one)}</details></li>`;
  });
  return section(
    'calendar',
    'Proof calendar: when each day was last compared with the service',
    html`<ul class="calendars">${items}</ul>${calendarLegend()}
<p><a href="proof">All years, and when the proof changed</a></p>`,
  );
}

function summaryWords(one: CoverageStatus, verified: string | null, readAt: string): string {
  const days = countNever(one.days) + one.olderNeverVerified;
  const missing = `${countWords(days)} ${days === 1 ? 'day' : 'days'} never verified`;
  if (verified === null) return days === 0 ? 'not all days verified yet' : missing;
  const ago = agoWords(secondsBetween(verified, readAt));
  return `verified through ${dateWords(verified)}, ${ago} · ${missing}`;
}

function olderWords(one: CoverageStatus): Html | string {
  if (one.olderDays === 0) return '';
  const verified =
    one.olderVerifiedThrough === null
      ? ''
      : ` · oldest verification ${dateWords(one.olderVerifiedThrough)}`;
  return html`<p class="soft">older: ${countWords(one.olderDays)} days with ${countWords(one.olderTransactions)} rows${verified} · ${countWords(one.olderNeverVerified)} never verified</p>`;
}

function monthTable({ stream, days }: CoverageStatus): Html {
  const months = [...new Set(days.map(({ day }) => day.slice(0, 7)))].reverse();
  const rows = months.map((month) => {
    const own = days.filter(({ day }) => day.startsWith(month));
    const marks = own.flatMap(({ verifiedAt }) => (verifiedAt === null ? [] : [verifiedAt])).sort();
    const sum = own.reduce((total, { transactions }) => total + transactions, 0);
    const oldest = marks[0] === undefined ? 'never' : dateWords(marks[0]);
    return html`<tr><th scope="row">${month}</th><td class="number">${countWords(own.length)}</td>
<td class="number">${countWords(sum)}</td><td class="number">${countWords(countNever(own))}</td><td>${oldest}</td></tr>`;
  });
  const table = html`<table>
<caption>Days with rows, and when the oldest of them was last verified</caption>
<thead><tr><th scope="col">Month</th><th scope="col" class="number">Days</th><th scope="col" class="number">Rows</th>
<th scope="col" class="number">Never verified</th><th scope="col">Oldest verification</th></tr></thead>
<tbody>${rows}</tbody>
</table>`;
  return scrollingTable(`Days of ${cut(stream)} by month`, table);
}
