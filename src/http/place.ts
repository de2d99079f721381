import { html, raw } from 'hono/html';
import { cut, type Html } from './page-frame.ts';

/** Which installation a page belongs to, in words; shown on every page. */
export type Place = { wallet: string; service: string; database: string; version: string };

/**
 * Which pages a page is among. `wallet` is null for the pages of the whole ledger, and where there is only one wallet.
 * `wallets` are those with pages of their own; empty where there is only one.
 */
export type Site = { place: Place; wallet: string | null; wallets: readonly string[] };

/** Path below which the pages of each wallet are, where there are several. */
export const walletsPath = '/wallets';

/** Returns the path below which a wallet's pages are; '' for those of the whole ledger. */
export function basePathOf(wallet: string | null): string {
  return wallet === null ? '' : `${walletsPath}/${wallet}`;
}

/** Returns the path to the ledger's own pages. `root` leads to the status page of the site. */
export function topOf({ wallet }: Site, root: string): string {
  return wallet === null ? root : `${root}../../`;
}

/** Says which installation it is, and leads to the pages of each wallet. `root` leads to the site's status page. */
export function siteWords(site: Site, root: string): Html {
  return html`${placeWords(site.place)}${walletLinks(site, root)}`;
}

function placeWords({ wallet, service, database, version }: Place): Html {
  return html`<dl class="place"><div><dt>Wallet</dt><dd><bdi>${cut(wallet)}</bdi></dd></div>
<div><dt>Service</dt><dd><bdi>${cut(service)}</bdi></dd></div>
<div><dt>Database</dt><dd><bdi>${cut(database)}</bdi></dd></div>
<div><dt>wallet-ledger</dt><dd>${version}</dd></div></dl>`;
}

function walletLinks(site: Site, root: string): Html | string {
  const { wallet, wallets } = site;
  if (wallets.length === 0) return '';
  const top = topOf(site, root);
  const current = (isCurrent: boolean) => (isCurrent ? raw(' aria-current="page"') : '');
  const links = wallets.map(
    (name) => html` <a href="${top}wallets/${name}/"${current(name === wallet)}>${name}</a>`,
  );
  return html`<nav class="wallets" aria-label="Wallets"><a href="${top === '' ? './' : top}"${current(wallet === null)}>All wallets</a>${links}</nav>`;
}
