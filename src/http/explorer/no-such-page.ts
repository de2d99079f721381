import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Site } from '../page/place.ts';
import { renderExplorer } from './explorer-frame.ts';

/** Answers a path without a page: a browser with the navigation, any other client with a line. */
export function noSuchPage(c: Context, site: Site): Response | Promise<Response> {
  if (!c.req.header('Accept')?.includes('text/html')) return c.text('not found\n', 404);
  const root = '../'.repeat(c.req.path.split('/').length - 2);
  const content = html`<section aria-label="Result"><p>There is no page at this address.</p></section>`;
  const page = { title: 'No such page', current: null, content };
  return c.html(renderExplorer(page, { site, root }), 404);
}
