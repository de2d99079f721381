import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import { pageStyle } from './page-style.ts';

/** Result of the html helper; a promise only if one of its values was a promise. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Pages to look things up, which the navigation of every page leads to, by their paths. */
export const pageNames = {
  transactions: 'Transactions',
  coins: 'Coins',
  pools: 'Pools',
  proof: 'Proof',
  rejects: 'Rejects',
  runs: 'Runs',
  problems: 'Problems',
} as const;

/** Parts of the page that are updated separately, in the order of the page. */
const partNames = [
  'verdict',
  'problems',
  'wallets',
  'streams',
  'calendar',
  'facts',
  'flows',
  'balances',
  'pools',
  'feed',
  'runs',
  'errors',
] as const;

export type PartName = (typeof partNames)[number];

/** Title and HTML parts of a page. A missing part leaves its place empty. */
export type Page = { title: string; parts: Partial<Record<PartName, string>> };

const foreignMax = 300;

/**
 * Escapes and isolates text from outside, so that its direction does not affect the text around it. At most 300
 * characters.
 */
export function foreign(text: string): Html {
  return html`<bdi>${cut(text)}</bdi>`;
}

/** Cuts text from outside to 300 characters, for attributes and other places where no element can be. */
export function cut(text: string): string {
  return text.length > foreignMax ? `${text.slice(0, foreignMax - 1)}…` : text;
}

/** Shows a text of the program whole, with the parts between backticks as code. */
export function withCode(text: string): Html {
  const pieces = text.split('`');
  // A text with an unpaired backtick is shown as it is.
  if (pieces.length % 2 === 0) return html`<bdi>${text}</bdi>`;
  return html`<bdi>${pieces.map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : piece))}</bdi>`;
}

export function section(id: string, title: Html | string, content: Html): Html {
  return html`<section aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${content}
</section>`;
}

/** Wraps a table so that it scrolls on narrow screens, also by keyboard. */
export function scrollingTable(label: string, table: Html): Html {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="${label}">${table}</div>`;
}

/** 2026-01-02T03:04:05Z → `2026-01-02 03:04:05 UTC`. */
export function dateWords(iso: string): string {
  return `${iso.slice(0, 19).replace('T', ' ')} UTC`;
}

/**
 * Renders the whole document. `site` names the installation, `top` leads to the ledger's own pages, and `search` is the
 * search box of a wallet.
 * Without script the browser reloads it every 5 s; with script the parts are updated in place.
 */
export function renderDocument(
  { title, parts }: Page,
  site: Html | string,
  { top = '', search = '' }: { top?: string; search?: Html | string } = {},
): Html {
  const [verdict, ...rest] = partNames.map((name) =>
    raw(`<div data-part="${name}">${parts[name] ?? ''}</div>`),
  );
  const links = Object.entries(pageNames).map(
    ([path, name]) => html` <a href="${path}">${name}</a>`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<noscript><meta http-equiv="refresh" content="5"></noscript>
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${raw(pageStyle)}</style>
<script src="status.js" defer></script>
</head>
<body>
<a class="skip" href="#main">To the status</a>
<header>
<p class="cut-off" role="alert" data-cut-off></p>
<div class="bar">
<h1>wallet-ledger</h1>
<nav aria-label="Pages">${links} <a href="${top}queues">Queues</a> <a href="${top}metrics">Metrics</a></nav>
</div>
${site}
${verdict}
${search}
</header>
<main id="main" tabindex="-1">
${rest}
</main>
<footer><p data-link>This page renews itself every 5 seconds.</p></footer>
</body>
</html>
`;
}
