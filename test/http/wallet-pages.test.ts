import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { WalletContent } from '../../src/http/add-sites.ts';
import type { HttpOptions } from '../../src/http/start-http.ts';
import { readBriefly } from '../../src/ledger/connection/read-briefly.ts';
import type { StatusReport } from '../../src/status/status-report.ts';
import {
  sampleFlows,
  samplePool,
  sampleProblem,
  sampleReport,
  sampleStream,
} from '../support/sample-report.ts';
import { type HttpHarness, openHttp } from '../support/with-http.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger();

const counts = (total: number) => ({
  transactions: { total, incomplete: 4, final: total, detailsToFetch: 0, detailsRefused: 0 },
  rejects: 0,
  unexpectedDeposits: { foreign: 0, unknown: 0 },
});

/** A report of two wallets that are read, and of one that rests. */
function reportOfTwo(changes: Partial<StatusReport> = {}): StatusReport {
  return sampleReport({
    wallets: [
      { name: 'eu', isResting: false, counts: counts(1_111) },
      { name: 'old', isResting: true, counts: null },
      { name: 'us', isResting: false, counts: counts(2_222) },
    ],
    streams: [
      sampleStream({ wallet: 'eu', ledgerCount: 1_111, serviceTotal: 1_111 }),
      sampleStream({ wallet: 'us', ledgerCount: 2_222, isComplete: false, lagSeconds: 300 }),
    ],
    pools: [samplePool({ wallet: 'eu' }), samplePool({ wallet: 'us', slip44: 195, available: 1 })],
    balances: [],
    lastRuns: ['eu', 'us'].flatMap((wallet) =>
      sampleReport().lastRuns.map((run) => ({ ...run, wallet, job: `job-of-${wallet}` })),
    ),
    lastErrors: [{ wallet: 'us', job: 'details', at: '2026-03-01T11:00:00Z', message: 'HTTP 500' }],
    ...changes,
  });
}

function contentOf(name: string): WalletContent {
  return {
    name,
    place: {
      environment: null,
      wallet: name,
      service: `${name}.example`,
      database: 'db/ledger',
      version: '1.2.3',
      daemon: 'host-a, process 17',
    },
    readFlows: async () => sampleFlows(),
    read: (work) => readBriefly(ledger.forWallet(name), work),
  };
}

const wallets = ['eu', 'us'].map(contentOf);

async function open(options: Partial<HttpOptions> = {}): Promise<HttpHarness> {
  const http = await openHttp({ wallets, readStatus: async () => reportOfTwo(), ...options });
  onTestFinished(() => http.close());
  return http;
}

async function get(url: string, init: RequestInit = {}) {
  const answer = await fetch(url, { redirect: 'manual', ...init });
  const { status, headers } = answer;
  return { status, headers, text: await answer.text(), location: headers.get('location') };
}

/** The first line of the answer to a request line that fetch would have changed. */
async function rawGet(url: string, target: string, headers = ''): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`);
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  await once(socket, 'close');
  return Buffer.concat(pieces).toString();
}

/** Links of a page that lead to this server, resolved. */
function linksOf(url: string, path: string, text: string): string[] {
  return [...text.matchAll(/ href="([^"]*)"/g)]
    .map(([, href = '']) => href.replaceAll('&amp;', '&'))
    .filter((href) => !/^(#|data:)/.test(href))
    .map((href) => new URL(href, `${url}${path}`).href.slice(url.length));
}

test('the root shows the whole ledger: a line for each wallet, those that rest too', async () => {
  const { url } = await open({
    readStatus: async () => reportOfTwo({ problems: [sampleProblem({ what: 'it is <late>' })] }),
  });
  const { status, text } = await get(`${url}/`);
  expect(status).toBe(200);
  expect(text).toContain('it is &lt;late&gt;');
  // A search is for one wallet.
  expect(text).not.toContain('role="search"');
  expect((await get(`${url}/wallets/eu/`)).text).toContain('role="search"');
  const rows = [...text.matchAll(/<tr class="(\w*)"><th scope="row">(.*?)<\/tr>/gs)].map(
    ([, kind, row = '']) => [
      kind,
      row
        .replace(/<[^>]*>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim(),
    ],
  );
  expect(rows).toEqual([
    ['', 'eu eu.example 1,111 4 ✓ proven complete 3 s ago 1 filled'],
    ['resting', 'old (resting) – – – – – –'],
    ['', 'us us.example 2,222 4 ✗ 1 of 1 lists not proven 5 min ago low: chain 195'],
  ]);
  expect(text).toContain('us: <bdi>details</bdi>');
  const links = linksOf(url, '/', text);
  expect(links).toEqual(expect.arrayContaining(['/wallets/eu/', '/wallets/us/', '/queues']));
  expect(links).not.toContain('/wallets/old/');
});

test("a wallet's status page shows that wallet only, and says which it is", async () => {
  const { url } = await open();
  const { status, text } = await get(`${url}/wallets/us/`);
  expect(status).toBe(200);
  expect(text).toContain('<title>wallet-ledger us: all is well</title>');
  expect(text).toContain('<dt>Wallet</dt><dd><bdi>us</bdi></dd>');
  expect(text).toContain('us.example');
  expect(text).toContain('ledger holds 2,222');
  expect(text).not.toContain('1,111');
  expect(text).toContain('job-of-us');
  expect(text).not.toContain('job-of-eu');
  expect(text).toContain('<a href="../../wallets/us/" aria-current="page">us</a>');
  const links = linksOf(url, '/wallets/us/', text);
  const own = ['transactions', 'coins', 'rejects', 'runs', 'problems'];
  expect(links).toEqual(
    expect.arrayContaining([
      ...own.map((page) => `/wallets/us/${page}`),
      ...['/', '/wallets/eu/', '/queues', '/metrics'],
    ]),
  );
  const script = / src="([^"]*)"/.exec(text)?.[1] ?? '';
  expect((await get(new URL(script, `${url}/wallets/us/`).href)).status).toBe(200);
});

test('each wallet looks things up in its own rows', async () => {
  for (const [name, amount] of [
    ['eu', 11],
    ['us', 22],
  ]) {
    await query(`
      insert into ledger.transactions (wallet, order_no, stream, type, symbol, amount, state, is_final, is_success, occurred_at)
      select '${name}', order_no, 'deposit', 'deposit', 'BTC', ${amount}, 'success', true, true, now()
        from unnest(array['order-1', '${name}-2']) as order_no`);
  }
  const { url } = await open();
  for (const [name, other, amount] of [
    ['eu', 'us', '11'],
    ['us', 'eu', '22'],
  ]) {
    const base = `/wallets/${name}`;
    const list = await get(`${url}${base}/transactions`);
    expect(list.text).toContain(`${name}-2`);
    expect(list.text).not.toContain(`${other}-2`);
    expect(list.text).toContain(`<title>Transactions · ${name} · wallet-ledger</title>`);
    expect(list.headers.get('Content-Security-Policy')).toContain("form-action 'self'");
    expect(linksOf(url, `${base}/transactions`, list.text)).toEqual(
      expect.arrayContaining([`${base}/`, `${base}/runs`, `${base}/transactions/${name}-2`]),
    );
    const order = await get(`${url}${base}/transactions/order-1`);
    expect(order.text).toContain(`title="${amount}"`);
    expect(linksOf(url, `${base}/transactions/order-1`, order.text)).toEqual(
      expect.arrayContaining(['/', '/wallets/eu/', '/wallets/us/', `${base}/coins`]),
    );
    expect((await get(`${url}${base}/transactions/${other}-2`)).status).toBe(404);
    const found = await get(`${url}${base}/transactions`, {
      method: 'POST',
      body: new URLSearchParams({ q: `${name}-2` }),
    });
    expect([found.status, found.location]).toEqual([303, `transactions/${name}-2`]);
    for (const page of ['coins', 'rejects', 'runs', 'problems'])
      expect([page, (await get(`${url}${base}/${page}`)).status]).toEqual([page, 200]);
  }
});

test.each([
  ['/transactions', 'wallets/eu/transactions'],
  ['/transactions?coin=BTC&q=%2F', 'wallets/eu/transactions?coin=BTC&q=%2F'],
  ['/transactions/a%2Fb', '../wallets/eu/transactions/a%2Fb'],
  ['/coins/%3DODD?days=7', '../wallets/eu/coins/%3DODD?days=7'],
  ['/transactions//evil.example', '../../wallets/eu/transactions//evil.example'],
  ['/problems', 'wallets/eu/problems'],
  ['/wallets/us', 'us/'],
  ['/wallets/', '../'],
  ['/wallets', './'],
  ['/queues/', '../queues'],
])('%s leads on to %s', async (path, way) => {
  const { url } = await open();
  const { status, location } = await get(`${url}${path}`);
  expect([status, location]).toEqual([307, way]);
  expect(new URL(way, `${url}${path}`).origin).toBe(url);
});

test('what only another wallet has is found from the root, and the others are named where it is not', async () => {
  await query(`
    insert into ledger.transactions (wallet, order_no, stream, type, symbol, amount, state, is_final, is_success, occurred_at, to_address)
    select 'us', 'us only/1', 'deposit', 'deposit', 'USO', 5, 'success', true, true, now(), 'address-of-us'`);
  const { url } = await open();
  for (const [path, way] of [
    ['/transactions/us%20only%2F1', '../wallets/us/transactions/us%20only%2F1'],
    ['/addresses/address-of-us', '../wallets/us/addresses/address-of-us'],
    ['/coins/USO?days=7', '../wallets/us/coins/USO?days=7'],
    ['/coins/USO?days=x', '../wallets/eu/coins/USO?days=x'],
  ] as const)
    expect([path, (await get(`${url}${path}`)).location]).toEqual([path, way]);
  const missed = await get(`${url}/wallets/eu/transactions/us%20only%2F1`);
  expect(missed.status).toBe(404);
  expect(missed.text).toContain('The wallet eu knows no order');
  const links = linksOf(url, '/wallets/eu/transactions/us%20only%2F1', missed.text);
  expect(links).toContain('/wallets/us/transactions/us%20only%2F1');
  const body = new URLSearchParams({ q: '"us only/1' });
  const search = await get(`${url}/wallets/eu/transactions`, { method: 'POST', body });
  expect(search.status).toBe(404);
  expect(search.text).toContain(
    '<form method="post" action="../../wallets/us/transactions"><input type="hidden" name="q" value="&quot;us only/1">',
  );
});

test('a search at the root is taken to the first wallet with its body', async () => {
  const { url } = await open();
  const init = { method: 'POST', body: new URLSearchParams({ q: 'x' }) };
  const { status, location } = await get(`${url}/transactions`, init);
  expect([status, location]).toEqual([307, 'wallets/eu/transactions']);
});

test('a wallet that is not there has no page, nor has a page that is not there', async () => {
  const { url } = await open();
  for (const path of ['/wallets/xx/', '/wallets/xx/transactions', '/wallets/old/']) {
    const { status, text } = await get(`${url}${path}`);
    expect([path, status, text]).toEqual([
      path,
      404,
      'there is no page of such a wallet; there are: eu, us\n',
    ]);
  }
  const shown = await fetch(`${url}/wallets/xx/runs`, { headers: { Accept: 'text/html' } });
  const page = await shown.text();
  expect(shown.status).toBe(404);
  expect(page).toContain('There is no wallet of this name.');
  expect(page).toContain('href="../../wallets/us/"');
  for (const path of ['/wallets/eu/queues', '/wallets/eu/metrics', '/wallets/eu/healthz', '/x'])
    expect([path, (await get(`${url}${path}`)).status]).toEqual([path, 404]);
  expect((await get(`${url}/wallets/eu/runs`, { method: 'POST' })).status).toBe(405);
});

const hidden = [
  '/wallets',
  '/wallets/',
  '/wallets/eu',
  '/wallets/eu/',
  '/wallets/eu/events',
  '/wallets/eu/status.js',
  '/wallets/eu/transactions',
  '/wallets/eu/transactions/order-1',
  '/wallets/eu/problems',
  '/wallets/xx/',
  '/wallets/eu/healthz',
  '/wallets/eu/../us/',
  '/wallets/%2e%2e/status.json',
  '/wallets/../wallets/eu/runs',
  '/healthz/../wallets/eu/',
  '/healthz/%2e%2e/wallets/eu/',
  '/healthz%2f..%2fwallets/eu/',
  '//wallets/eu/',
  '/WALLETS/eu/',
  '/transactions',
];

test('[S7] with a token, nothing below /wallets/ is told without it', async () => {
  const { url } = await open({ token: 'a:secret' });
  for (const path of hidden) {
    const answer = await rawGet(url, path);
    expect([path, /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]]).toEqual([path, '401']);
    expect(answer).not.toMatch(/1,111|2,222|eu\.example/);
  }
  const headers = { Authorization: 'Bearer a:secret' };
  expect((await get(`${url}/wallets/eu/`, { headers })).status).toBe(200);
});

test('[S7] without a token, another host name and other sites are refused below /wallets/ too', async () => {
  const { url } = await open();
  for (const path of ['/wallets/eu/', '/wallets/us/transactions', '/wallets/us/events']) {
    const foreign = await rawGet(url, `http://attacker.example${path}`);
    expect(foreign).toMatch(/^HTTP\/1\.1 403 /);
    const cross = await rawGet(url, path, 'Sec-Fetch-Site: cross-site\r\n');
    expect(cross).toMatch(/^HTTP\/1\.1 403 /);
    const proxied = await rawGet(url, path, 'X-Forwarded-For: 1.2.3.4\r\n');
    expect(proxied).toMatch(/^HTTP\/1\.1 403 /);
  }
});

test.each([
  '/wallets/%2e%2e/healthz',
  '/wallets/eu/%2e%2e/%2e%2e/readyz',
  '/wallets/eu/..%2f..%2fstatus.json',
  '/wallets/..%2fmetrics',
  '/wallets/eu/%2e%2e%2fus/',
  '/wallets/eu%2ftransactions',
  '/wallets/eu/transactions/..%2f..%2fus',
])('%s reaches nothing but what its plain form does', async (path) => {
  const { url } = await open();
  const plain = new URL(path, url).pathname;
  const answer = await rawGet(url, path);
  const direct = await get(`${url}${plain}`);
  expect(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]).toBe(String(direct.status));
  if (path.includes('%2f')) expect(direct.status).toBe(404);
});

test("each page's updates are its own", async () => {
  const { url } = await open();
  const first = async (path: string) => {
    const ending = new AbortController();
    const answer = await fetch(`${url}${path}`, { signal: ending.signal });
    const reader = answer.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    ending.abort();
    return new TextDecoder().decode(value);
  };
  expect(await first('/events')).toContain('wallets/us/');
  const us = await first('/wallets/us/events');
  expect(us).toContain('2,222');
  expect(us).not.toContain('1,111');
  expect(await first('/wallets/eu/events')).toContain('1,111');
});

test('with one wallet the pages are where they were, and nothing is below /wallets/', async () => {
  const http = await openHttp();
  onTestFinished(() => http.close());
  const { text } = await get(`${http.url}/`);
  expect(text).toContain('service says 5,012');
  expect(text).not.toContain('aria-label="Wallets"');
  expect((await get(`${http.url}/problems`)).status).toBe(200);
  for (const path of ['/wallets', '/wallets/main/', '/wallets/main/transactions'])
    expect((await get(`${http.url}${path}`)).status).toBe(404);
});

test('an order that moved between two wallets leads to its other side, both ways, where that wallet has pages', async () => {
  const hash = (no: number) => `between-${no}-5d41402abc4b2a76b9719d911017c592`;
  await query(`
    insert into ledger.transactions (wallet, order_no, stream, type, symbol, amount, tx_hash, state, is_final, is_success, occurred_at) values
    ('eu', 'sent 1', 'withdraw', 'withdraw', 'BTC', 3, '${hash(1)}', 'success', true, true, now()),
    ('us', 'came/1', 'deposit', 'deposit', 'BTC', 2.5, '${hash(1)}', 'pending', false, false, now()),
    ('eu', 'sent 2', 'withdraw', 'withdraw', 'BTC', 3, '${hash(2)}', 'success', true, true, now()),
    ('elsewhere', 'came 2', 'deposit', 'deposit', 'BTC', 3, '${hash(2)}', 'success', true, true, now())`);
  const { url } = await open();
  const sent = '/wallets/eu/transactions/sent%201';
  const came = '/wallets/us/transactions/came%2F1';
  const out = (await get(`${url}${sent}`)).text;
  expect(linksOf(url, sent, out)).toContain(came);
  expect(out).toMatch(/<\/a><\/span> of wallet <bdi>us<\/bdi>, <data[^>]*>2.5<\/data>/);
  const into = (await get(`${url}${came}`)).text;
  expect(linksOf(url, came, into)).toContain(sent);
  // Order numbers of another wallet that has no pages here are not shown.
  const hidden = (await get(`${url}/wallets/eu/transactions/sent%202`)).text;
  expect(hidden).toContain(hash(2));
  expect(hidden).not.toMatch(/came 2|Other side|elsewhere/);
});
