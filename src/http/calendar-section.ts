import { html, raw } from 'hono/html';
import type { CoverageStatus, CoveredDay } from '../ledger/reports/ledger-status.ts';
import type { StatusReport } from '../status/status-report.ts';
import { agoWords, countWords, secondsBetween } from '../status/status-words.ts';
import { cut, dateWords, foreign, type Html, scrollingTable, section } from './page-frame.ts';

const dayMs = 86_400_000;
const daysShown = 366;
const cell = { size: 10, step: 12, top: 14 } as const;
/** Classes by the age of a day's verification: upper bound in days, and the words of the legend. */
const ages = [
  { days: 1, style: 'v1', words: 'verified within a day' },
  { days: 7, style: 'v2', words: 'a week' },
  { days: 31, style: 'v3', words: 'a month' },
  { days: Number.POSITIVE_INFINITY, style: 'v4', words: 'longer ago' },
] as const;
const never = { style: 'v5', words: 'never' } as const;

/**
 * Shows for each transaction list when every UTC day was last compared with the service. Returns '' before the first
 * row.
 */
export function calendarSection({ coverage, streams, readAt }: StatusReport): Html | string {
  if (coverage.length === 0) return '';
  const items = coverage.map((one) => {
    const verified = streams.find(({ name }) => name === one.stream)?.verifiedThrough ?? null;
    return html`<li><h3>${foreign(one.stream)}</h3>
<p>${summaryWords(one, verified, readAt)}</p>
${drawing(one, readAt)}
${olderWords(one)}
<details><summary>Days by month as a table</summary>${monthTable(one)}</details></li>`;
  });
  return section(
    'calendar',
    'Proof calendar: when each day was last compared with the service',
    html`<ul class="calendars">${items}</ul>${legend()}`,
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

/** Draws one column per week, Monday first; the current week is at the right. */
function drawing({ stream, days }: CoverageStatus, readAt: string): Html {
  const today = Math.floor(Date.parse(readAt) / dayMs);
  const first = today - daysShown + 1;
  const firstWeek = weekOf(first);
  const place = (day: number) => ({
    x: (weekOf(day) - firstWeek) * cell.step,
    y: cell.top + weekdayOf(day) * cell.step,
  });
  const known = new Map(days.map((one) => [Math.floor(Date.parse(one.day) / dayMs), one]));
  const empty: string[] = [];
  const cells: string[] = [];
  const months: string[] = [];
  for (let day = first; day <= today; day += 1) {
    const { x, y } = place(day);
    const one = known.get(day);
    const date = new Date(day * dayMs);
    if (date.getUTCDate() === 1) months.push(`<text x="${x}" y="9">${monthName(date)}</text>`);
    if (one) cells.push(dayCell(one, x, y, readAt));
    else empty.push(`M${x} ${y}h${cell.size}v${cell.size}h-${cell.size}z`);
  }
  const width = (weekOf(today) - firstWeek + 1) * cell.step;
  // Contains only numbers, dates and fixed words, so nothing needs escaping.
  const inside = `${months.join('')}<path class="track" d="${empty.join('')}"/>${cells.join('\n')}`;
  return html`<div class="calendar"><svg role="img" aria-label="${cut(stream)}: the last 12 months by day; ${countNever(days)} of ${days.length} days with rows never verified" viewBox="0 0 ${width} ${cell.top + 7 * cell.step}">
${raw(inside)}
</svg></div>`;
}

function dayCell(
  { day, transactions, verifiedAt }: CoveredDay,
  x: number,
  y: number,
  readAt: string,
): string {
  const rows = `${countWords(transactions)} ${transactions === 1 ? 'row' : 'rows'}`;
  const words =
    verifiedAt === null ? 'never verified' : `verified ${dateWords(verifiedAt).slice(0, 16)} UTC`;
  const style = styleOf(verifiedAt, readAt);
  return `<rect class="${style}" x="${x}" y="${y}"><title>${day}: ${rows}, ${words}</title></rect>`;
}

function styleOf(verifiedAt: string | null, readAt: string): string {
  if (verifiedAt === null) return never.style;
  const days = secondsBetween(verifiedAt, readAt) / 86_400;
  return ages.find((age) => days <= age.days)?.style ?? never.style;
}

/** Number of the week, counted from Monday, 29 December 1969; the epoch began on a Thursday. */
function weekOf(day: number): number {
  return Math.floor((day + 3) / 7);
}

function weekdayOf(day: number): number {
  return (day + 3) % 7;
}

function monthName(date: Date): string {
  return date.toLocaleString('en-US', { month: 'short', timeZone: 'UTC' });
}

function countNever(days: CoveredDay[]): number {
  return days.filter(({ verifiedAt }) => verifiedAt === null).length;
}

function legend(): Html {
  const items = [...ages, never].map(
    ({ style, words }) =>
      html`<span><svg aria-hidden="true" viewBox="-1 -1 12 12"><rect class="${style}" width="10" height="10"/></svg>${words}</span>`,
  );
  return html`<p class="soft legend">${items}</p>`;
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
