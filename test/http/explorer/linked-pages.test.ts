import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { WalletContent } from '../../../src/http/add-sites.ts';
import { readBriefly } from '../../../src/ledger/connection/read-briefly.ts';
import { readFlows } from '../../../src/ledger/reports/read-flows.ts';
import { type HttpHarness, openHttp } from '../../support/with-http.ts';
import { withLedger } from '../../support/with-ledger.ts';

const { ledger, query } = await withLedger();

/** Texts that are awkward in the path of a page. */
const awkward = [
  'A B%',
  'A/B',
  'E/T H%',
  '%2F',
  'a%2Fb%25',
  'x/../y',
  '?q#h&amp;',
  '+1 +',
  ' padded ',
  'bitcoincash:',
  '0x',
  'Ünï/çødé 💰',
  `long ${'x'.repeat(1_500)}`,
];

const wallets = ['eu', 'us'];

beforeAll(async () => {
  for (const wallet of wallets) {
    const names = awkward.map((name) => `${name}${wallet}`.replaceAll("'", "''"));
    const rows = [...names, ...awkward].map(
      (name, no) =>
        `('${wallet}', '${name} ${no}', 'deposit', 'deposit', '${name}', 1, 'success', true, true, '${name}', now(), true)`,
    );
    await query(`
      insert into ledger.transactions
        (wallet, order_no, stream, type, symbol, amount, state, is_final, is_success, to_address, occurred_at, is_listed)
      values ${rows.join(',')},
        ('${wallet}', 'gone 1', 'withdraw', 'withdraw', 'GONE ${wallet}', 1, 'success', true, true, 'g', now(), false),
        ('${wallet}', 'gone 2', 'withdraw', 'withdraw', 'UNDATED ${wallet}', 1, 'success', true, true, 'g', null, false);
      insert into ledger.final_states (wallet, state, is_success) values ('${wallet}', 'success', true);
      insert into ledger.addresses (wallet, slip44, address, status, assigned_to, assigned_no, assigned_at, first_seen_at)
      values ('${wallet}', 60, 'a/b% ${wallet}', 'assigned', 'customer', 1, now(), now()),
             ('${wallet}', 0, 'a/c% ${wallet}', 'assigned', 'customer', 1, now(), now());
      insert into ledger.rejects (wallet, source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at, resolved_at)
      values ('${wallet}', 'transaction-list', 'lost/1', 'amount', 'no number', '{}', 'f', now(), now(), null),
             ('${wallet}', 'transaction-list', 'lost/2', 'amount', 'no number', '{}', 'g', now(), now(), now())`);
  }
});

function contentOf(name: string): WalletContent {
  const own = ledger.forWallet(name);
  const place = {
    environment: null,
    wallet: name,
    service: `${name}.example`,
    database: 'db/ledger',
    version: '1.2.3',
    daemon: 'host-a, process 17',
  };
  return {
    name,
    place,
    readFlows: () => readFlows(own.db),
    read: (work) => readBriefly(own, work),
  };
}

async function open(names: string[]): Promise<HttpHarness> {
  const http = await openHttp({ wallets: names.map(contentOf) });
  onTestFinished(() => http.close());
  return http;
}

/** Links of a page that lead to this server, resolved as a browser does. */
function linksOf(url: string, path: string, text: string): string[] {
  return [...text.matchAll(/ href="([^"]*)"/g)]
    .map(([, href = '']) =>
      href
        .replaceAll('&lt;', '<')
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'")
        .replaceAll('&amp;', '&'),
    )
    .filter((href) => !/^(#|data:)/.test(href))
    .map((href) => new URL(href, `${url}${path}`).href.slice(url.length));
}

/** Follows every link from these paths on. Returns the pages that were not answered with 200. */
async function crawl({ url }: HttpHarness, paths: string[]) {
  const seen = new Set<string>();
  const broken: [string, number][] = [];
  const todo = [...paths];
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    if (seen.has(path) || /^\/(queues|metrics|events)/.test(path)) continue;
    seen.add(path);
    const answer = await fetch(`${url}${path}`);
    const text = await answer.text();
    if (answer.status !== 200) broken.push([path, answer.status]);
    else todo.push(...linksOf(url, new URL(answer.url).pathname, text));
  }
  return { seen, broken };
}

test('every coin, order and address that a page names has a page, in every wallet', async () => {
  const http = await open(wallets);
  const { seen, broken } = await crawl(http, [
    '/',
    '/coins/E%2FT%20H%25',
    '/rejects?show=all',
    '/wallets/us/rejects?show=all',
  ]);
  expect(broken).toEqual([]);
  for (const wallet of wallets)
    for (const symbol of ['A B%', 'A/B', 'E/T H%', `GONE ${wallet}`, `UNDATED ${wallet}`])
      expect(seen).toContain(`/wallets/${wallet}/coins/${encodeURIComponent(symbol)}`);
});

test('a coin that only transactions have is in the list, with what it was last compared to', async () => {
  await query(`insert into ledger.reconciliation_runs (wallet, symbol, observed_at, expected, reported, difference, is_explained, explanation)
    values ('eu', 'A/B', now(), 1, 0, -1, false, 'no balance')`);
  const { url } = await open(['eu']);
  const list = await (await fetch(`${url}/coins`)).text();
  const row = /<tr><th scope="row"><a href="coins\/A%2FB">.*?<\/tr>/s.exec(list)?.[0] ?? '';
  expect(row.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')).toContain(
    'A/B 0 – 1 -1 ✗ not explained no balance',
  );
  const page = await (await fetch(`${url}/coins/A%2FB`)).text();
  expect(page).toContain('only transactions do');
  expect(page).toContain('1 transactions that succeeded');
});

test('a coin that nothing names has no page', async () => {
  const { url } = await open(['eu']);
  expect((await fetch(`${url}/coins/NONE`)).status).toBe(404);
  expect((await fetch(`${url}/coins/GONE%20us`)).status).toBe(404);
});
