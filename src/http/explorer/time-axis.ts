import { html } from 'hono/html';
import type { Html } from '../page/page-frame.ts';

/** Labels for five moments that are evenly spaced between two times (ms since 1970), the outer ones included. */
export function timeAxis(from: number, to: number): { labels: Html; words: string } {
  const moments = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    new Date(from + share * (to - from)).toISOString().slice(0, 16).replace('T', ' '),
  );
  const labels = html`<p class="labels">${moments.map((moment, index) => html`<span class="${index % 2 === 1 ? 'wide' : ''}">${moment}</span>`)}</p>`;
  return { labels, words: `from ${moments[0]} to ${moments.at(-1)} UTC` };
}
