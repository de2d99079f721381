import { html } from 'hono/html';
import type { Html } from '../page/page-frame.ts';

/** Cuts PostgreSQL's text of a UTC time, `2026-03-01 12:00:00.5+00`, to the second; leaves other texts as they are. */
function timeText(text: string): string {
  return text.replace(/^(\d+-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?(?:\+00|Z)$/, '$1 $2');
}

/** Shows a time in UTC to the second, with PostgreSQL's exact text in the title. */
export function timeWords(text: string | null): Html {
  if (text === null) return html`<span class="soft">no time</span>`;
  const iso = text.replace(' ', 'T').replace(/\+00$/, 'Z');
  return html`<time datetime="${iso}" title="${text}">${timeText(text)}</time>`;
}
