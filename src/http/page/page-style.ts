import { createHash } from 'node:crypto';

/** Style sheet of the status page. No font, image or style is loaded from another site. */
export const pageStyle = `
:root { color-scheme: light dark; --text: #17202b; --soft: #566170; --ground: #f3f5f8; --card: #fff;
  --line: #dfe4ea; --good: #12724a; --good-ground: #e4f5ec; --bad: #b3261e; --bad-ground: #fdebe9;
  --warn: #855300; --warn-ground: #fdf1dc;
  --in: #2563d8; --out: #b4530a; --link: #1d54bd; }
@media (prefers-color-scheme: dark) { :root { --text: #e8ecf2; --soft: #a0acba; --ground: #0e1217;
  --card: #171c23; --line: #2b333e; --good: #57cf99; --good-ground: #10291f; --bad: #ff938a;
  --bad-ground: #331816; --warn: #efc26b; --warn-ground: #2e2410; --in: #6c9fff; --out: #f0a35c; --link: #8fb5ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.25rem clamp(.75rem, 3vw, 2rem) 2rem; max-width: 76rem;
  background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.25rem; letter-spacing: -.01em; margin: 0; }
h2 { font-size: 1.05rem; letter-spacing: -.005em; margin: 0 0 .75rem; }
h3, h4 { font-size: .95rem; margin: 0; }
.multiples { margin-top: 1.25rem; }
.multiples ~ .cards { margin-top: .6rem; }
p { margin: .15rem 0; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: .25rem; }
main:focus { outline: none; }
.skip, .unseen { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .3rem .6rem; }
.bar { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: .25rem 1rem; }
nav { display: flex; flex-wrap: wrap; gap: 0 .75rem; }
dl.place { display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin-top: .3rem; }
.place > div { display: flex; gap: .4rem; }
.place dd { font-size: .875rem; line-height: inherit; }
.wallets { margin-top: .3rem; }
.wallets a[aria-current] { color: var(--text); font-weight: 600; text-decoration: none; }
.environment dd { font-weight: 700; padding: 0 .45rem; border-radius: .3rem; }
.environment.live dd { background: var(--good-ground); color: var(--good); }
.environment.trial dd { background: var(--warn-ground); color: var(--warn); }
body:has(.environment)::before { content: ''; position: fixed; inset: 0 0 auto; height: .4rem; background: var(--good);
  z-index: 1; }
body:has(.environment.trial)::before { background: repeating-linear-gradient(45deg, var(--warn) 0 .5rem, var(--warn-ground) .5rem 1rem); }
.own-time { color: var(--soft); font-size: .85em; font-weight: 400; white-space: nowrap; }
tr.resting { color: var(--soft); }
.verdict { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: .1rem 1rem;
  margin-top: .75rem; padding: .7rem 1rem; border-radius: .75rem; background: var(--good-ground); }
.verdict.wrong { background: var(--bad-ground); }
.verdict.doubtful { background: var(--warn-ground); }
.cut-off { margin: 0 0 .75rem; padding: .7rem 1rem; border-radius: .75rem; background: var(--bad); color: var(--card);
  font-weight: 600; }
.cut-off:empty { display: none; }
.is-cut-off .verdict { display: none; }
.verdict strong { font-size: 1.15rem; }
.verdict .soft { font-variant-numeric: tabular-nums; color: var(--text); }
section { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; padding: 1rem 1.1rem;
  margin-top: 1rem; }
ul { list-style: none; margin: 0; padding: 0; }
.stack > li + li { border-top: 1px solid var(--line); margin-top: .6rem; padding-top: .6rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15.5rem), 1fr)); gap: 1rem 1.5rem; }
.cards > li { border-top: 2px solid var(--line); padding-top: .5rem; min-width: 0; }
.soft { color: var(--soft); font-size: .875rem; }
.good { color: var(--good); }
.bad { color: var(--bad); }
.warn { color: var(--warn); }
.in { color: var(--in); }
.out { color: var(--out); }
.split { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; }
.count { font-variant-numeric: tabular-nums; font-size: .925rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr)); gap: .9rem; margin: 0; }
dt { color: var(--soft); font-size: .875rem; }
dd { margin: 0; font-size: 1.4rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; overflow-wrap: normal; font-size: .925rem; }
caption { text-align: left; max-width: calc(100vw - 3.5rem); color: var(--soft); font-size: .875rem; padding-bottom: .4rem; }
th, td { text-align: left; padding: .35rem .9rem .35rem 0; border-top: 1px solid var(--line); vertical-align: top; }
thead th { border-top: 0; color: var(--soft); font-weight: 600; font-size: .8125rem; white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
.decimals { display: inline-block; width: 9ch; text-align: left; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
details { margin-top: .3rem; font-size: .875rem; }
summary { cursor: pointer; color: var(--link); width: fit-content; }
details .scroll { max-height: 18rem; overflow-y: auto; }
figure { margin: 0; }
svg { display: block; width: 100%; overflow: visible; }
.chart { display: grid; grid-template-columns: 3rem minmax(0, 1fr); gap: 0 .25rem; margin-top: .5rem; }
.chart .days { grid-column: 2; }
.days { display: flex; justify-content: space-between; color: var(--soft); font-size: .8125rem; }
.chart svg, .multiple, .curve svg { forced-color-adjust: none; }
.ticks text { fill: var(--soft); font-size: .8125rem; text-anchor: end; dominant-baseline: middle;
  font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; vector-effect: non-scaling-stroke; }
.bar-in { fill: var(--in); }
.bar-out { fill: var(--out); }
.day { fill: transparent; }
.day:hover { fill: var(--text); fill-opacity: .08; }
.multiple { height: 3.5rem; margin-top: .4rem; }
.curve { width: 9rem; }
.curve svg { height: 1.75rem; }
.curve path.line { fill: none; stroke: var(--in); stroke-width: 1.75; vector-effect: non-scaling-stroke;
  stroke-linejoin: round; }
.curve path.area { fill: var(--in); fill-opacity: .14; }
.level svg { height: .7rem; margin: .35rem 0 .1rem; }
.track { fill: var(--line); }
.fill { fill: var(--in); }
.low .fill { fill: var(--bad); }
.mark { fill: var(--text); }
.calendar { max-width: 44rem; margin-top: .4rem; }
.calendar svg { forced-color-adjust: none; }
.calendar rect { width: 10px; height: 10px; rx: 2px; }
.calendar text { fill: var(--soft); font-size: 9px; }
.v1 { fill: var(--good); }
.v2 { fill: var(--good); fill-opacity: .65; }
.v3 { fill: var(--good); fill-opacity: .35; }
.v4 { fill: var(--warn); fill-opacity: .6; }
.v5 { fill: transparent; stroke: var(--bad); stroke-width: 1.5; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem .9rem; }
.legend svg { display: inline; width: .7rem; height: .7rem; margin-right: .3rem; }
.calendars > li + li { margin-top: 1.1rem; }
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
footer { color: var(--soft); font-size: .875rem; margin-top: 1rem; }
@media (max-width: 30rem) { section { padding: .85rem .8rem; } .chart { grid-template-columns: 2.25rem minmax(0, 1fr); } }
`;

const styleDigest = createHash('sha256').update(pageStyle).digest('base64');

/**
 * Headers of every answer except the board's own. No foreign content is loaded, no other site can frame the page,
 * nothing is cached, and no referrer is sent.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${styleDigest}'`,
    "script-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};
