import { createHash } from 'node:crypto';
import { pageStyle, securityHeaders } from '../page-style.ts';

/** Style sheet of the pages to look things up: that of the status page, and what only they have. */
export const explorerStyle = `${pageStyle}
body { max-width: 96rem; }
form { display: flex; flex-wrap: wrap; gap: .6rem .9rem; align-items: end; }
label { display: grid; gap: .15rem; color: var(--soft); font-size: .8125rem; }
label.check { display: flex; gap: .4rem; align-items: center; min-height: 2.2rem; font-size: .925rem; }
input, select, button { font: inherit; color: var(--text); background: var(--ground); border: 1px solid var(--soft);
  border-radius: .4rem; padding: .3rem .5rem; min-height: 2.2rem; max-width: 100%; }
input[type=checkbox] { min-height: 0; width: 1.1rem; height: 1.1rem; }
input.short { width: 9rem; }
.search { flex: 1 1 14rem; }
.search input { width: 100%; }
button { background: var(--link); color: var(--card); border-color: var(--link); cursor: pointer; font-weight: 600; }
.decimals { display: inline-block; width: 9ch; text-align: left; }
td.key { font-family: ui-monospace, monospace; font-size: .85rem; max-width: 16rem; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
td.time, td.short { white-space: nowrap; font-variant-numeric: tabular-nums; }
dl.facts { grid-template-columns: minmax(6rem, max-content) minmax(0, 1fr); gap: .35rem 1rem; }
dl.facts > div { display: contents; }
dl.facts dd { font-size: 1rem; }
dl.facts .key { font-family: ui-monospace, monospace; font-size: .925rem; }
pre { white-space: pre-wrap; margin: .3rem 0; font-size: .85rem; }
.pages { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin-top: .8rem; }
.course svg { height: 9rem; forced-color-adjust: none; }
.course path { fill: none; stroke: var(--in); stroke-width: 1.75; vector-effect: non-scaling-stroke; }
.timeline { margin: 0; padding: 0; list-style: none; }
.timeline li { padding: .2rem 0; }
.course .labels { display: flex; justify-content: space-between; color: var(--soft); font-size: .8125rem;
  font-variant-numeric: tabular-nums; }
@media (max-width: 40rem) { .labels .wide { display: none; } }
nav a[aria-current] { color: var(--text); font-weight: 600; text-decoration: none; }
`;

const digest = createHash('sha256').update(explorerStyle).digest('base64');

/** Headers of these pages. Unlike the status page they have forms, which only this server receives, and no script. */
export const explorerHeaders: Readonly<Record<string, string>> = {
  ...securityHeaders,
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${digest}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
};
