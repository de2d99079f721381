import { html } from 'hono/html';
import type { Html } from '../page/page-frame.ts';
import { basePathOf, pagesOfWallet, type Site } from '../page/place.ts';
import { filterQuery } from './query-params.ts';

/**
 * Says that the wallet of the site has no such record, and links to the same page of each other wallet. `sender`: an
 * address that older transactions may come from.
 */
export function nothingFound(
  site: Site,
  root: string,
  { pathname, sought, sender }: { pathname: string; sought: string; sender?: string | undefined },
): Html {
  const place = site.wallet === null ? 'The ledger' : html`The wallet ${site.wallet}`;
  const path = pathname.slice(basePathOf(site.wallet).length + 1);
  const others = site.wallets
    .filter((name) => name !== site.wallet)
    .map((name) => {
      const pages = pagesOfWallet(site, root, name);
      if (sought === '') return html` <a href="${pages}${path}">${name}</a>`;
      return html` <form method="post" action="${pages}transactions"><input type="hidden" name="q" value="${sought}"><button>${name}</button></form>`;
    });
  const all =
    sender === undefined
      ? ''
      : html` (<a href="${root}transactions${filterQuery({ sender })}">search older ones</a>)`;
  return html`<section aria-label="Result"><p>${place} knows no order, request, hash, address or reference like this.</p>
${others.length === 0 ? '' : html`<nav aria-label="Other wallets"><span>The same in another wallet:</span>${others}</nav>`}
<p class="soft">A hash is found as the service gave it or in lower case, a sender among the latest transactions${all}. <code>wallet-ledger show</code> also finds other spellings and all senders; it reads the whole history. The status page says how complete the ledger is.</p></section>`;
}
