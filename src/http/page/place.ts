import { html, raw } from 'hono/html';
import { cut, type Html } from './page-frame.ts';

/**
 * Installation that a page belongs to, in words that every page shows. `environment` is null if it has no name;
 * `daemon` is the process that serves the page.
 */
export type Place = {
  environment: string | null;
  wallet: string;
  service: string;
  database: string;
  version: string;
  daemon: string;
};

/**
 * Position of a page among the pages of the ledger and of its wallets. `wallet`: null for the pages of the whole
 * ledger, and if there is only one wallet. `wallets`: those with pages of their own; empty if there is only one wallet.
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

/** Returns the path to the pages of one of several wallets. `root` leads to the status page of the site. */
export function pagesOfWallet(site: Site, root: string, wallet: string): string {
  return `${topOf(site, root)}wallets/${wallet}/`;
}

/** Names the installation, and links to the pages of each wallet. `root` leads to the site's status page. */
export function siteWords(site: Site, root: string): Html {
  return html`${placeWords(site.place)}${walletLinks(site, root)}`;
}

function placeWords({ environment, wallet, service, database, version, daemon }: Place): Html {
  return html`<dl class="place">${environment === null ? '' : environmentWords(environment)}<div><dt>Wallet</dt><dd><bdi>${cut(wallet)}</bdi></dd></div>
<div><dt>Service</dt><dd><bdi>${cut(service)}</bdi></dd></div>
<div><dt>Database</dt><dd><bdi>${cut(database)}</bdi></dd></div>
<div><dt>wallet-ledger</dt><dd>${version}</dd></div>
<div><dt>Daemon</dt><dd><bdi>${cut(daemon)}</bdi></dd></div></dl>`;
}

/** Marks production, so that it looks different; the style sheet gives the page an edge. */
function environmentWords(environment: string): Html {
  const kind = /^(prod|production|live)$/i.test(environment) ? 'live' : 'trial';
  return html`<div class="environment ${kind}"><dt>Environment</dt><dd><bdi>${environment}</bdi></dd></div>`;
}

function walletLinks(site: Site, root: string): Html | string {
  const { wallet, wallets } = site;
  if (wallets.length === 0) return '';
  const top = topOf(site, root);
  const current = (isCurrent: boolean) => (isCurrent ? raw(' aria-current="page"') : '');
  const links = wallets.map(
    (name) =>
      html` <a href="${pagesOfWallet(site, root, name)}"${current(name === wallet)}>${name}</a>`,
  );
  return html`<nav class="wallets" aria-label="Wallets"><a href="${top === '' ? './' : top}"${current(wallet === null)}>All wallets</a>${links}</nav>`;
}
