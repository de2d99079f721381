import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Site } from '../page/place.ts';
import { renderExplorer } from './explorer-frame.ts';

const usual = { line: 'not found', words: 'There is no page at this address.' };

/** Answers a path without a page: a browser with the navigation and `words`, any other client with `line`. */
export function noSuchPage(
  c: Context,
  site: Site,
  { line, words } = usual,
): Response | Promise<Response> {
  if (!c.req.header('Accept')?.includes('text/html')) return c.text(`${line}\n`, 404);
  const root = '../'.repeat(c.req.path.split('/').length - 2);
  const content = html`<section aria-label="Result"><p>${words}</p></section>`;
  const page = { title: 'No such page', current: null, content };
  return c.html(renderExplorer(page, { site, root }), 404);
}
