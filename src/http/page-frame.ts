import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';
import { pageStyle } from './page-style.ts';

/** What the html helper returns; a promise only where a value was one. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

const foreignMax = 300;

/** Text from outside: escaped by the helper, kept from turning the text around it, 300 characters at most. */
export function foreign(text: string): Html {
  const shown = text.length > foreignMax ? `${text.slice(0, foreignMax - 1)}…` : text;
  return html`<bdi>${shown}</bdi>`;
}

/** A whole document around the main part; the browser loads it again every 5 s. */
export function renderPage(page: { title: string; header: Html; main: Html }): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="5">
<title>${page.title}</title>
<style>${raw(pageStyle)}</style>
</head>
<body>
<header>
<h1>wallet-ledger</h1>
${page.header}
</header>
<main>
${page.main}
</main>
<footer>This page renews itself every 5 seconds.</footer>
</body>
</html>
`;
}

/** The page while the status cannot be read. */
export function renderFailure(failure: { message: string; cure: string }): Html {
  return renderPage({
    title: 'wallet-ledger: no status',
    header: html`<p class="bad">✗ The status cannot be read</p>`,
    main: html`<section aria-labelledby="failure">
<h2 id="failure">What is wrong</h2>
<p>${foreign(failure.message)}</p>
<p class="soft">What to do: ${foreign(failure.cure)}</p>
</section>`,
  });
}
