import { html } from 'hono/html';
import type { Html } from './page-frame.ts';

/** The search box. It posts, so that the text searched for is in no address; `root` leads to the site's status page. */
export function searchForm(root: string, sought = ''): Html {
  return html`<section aria-label="Search"><form method="post" action="${root}transactions" role="search">
<label class="search">Order, request, hash, address or customer's reference
<input name="q" value="${sought}" maxlength="1024" autocomplete="off" spellcheck="false" required></label>
<button>Search</button></form></section>`;
}
