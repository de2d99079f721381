import { html } from 'hono/html';
import { cut, type Html } from './page-frame.ts';

/** Which installation a page belongs to, in words; shown on every page. */
export type Place = { wallet: string; service: string; database: string; version: string };

export function placeWords({ wallet, service, database, version }: Place): Html {
  return html`<dl class="place"><div><dt>Wallet</dt><dd><bdi>${cut(wallet)}</bdi></dd></div>
<div><dt>Service</dt><dd><bdi>${cut(service)}</bdi></dd></div>
<div><dt>Database</dt><dd><bdi>${cut(database)}</bdi></dd></div>
<div><dt>wallet-ledger</dt><dd>${version}</dd></div></dl>`;
}
