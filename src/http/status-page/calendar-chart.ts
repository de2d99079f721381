import { html, raw } from 'hono/html';
import { countWords } from '../../kernel/count-words.ts';
import type { CoveredDay } from '../../ledger/reports/ledger-status.ts';
import { secondsBetween } from '../../status/status-words.ts';
import { cut, dateWords, type Html } from '../page/page-frame.ts';

/** The days with rows of a list. */
type CoveredList = { stream: string; days: CoveredDay[] };

/** The days of a calendar, as days since 1970, and what they are called; `readAt` is when they were read. */
type Span = { first: number; last: number; name: string; readAt: string };

const dayMs = 86_400_000;
const cell = { size: 10, step: 12, top: 14 } as const;
/** Classes by the age of a day's verification: upper bound in days, and the words of the legend. */
const ages = [
  { days: 1, style: 'v1', words: 'verified within a day' },
  { days: 7, style: 'v2', words: 'a week' },
  { days: 31, style: 'v3', words: 'a month' },
  { days: Number.POSITIVE_INFINITY, style: 'v4', words: 'longer ago' },
] as const;
const never = { style: 'v5', words: 'never' } as const;

/** Draws one column per week, Monday first; the last week is at the right. */
export function calendarChart({ stream, days }: CoveredList, span: Span): Html {
  const { first, name, readAt } = span;
  const last = Math.floor(span.last);
  const firstWeek = weekOf(first);
  const place = (day: number) => ({
    x: (weekOf(day) - firstWeek) * cell.step,
    y: cell.top + weekdayOf(day) * cell.step,
  });
  const known = new Map(days.map((one) => [Math.floor(Date.parse(one.day) / dayMs), one]));
  const empty: string[] = [];
  const cells: string[] = [];
  const months: string[] = [];
  for (let day = first; day <= last; day += 1) {
    const { x, y } = place(day);
    const one = known.get(day);
    const date = new Date(day * dayMs);
    if (date.getUTCDate() === 1) months.push(`<text x="${x}" y="9">${monthName(date)}</text>`);
    if (one) cells.push(dayCell(one, x, y, readAt));
    else empty.push(`M${x} ${y}h${cell.size}v${cell.size}h-${cell.size}z`);
  }
  const width = (weekOf(last) - firstWeek + 1) * cell.step;
  // Contains only numbers, dates and fixed words, so nothing needs escaping.
  const inside = `${months.join('')}<path class="track" d="${empty.join('')}"/>${cells.join('\n')}`;
  return html`<div class="calendar"><svg role="img" aria-label="${cut(stream)}: ${name} by day; ${countNever(days)} of ${days.length} days with rows never verified" viewBox="0 0 ${width} ${cell.top + 7 * cell.step}">
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

/** Number of days that were never verified. */
export function countNever(days: CoveredDay[]): number {
  return days.filter(({ verifiedAt }) => verifiedAt === null).length;
}

/** Explains the colours of the calendars. */
export function calendarLegend(): Html {
  const items = [...ages, never].map(
    ({ style, words }) =>
      html`<span><svg aria-hidden="true" viewBox="-1 -1 12 12"><rect class="${style}" width="10" height="10"/></svg>${words}</span>`,
  );
  return html`<p class="soft legend">${items}</p>`;
}
