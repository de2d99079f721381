import { createHash } from 'node:crypto';
import { pageStyle, securityHeaders } from '../page/page-style.ts';

/** Style sheet of the pages to look things up: that of the status page, and the styles that only they need. */
export const explorerStyle = `${pageStyle}
body { max-width: 120rem; }
main > h1 { margin-top: 1.1rem; }
.pages + ul, .pages + .calendars { margin-top: .8rem; }
td.key { font-family: ui-monospace, monospace; font-size: .85rem; max-width: clamp(7rem, 9vw, 24rem); overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
td.order { max-width: 16rem; }
td.time, td.short { white-space: nowrap; font-variant-numeric: tabular-nums; }
dl.facts { grid-template-columns: minmax(6rem, max-content) minmax(0, 1fr); gap: .35rem 1rem; }
dl.facts > div { display: contents; }
dl.facts dd { font-size: 1rem; }
dl.facts .key { font-family: ui-monospace, monospace; font-size: .925rem; }
pre { white-space: pre-wrap; margin: .3rem 0; font-size: .85rem; }
.pages { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin-top: .8rem; }
.course svg { height: 9rem; forced-color-adjust: none; }
.course path { fill: none; stroke: var(--in); stroke-width: 1.75; vector-effect: non-scaling-stroke; }
.course line { stroke: var(--soft); stroke-width: 1; vector-effect: non-scaling-stroke; stroke-dasharray: 2 4; }
.course line.threshold { stroke: var(--bad); stroke-dasharray: 6 4; }
.days-never { display: flex; flex-wrap: wrap; gap: .1rem .9rem; font-variant-numeric: tabular-nums; }
.timeline { margin: 0; padding: 0; list-style: none; }
.timeline li { padding: .2rem 0; }
.course .labels { display: flex; justify-content: space-between; color: var(--soft); font-size: .8125rem;
  font-variant-numeric: tabular-nums; }
@media (max-width: 40rem) { .labels .wide { display: none; } td.time { white-space: normal; min-width: 8.5rem; } }
nav a[aria-current] { color: var(--text); font-weight: 600; text-decoration: none; }
`;

const digest = createHash('sha256').update(explorerStyle).digest('base64');

/** Headers of these pages. Unlike that of the status page, their script sends no requests. */
export const explorerHeaders: Readonly<Record<string, string>> = {
  ...securityHeaders,
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${digest}'`,
    "script-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
};
