import { afterAll, beforeAll, expect, test } from 'vitest';
import { readBriefly } from '../../../src/ledger/connection/read-briefly.ts';
import { explorerSample, explorerPages as pages } from '../../support/explorer-sample.ts';
import { recordLog } from '../../support/record-log.ts';
import { sampleProblem, sampleReport } from '../../support/sample-report.ts';
import { type HttpHarness, openHttp } from '../../support/with-http.ts';
import { withLedger } from '../../support/with-ledger.ts';

const { ledger, query } = await withLedger();
let http: HttpHarness;

beforeAll(async () => {
  await query(explorerSample);
  http = await openHttp({
    read: (work) => readBriefly(ledger, work),
    readStatus: async () =>
      sampleReport({
        problems: [
          sampleProblem({ what: 'what <is> wrong' }),
          sampleProblem({ what: 'the same of another coin' }),
        ],
      }),
  });
});
afterAll(() => http.close());

async function get(path: string): Promise<{ status: number; text: string; headers: Headers }> {
  const answer = await fetch(`${http.url}${path}`, { redirect: 'manual' });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

async function search(
  q: string,
): Promise<{ status: number; text: string; location: string | null }> {
  const body = new URLSearchParams({ q });
  const answer = await fetch(`${http.url}/transactions`, {
    method: 'POST',
    body,
    redirect: 'manual',
  });
  return {
    status: answer.status,
    text: await answer.text(),
    location: answer.headers.get('location'),
  };
}

/** Links of a page that lead to this server, resolved. */
function linksOf(path: string, text: string): string[] {
  return [...text.matchAll(/ href="([^"]*)"/g)]
    .map(([, href = '']) => href.replaceAll('&amp;', '&').replaceAll('&#39;', "'"))
    .filter((href) => !/^(#|data:)/.test(href))
    .map((href) => new URL(href, `${http.url}${path}`).href.slice(http.url.length));
}

/** Texts of the rows of a page's tables, without tags. */
function rowsOf(text: string): string[] {
  return [...text.matchAll(/<tr\b[^>]*>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    row
      .replace(/<\/t[dh]>/g, ' ')
      .replace(/<[^>]*>/g, '')
      .replace(/\s+/g, ' ')
      .trim(),
  );
}

test.each(pages)(
  '%s: a whole document with navigation and place, nothing from outside, safe headers',
  async (path) => {
    const { status, text, headers } = await get(path);
    expect(status).toBe(200);
    expect(text).toMatch(/^<!doctype html>[\s\S]*<h1>[^<]+<\/h1>[\s\S]*<\/html>\s*$/);
    for (const words of ['test', 'wallet.example', 'db:5432/ledger', '1.2.3', 'host-a, process 17'])
      expect(text).toContain(words);
    expect(linksOf(path, text)).toEqual(
      expect.arrayContaining([
        ...['/', '/transactions', '/coins', '/pools', '/proof'],
        ...['/rejects', '/runs', '/problems'],
      ]),
    );
    const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(ids).toEqual([...new Set(ids)]);
    expect(text.match(/<script\b[^>]*>/g)).toHaveLength(1);
    const script = / src="([^"]*)"/.exec(text)?.[1] ?? '';
    expect(new URL(script, `${http.url}${path}`).pathname).toBe('/times.js');
    expect(text).not.toMatch(/<script>|<b>&"|<i>|undefined|\[object|NaN/);
    expect(text.match(/<(?:td|th|tr|table|section|ul|li|dl|div|span|a|p)\b/g)?.length).toBe(
      text.match(/<\/(?:td|th|tr|table|section|ul|li|dl|div|span|a|p)>/g)?.length,
    );
    const policy = headers.get('Content-Security-Policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("form-action 'self'");
    expect(policy).toContain("script-src 'self';");
    expect(headers.get('Cache-Control')).toBe('no-store');
  },
);

test('every link of every page leads to a page', async () => {
  const seen = new Set<string>();
  const todo = ['/', ...pages];
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    if (seen.has(path) || /^\/(queues|metrics|events)/.test(path)) continue;
    seen.add(path);
    const { status, text } = await get(path);
    expect([path, status]).toEqual([path, 200]);
    todo.push(...linksOf(path, text));
  }
  expect(seen.size).toBeGreaterThan(pages.length);
});

test('the status page leads to the others, has their search box, and says which installation it is', async () => {
  const { text, headers } = await get('/');
  expect(text).toContain('<form method="post" action="transactions" role="search">');
  expect(headers.get('Content-Security-Policy')).toContain("form-action 'self'");
  expect(linksOf('/', text)).toEqual(
    expect.arrayContaining(['/transactions', '/coins', '/problems', '/queues']),
  );
  expect(text).toContain('wallet.example');
});

test('amounts are short, grouped and exact at hand', async () => {
  const { text } = await get('/coins/BTC');
  expect(text).toContain(
    '<data value="1234567.50" title="1234567.50">1,234,567<span class="decimals">.5</span></data>',
  );
  expect(text).toContain('title="0.000000000012">1<span class="decimals">.2e-11</span>');
  const list = (await get('/transactions')).text;
  expect(list).toContain('title="0.123456789">0<span class="decimals">.12345678…</span>');
  expect(list).toContain('title="12345678901234567890">1<span class="decimals">.2345e+19</span>');
});

test('an order: its facts, its address with the reference, what is not certain, its changes', async () => {
  const { text } = await get('/transactions/order%201%2Fa');
  expect(text).toContain('0.123456789');
  expect(text).toContain('customer &lt;7&gt;');
  expect(text).toContain('its detail has not been fetched yet');
  expect(text).toMatch(/<bdi>state<\/bdi>: <bdi>pending<\/bdi> → <bdi>success<\/bdi>/);
  expect(linksOf('/transactions/x', text)).toContain('/addresses/bc1-one');
});

test('an order: its postings, debits beside credits, and what is not booked yet', async () => {
  const { text } = await get('/transactions/order%201%2Fa');
  const rows = rowsOf(text).filter((row) => /^(assets|liabilities|expenses)/.test(row));
  expect(rows).toEqual([
    expect.stringMatching(/^assets:custody BTC 0\.12345678… 20/),
    expect.stringMatching(/^liabilities:customers:customer &lt;7&gt; BTC 0\.12345678… 20/),
  ]);
  expect(text).toContain('not booked: the fee is not known yet');
  const none = (await get('/transactions/order-2')).text;
  expect(none).toContain('None. Only transactions that the service lists in a success state');
});

test('the chain of a page is named beside its number', async () => {
  for (const path of ['/addresses/bc1-one', '/transactions/order%201%2Fa', '/transactions'])
    expect([path, (await get(path)).text.includes('<bdi>Bitcoin</bdi> (0)')]).toEqual([path, true]);
});

test('the pools: their levels over time, computed back from now, and the requests', async () => {
  const { text } = await get('/pools?days=7');
  // Eight came three days ago, and one was handed out just now.
  expect(text).toMatch(/aria-label="&lt;i&gt; \(60\): between 0 and 8 available addresses from/);
  const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  expect(rowsOf(text)).toEqual(
    expect.arrayContaining([
      `${day(0)} 0 1 7`,
      `${day(1)} 0 0 8`,
      `${day(3)} 8 0 8`,
      `${day(4)} 0 0 0`,
    ]),
  );
  expect(text).toContain('too &lt;many&gt;');
  expect(text).toContain('refilled below 2, up to 10');
});

test('the proof: the days of a year, those never verified lead to their rows, and each change', async () => {
  const { text } = await get('/proof?year=2025');
  expect(text).toContain('<title>2025-02-28: 12 rows, verified 2025-03-01 00:00 UTC</title>');
  const links = linksOf('/proof', text);
  expect(links).toEqual(
    expect.arrayContaining([
      '/transactions?stream=deposit&from=2025-02-27&to=2025-02-27',
      '/transactions?stream=deposit&from=2025-02-01&to=2025-02-28',
    ]),
  );
  expect(text).toContain('rows &lt;missing&gt;');
  const older = links.find((href) => href.includes('before=')) ?? '';
  expect(rowsOf((await get(older)).text).filter((row) => /[✓✗]/.test(row))).toHaveLength(10);
});

test('an order that could not be stored says why; what is not there is 404 in words', async () => {
  const lost = await get('/transactions/lost-1');
  expect([lost.status, lost.text.includes('no &lt;number&gt;')]).toEqual([200, true]);
  for (const path of ['/transactions/nothing', '/addresses/nothing', '/coins/NOTHING']) {
    const { status, text } = await get(path);
    expect([status, text.includes('The ledger knows no order')]).toEqual([404, true]);
  }
});

test('the sender of a stored transaction has a page, in any case, and the list can be filtered by it', async () => {
  const sender = '0xAbCdEf0123456789abcdef0123456789abcDEF01';
  for (const address of [sender, sender.toLowerCase()]) {
    const { status, text } = await get(`/addresses/${address}`);
    expect([status, text.includes('It is a sender of the transactions below')]).toEqual([
      200,
      true,
    ]);
    expect(rowsOf(text).join()).toContain('order 1/a');
    const link = `/transactions?sender=${address}`;
    expect(linksOf(`/addresses/${address}`, text)).toContain(link);
    expect(rowsOf((await get(link)).text)).toHaveLength(2);
    expect(await search(address)).toMatchObject({ status: 303, location: `addresses/${address}` });
  }
  expect(rowsOf((await get('/transactions?sender=nobody')).text)).toEqual([]);
  const { text } = await get('/addresses/nobody');
  expect(linksOf('/addresses/nobody', text)).toContain('/transactions?sender=nobody');
});

test('a coin: whether it adds up, with the explanation, and the course of its balance', async () => {
  const { text } = await get('/coins/BTC?days=all');
  expect(text).toContain('✗ not explained');
  expect(text).toContain('nothing is &lt;open&gt;');
  expect(text).toMatch(
    /<svg role="img" aria-label="BTC on Bitcoin \(0\): between 1 and 1,234,567.5 from/,
  );
  // The axis is one of time: 39 of 40 days at the lower balance take 39 of 40 parts of the width.
  const [, path = ''] = /<path d="([^"]+)"/.exec(text) ?? [];
  const rise = [...path.matchAll(/L([\d.]+),2(?:$|L)/g)].map(([, x]) => Number(x))[0];
  expect(rise).toBeGreaterThan(960);
  expect(rise).toBeLessThan(990);
});

test('a coin on one chain shows what is expected and the difference, above and beside its balance', async () => {
  const { text } = await get('/coins/BTC');
  const [above = '', beside = ''] = rowsOf(text).filter((row) => row.startsWith('1,234,567.5'));
  expect(above).toMatch(/^1,234,567\.5 1,234,567 0\.5( |$)/);
  expect(beside).toMatch(/^1,234,567\.5 \S+ 1,234,567 0\.5 /);
});

test.each([
  ['/transactions?stream=deposit', ['order 1/a']],
  ['/transactions?state=SUCCESS', ['order 1/a', 'order-3']],
  ['/transactions?coin=%3DODD', ['order-2']],
  ['/transactions?chain=0', ['order 1/a', 'order-3']],
  ['/transactions?min=0.1&max=1', ['order 1/a']],
  ['/transactions?max=-1', ['order-2']],
  ['/transactions?open=yes', ['order-2']],
  ['/transactions?address=BC1-ONE', ['order 1/a']],
  ['/transactions?to=2000-01-01', []],
])('filters: %s', async (path, orderNos) => {
  const { text } = await get(path);
  for (const orderNo of ['order 1/a', 'order-2', 'order-3'])
    expect([orderNo, text.includes(`<bdi>${orderNo}</bdi>`)]).toEqual([
      orderNo,
      orderNos.includes(orderNo),
    ]);
});

test('the filter offers the states of open transactions beside those of the settings', async () => {
  const { text } = await get('/transactions');
  const offered = /<datalist id="states">(.*?)<\/datalist>/s.exec(text)?.[1];
  expect(offered).toContain('<option value="=cmd()"></option>');
  expect(offered).toContain('<option value="success"></option>');
});

test('behind the last coin there are no further ones', async () => {
  expect((await get('/coins?after=zzz')).text).toContain('No further coins.');
});

test.each([
  ['/transactions?stream=both', 'stream must be deposit or withdraw'],
  ['/transactions?from=2026-02-30', 'from must be a day'],
  ['/transactions?from=2026-02-02&to=2026-02-01', 'from is a later day than to'],
  ['/transactions?min=1e5', 'min must be a decimal'],
  ['/transactions?min=-1.5&max=-1.50001', 'min is a larger amount than max'],
  ['/transactions?chain=9999999999', 'chain must be'],
  ['/transactions?before=x', 'before must be'],
  ['/transactions?before=2026-99-99%2000:00:00%2B00~a', 'out of range'],
  ['/transactions?coin=%00', 'coin has a character that no text'],
  [`/transactions?state=${'x'.repeat(2_001)}`, 'state must be a shorter text'],
  ['/transactions?format=pdf', 'format must be csv'],
  ['/transactions?open=1', 'open must be yes'],
  ['/transactions?symbol=BTC', 'this page has no parameter symbol; it takes stream, state, coin,'],
  ['/transactions/order-3?x=1', 'this page has no parameter x; it takes no parameter'],
  ['/addresses/BC1-ONE?x=1', 'this page has no parameter x'],
  ['/problems?x=1', 'this page has no parameter x'],
  ['/transactions?coin=BTC&coin=ETH', 'coin is given 2 times'],
  ['/runs?jobs=details', 'this page has no parameter jobs; it takes job, outcome, before'],
  ['/rejects?before=-1', 'before must be'],
  ['/rejects?show=none', 'show must be open or all'],
  ['/runs?outcome=done', 'outcome must be failed'],
  ['/coins/BTC?days=8', 'days must be'],
])('%s is refused in words', async (path, words) => {
  const { status, text } = await get(path);
  expect(status).toBe(400);
  expect(text).toContain(words);
});

test('what is shown comes as CSV, whose values no spreadsheet runs', async () => {
  const { text, headers } = await get('/transactions?open=yes&format=csv');
  expect(headers.get('Content-Type')).toBe('text/csv; charset=utf-8');
  expect(headers.get('Content-Disposition')).toBe('attachment; filename="transactions.csv"');
  const [names, row, ...rest] = text.split('\r\n');
  expect(names).toMatch(/^"order_no","stream","occurred_at","symbol","slip44","amount","state",/);
  expect(row).toMatch(
    /^"order-2","withdraw","[^"]+T[^"]+\.\d{3}Z","'=ODD","60","-5","'=cmd\(\)","false","false","true",,"<b>&""'\u202e","hash-2"$/,
  );
  expect(rest).toEqual(['']);
});

test('paging by links visits every run once, and the filters stay in the links', async () => {
  const first = await get('/runs?job=details');
  const next = linksOf('/runs', first.text).find((href) => href.includes('before='));
  expect(next).toMatch(/^\/runs\?job=details&before=\d+$/);
  const second = await get(next ?? '');
  const rows = (text: string) => text.match(/<tr><td class="time">/g)?.length ?? 0;
  expect([rows(first.text), rows(second.text)]).toEqual([50, 10]);
  expect(second.text).toContain('HTTP &lt;500&gt;');
  expect((await get('/runs?outcome=failed')).text.match(/<tr><td class="time">/g)).toHaveLength(1);
});

test.each([
  ['order 1/a', 'transactions/order%201%2Fa'],
  ['  order-2 ', 'transactions/order-2'],
  ['hash-1', 'transactions/order%201%2Fa'],
  ['HASH-1', 'transactions/order%201%2Fa'],
  ['BC1-ONE', 'addresses/bc1-one'],
  ['customer <7>', 'addresses/bc1-one'],
  ['lost-1', 'transactions/lost-1'],
])('a search for %s leads to the page', async (sought, location) => {
  expect(await search(sought)).toMatchObject({ status: 303, location });
});

test('a search that finds several lists them; a reference is in no link', async () => {
  const requests = await search('request-2');
  expect(requests.status).toBe(200);
  for (const orderNo of ['order-2', 'order-3'])
    expect(requests.text).toContain(`href="transactions/${orderNo}"`);
  const references = await search('customer of two');
  expect(references.status).toBe(200);
  expect(linksOf('/transactions', references.text)).toEqual(
    expect.arrayContaining(['/addresses/bc1-two', '/addresses/0xtwo']),
  );
  expect(linksOf('/transactions', references.text).join()).not.toMatch(/customer/);
  const nothing = await search('<nobody>');
  expect(nothing.status).toBe(404);
  expect(nothing.text).toContain('value="&lt;nobody&gt;"');
});

test('a search that is too long is refused, and no other path takes a POST', async () => {
  expect((await search('x'.repeat(9_000))).status).toBe(400);
  expect((await search('x'.repeat(2_001))).status).toBe(400);
  for (const path of ['/transactions/order-2', '/coins', '/rejects']) {
    const { status } = await fetch(`${http.url}${path}`, { method: 'POST', body: 'q=x' });
    expect([path, status]).toEqual([path, 405]);
  }
  const put = await fetch(`${http.url}/transactions`, { method: 'PUT' });
  expect([put.status, put.headers.get('Allow')]).toEqual([405, 'GET, HEAD, POST']);
  const foreign = {
    'Sec-Fetch-Site': 'cross-site',
    'Sec-Fetch-Mode': 'navigate',
    'Sec-Fetch-Dest': 'document',
  };
  const { status } = await fetch(`${http.url}/transactions`, {
    method: 'POST',
    body: 'q=x',
    headers: foreign,
  });
  expect(status).toBe(403);
});

test('[S7] with a token the pages to look things up need it', async () => {
  const closed = await openHttp({
    token: 'right-token-of-16',
    read: (work) => readBriefly(ledger, work),
  });
  for (const path of pages)
    expect([path, (await fetch(`${closed.url}${path}`)).status]).toEqual([path, 401]);
  const headers = { Authorization: 'Bearer right-token-of-16' };
  expect((await fetch(`${closed.url}/coins`, { headers })).status).toBe(200);
  await closed.close();
});

test('a failure shows no statement, and logs no parameter', async () => {
  const { log, lines } = recordLog();
  const broken = await openHttp({
    log,
    read: (work) =>
      readBriefly(ledger, async (db) => {
        await db.execute('set local statement_timeout = 1; select pg_sleep(1)');
        return await work(db);
      }),
  });
  const body = new URLSearchParams({ q: 'customer <7>' });
  const answer = await fetch(`${broken.url}/transactions`, { method: 'POST', body });
  expect(answer.status).toBe(503);
  expect(await answer.text()).toContain('took longer than 2 s');
  expect(lines.some(({ level }) => level === 'warn')).toBe(true);
  expect(JSON.stringify(lines)).not.toContain('customer');
  await broken.close();
});

test('a statement that fails with the reference among its parameters leaves neither in the log nor on the page', async () => {
  const { log, lines } = recordLog();
  const broken = await openHttp({ log, read: (work) => readBriefly(ledger, work) });
  await query('alter view own.addresses rename column assigned_to to hidden');
  try {
    const body = new URLSearchParams({ q: 'customer <7>' });
    const answer = await fetch(`${broken.url}/transactions`, { method: 'POST', body });
    expect(answer.status).toBe(503);
    expect(await answer.text()).not.toMatch(/customer &lt;7|customer <7|select |assigned_to/);
  } finally {
    await query('alter view own.addresses rename column hidden to assigned_to');
  }
  expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  expect(JSON.stringify(lines)).not.toMatch(/customer|select/);
  await broken.close();
});

test('a page that waited too long for others says so', async () => {
  const busy = await openHttp({ read: () => Promise.reject(new DOMException('', 'TimeoutError')) });
  const answer = await fetch(`${busy.url}/coins`);
  expect([answer.status, (await answer.text()).includes('Too many pages')]).toEqual([503, true]);
  await busy.close();
});

test('readers of an overview share what was read, which says its time; an order and an address are read each time', async () => {
  let reads = 0;
  const counted = await openHttp({
    read: (work) => {
      reads += 1;
      return readBriefly(ledger, work);
    },
  });
  const ask = async (path: string) => await (await fetch(`${counted.url}${path}`)).text();
  const readsOf = async (path: string) => {
    const before = reads;
    const texts = await Promise.all([ask(path), ask(path), ask(path)]);
    const isDated = texts.every((text) => /Read at <time datetime="[^"]+Z"/.test(text));
    return [path, reads - before, isDated];
  };
  for (const path of [
    '/transactions?coin=BTC',
    '/coins',
    '/coins/BTC',
    '/pools',
    '/proof',
    '/runs',
  ])
    expect(await readsOf(path)).toEqual([path, 1, true]);
  expect(await readsOf('/transactions?coin=BTC&stream=deposit')).toContain(1);
  for (const path of [
    '/transactions/order-2',
    '/addresses/bc1-one',
    '/transactions?address=bc1-one',
  ])
    expect(await readsOf(path)).toEqual([path, 3, false]);
  await counted.close();
});
