import { createHash } from 'node:crypto';

/** The pages' whole style sheet: no font, image or script is fetched from anywhere. */
export const pageStyle = `
:root { color-scheme: light dark; --text: #1c2430; --soft: #5b6675; --ground: #f6f7f9; --card: #fff;
  --line: #dde2e8; --good: #16794a; --bad: #b3261e; --bar: #2f6fde; }
@media (prefers-color-scheme: dark) { :root { --text: #e6eaf0; --soft: #9aa6b5; --ground: #12161c;
  --card: #1a2029; --line: #2c3541; --good: #4cc38a; --bad: #ff8a80; --bar: #6ea0ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 62rem; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.05rem; margin: 0 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: .2rem 0; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem;
  margin-top: 1rem; }
ul { list-style: none; margin: 0; padding: 0; }
li + li { border-top: 1px solid var(--line); margin-top: .6rem; padding-top: .6rem; }
.soft { color: var(--soft); font-size: .9rem; }
.good { color: var(--good); }
.bad { color: var(--bad); }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .8rem; margin: 0; }
dt { color: var(--soft); font-size: .9rem; }
dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; overflow-wrap: normal; }
caption { text-align: left; color: var(--soft); font-size: .9rem; padding-bottom: .4rem; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-top: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { display: block; max-width: 100%; }
.track { fill: var(--line); }
.level { fill: var(--bar); }
.low .level { fill: var(--bad); }
.mark { fill: var(--text); }
.curve { fill: none; stroke: var(--bar); stroke-width: 1.5; }
footer { color: var(--soft); font-size: .9rem; margin-top: 1rem; }
`;

const styleDigest = createHash('sha256').update(pageStyle).digest('base64');

/** Sent with every answer: nothing is loaded, run, framed, kept or told to others. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleDigest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};
