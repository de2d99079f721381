import { html, raw } from 'hono/html';
import { cut, type Html, pageNames } from '../page/page-frame.ts';
import { type Site, siteWords } from '../page/place.ts';
import { searchForm } from '../page/search-form.ts';
import { explorerStyle } from './explorer-style.ts';
import { timeWords } from './times.ts';

type PageName = keyof typeof pageNames;

/** A page to look things up. `current` is its entry of the navigation; null if it has none. */
export type ExplorerPage = { title: string; current: PageName | null; content: Html };

/**
 * Renders a page. `root` leads from the page's path to the status page of the site, so that the pages work below any
 * path of a proxy. `readAt` is shown on a page that several readers share.
 */
export function renderExplorer(
  { title, current, content }: ExplorerPage,
  {
    site,
    root,
    sought = '',
    readAt,
  }: { site: Site; root: string; sought?: string; readAt?: Date | undefined },
): Html {
  const links = Object.entries(pageNames).map(
    ([path, name]) =>
      html` <a href="${root}${path}"${path === current ? raw(' aria-current="page"') : ''}>${name}</a>`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${cut(title)}${site.wallet === null ? '' : ` · ${site.wallet}`} · wallet-ledger</title>
<link rel="icon" href="data:,">
<style>${raw(explorerStyle)}</style>
<script src="${root}times.js" defer></script>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<header>
<div class="bar"><p><strong>wallet-ledger</strong></p>
<nav aria-label="Pages"><a href="${root === '' ? './' : root}">Status</a>${links}</nav></div>
${siteWords(site, root)}
${searchForm(root, sought)}
</header>
<main id="main" tabindex="-1">
<h1>${cut(title)}</h1>
${content}
</main>
<footer><p>${readAt === undefined ? '' : html`Read at ${timeWords(readAt.toISOString())}. `}Times are UTC<span data-own-zone></span>. Amounts are shortened; pointing at one shows all digits.</p></footer>
</body>
</html>
`;
}

/** Link to a page about this text, such as an order; only the text if no address can hold it. */
export function linkTo(root: string, page: string, text: string, words = text): Html {
  const shown = html`<bdi>${cut(words)}</bdi>`;
  // A browser would resolve these two as folders.
  if (text === '' || text === '.' || text === '..' || text !== text.toWellFormed()) return shown;
  return html`<a href="${root}${page}/${encodeURIComponent(text)}">${shown}</a>`;
}

/** List of facts; those without a value are left out. */
export function factList(facts: [name: string, value: Html | string | null][]): Html {
  const items = facts.flatMap(([name, value]) =>
    value === null || value === '' ? [] : [html`<div><dt>${name}</dt><dd>${value}</dd></div>`],
  );
  return html`<dl class="facts">${items}</dl>`;
}
