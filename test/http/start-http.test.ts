import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { HttpOptions } from '../../src/http/start-http.ts';
import { LedgerError } from '../../src/kernel/errors.ts';
import { type StatusReport, toStatusJson } from '../../src/status/status-report.ts';
import { sampleProblem, sampleReport, sampleStream } from '../support/sample-report.ts';
import { type HttpHarness, openHttp } from '../support/with-http.ts';

const opened: HttpHarness[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((http) => http.close()));
});

async function open(options: Partial<HttpOptions> = {}): Promise<HttpHarness> {
  const http = await openHttp(options);
  opened.push(http);
  return http;
}

const basic = (user: string, password: string) => ({
  Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

/** The status of a GET with headers that fetch would not send. */
async function statusWith(url: string, headers: Record<string, string>): Promise<number> {
  const [response] = await once(request(url, { headers }).end(), 'response');
  response.resume();
  return response.statusCode;
}

test('the port is logged, and taken by itself where none is named', async () => {
  const { url, lines } = await open();
  expect(lines).toEqual([
    { level: 'info', message: 'listening', fields: { port: Number(new URL(url).port) } },
  ]);
});

test('a port that is taken is named together with the setting', async () => {
  const { url } = await open();
  const failure = await open({ port: Number(new URL(url).port) }).catch((error) => error);
  expect(failure).toBeInstanceOf(LedgerError);
  expect(failure.message).toContain('EADDRINUSE');
  expect(failure.cure).toContain('HTTP_PORT');
  expect(failure.exitCode).toBe(1);
});

test('a path without a page leads a browser on, and is one line for any other client', async () => {
  const { url } = await open();
  const page = await fetch(`${url}/no/such`, { headers: { Accept: 'text/html' } });
  expect([page.status, page.headers.get('Content-Security-Policy')]).toEqual([
    404,
    (await fetch(`${url}/problems`)).headers.get('Content-Security-Policy'),
  ]);
  expect(await page.text()).toContain('<a href="../transactions">Transactions</a>');
  const line = await fetch(`${url}/no/such`);
  expect([line.status, await line.text()]).toEqual([404, 'not found\n']);
});

test('the process is healthy whatever the database does', async () => {
  const broken = () => Promise.reject(new Error('gone'));
  const { url } = await open({ readStatus: broken, isReady: broken });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test('readiness names what is not ready', async () => {
  const ready = await fetch(`${(await open()).url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    { ready: true, notReady: [], problems: [] },
  ]);

  const parts = { database: true, queue: false, migrated: false };
  const waiting = await fetch(`${(await open({ isReady: async () => parts })).url}/readyz`);
  const named = { ready: false, notReady: ['queue', 'migrated'], problems: [] };
  expect([waiting.status, await waiting.json()]).toEqual([503, named]);
});

test('readiness does not wait for a database that stays silent longer than a probe waits', async () => {
  const { url } = await open({ isReady: () => new Promise(() => undefined) });
  const answer = await fetch(`${url}/readyz`);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ notReady: ['database', 'queue', 'migrated'] });
});

test('the page of problems does not wait for a status that never comes', async () => {
  const { url } = await open({ readStatus: () => new Promise(() => undefined) });
  const answer = await fetch(`${url}/problems`, { signal: AbortSignal.timeout(15_000) });
  expect([answer.status, await answer.text()]).toEqual([
    503,
    expect.stringContaining('The database does not answer.'),
  ]);
});

test('readiness names the problems, without their words, and does not depend on them', async () => {
  const what = 'the service says <secret>';
  const { url } = await open({
    token: 'a:secret',
    readStatus: async () => sampleReport({ problems: [sampleProblem({ what })], queue: null }),
  });
  const answer = await fetch(`${url}/readyz`);
  const text = await answer.text();
  expect(answer.status).toBe(200);
  expect(JSON.parse(text).problems).toEqual([
    { name: 'queue_unreachable', severity: 'critical' },
    { name: 'rejects_open', severity: 'warning' },
  ]);
  expect(text).not.toContain('secret');
  const unreadable = await open({ readStatus: () => Promise.reject(new Error('gone')) });
  const other = await fetch(`${unreadable.url}/readyz`);
  expect([other.status, await other.json()]).toEqual([
    200,
    { ready: true, notReady: [], problems: null },
  ]);
});

test('[S7] with a token only the two checks are open', async () => {
  const { url } = await open({ token: 'a:secret' });
  for (const path of ['/', '/metrics', '/nothing', '/healthz/', '//healthz', '/HEALTHZ']) {
    const refused = await fetch(`${url}${path}`);
    expect([path, refused.status]).toEqual([path, 401]);
    expect(refused.headers.get('WWW-Authenticate')).toMatch(/^Basic /);
    expect(await refused.text()).not.toContain('5,012');
  }
  for (const path of ['/healthz', '/readyz']) {
    expect((await fetch(`${url}${path}`)).status).toBe(200);
  }
});

test.each<[string, Record<string, string>, number]>([
  ['Bearer', { Authorization: 'Bearer a:secret' }, 200],
  ['bearer in small letters', { Authorization: 'bearer a:secret' }, 200],
  ['Basic with any user', basic('whoever', 'a:secret'), 200],
  ['Basic without a user', basic('', 'a:secret'), 200],
  ['the token as the user', basic('a', 'secret'), 401],
  ['a part of the token', { Authorization: 'Bearer a:secre' }, 401],
  ['a longer token', { Authorization: 'Bearer a:secrets' }, 401],
  ['an empty token', { Authorization: 'Bearer ' }, 401],
  ['another scheme', { Authorization: 'Digest a:secret' }, 401],
])('[S7] the token is taken as it should be: %s', async (_, headers, status) => {
  const { url } = await open({ token: 'a:secret' });
  expect((await fetch(url, { headers })).status).toBe(status);
});

test('[S7] without a token a name that someone pointed at this machine is refused', async () => {
  const { url } = await open();
  expect(await statusWith(url, { Host: 'attacker.example' })).toBe(403);
  expect(await statusWith(url, { Host: 'localhost:8080' })).toBe(200);
  expect(await statusWith(url, { Host: '[::1]:8080' })).toBe(200);
});

test('[S7] only reading is served, and only what there is', async () => {
  const { url } = await open();
  const post = await fetch(url, { method: 'POST', body: 'x' });
  expect([post.status, post.headers.get('Allow')]).toEqual([405, 'GET, HEAD']);
  const head = await fetch(url, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  expect((await fetch(`${url}/favicon.ico`)).status).toBe(404);
});

test('every answer forbids what pages can be abused for', async () => {
  const { url } = await open({ token: 'secret' });
  for (const path of ['/', '/healthz']) {
    const { headers } = await fetch(`${url}${path}`);
    expect(headers.get('Content-Security-Policy')).toContain("default-src 'none'");
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(headers.get('Referrer-Policy')).toBe('no-referrer');
    expect(headers.get('Cache-Control')).toBe('no-store');
  }
});

test('a failing database gives a readable page and one line in the log', async () => {
  const select = 'select secret_column from ledger.x';
  const { url, lines } = await open({ readStatus: () => Promise.reject(new Error(select)) });
  const response = await fetch(url);
  const page = await response.text();
  expect(response.status).toBe(503);
  expect(page).toContain('What to do');
  expect(page).not.toMatch(/secret_column|node_modules|\.ts:\d/);
  await fetch(url);
  expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
});

test('our own errors come with their cure', async () => {
  const failure = new LedgerError('database-unreachable', 'the database failed: <refused>');
  const { url } = await open({ readStatus: () => Promise.reject(failure) });
  const page = await (await fetch(url)).text();
  expect(page).toContain('the database failed: &lt;refused&gt;');
  expect(page).toContain('check DATABASE_URL');
});

test('200 requests at once read the status once', async () => {
  const { url, reads } = await open();
  const answers = await Promise.all(Array.from({ length: 200 }, () => fetch(url)));
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  expect(answers.every((answer) => answer.status === 200)).toBe(true);
  expect(new Set(texts).size).toBe(1);
  expect(reads.page).toBeLessThanOrEqual(3);
});

test('a status that failed is read again', async () => {
  let answer = () => Promise.reject<StatusReport>(new Error('gone'));
  const { url, lines } = await open({ readStatus: () => answer() });
  expect((await fetch(url)).status).toBe(503);
  answer = async () => sampleReport();
  await expect.poll(async () => (await fetch(url)).status, { timeout: 60_000 }).toBe(200);
  expect(lines.map(({ message }) => message)).toContain('the status can be read again');
});

test('closing ends soon, whoever is still connected', async () => {
  let release = () => {};
  const { url, close } = await open({
    readStatus: () =>
      new Promise((resolve) => {
        release = () => resolve(sampleReport({ streams: [sampleStream()] }));
      }),
  });
  await (await fetch(`${url}/healthz`)).text();
  const pending = fetch(url).catch((error) => error);
  const halfOpen = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
  await once(halfOpen, 'connect');
  halfOpen.write('GET / HTTP/1.1\r\nHost: localhost\r\n');
  const startedAt = performance.now();
  await Promise.all([close(), close()]);
  expect(performance.now() - startedAt).toBeLessThan(1_500);
  expect(await pending).toBeInstanceOf(Error);
  release();
  halfOpen.destroy();
});

test('nonsense on the wire is refused, and serving goes on', async () => {
  const { url } = await open();
  for (const text of ['nonsense\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a b/c\r\n\r\n']) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(text);
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
  }
  expect((await fetch(url)).status).toBe(200);
});

test('requests sent ahead of their answers are few on a connection, so that one who does not read costs little', async () => {
  const { url } = await open();
  const answersTo = async (count: number): Promise<number> => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
    const last = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(count - 1) + last);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    await once(socket, 'close');
    return text.split('HTTP/1.1 200').length - 1;
  };
  expect(await answersTo(4)).toBe(4);
  expect(await answersTo(300)).toBeLessThanOrEqual(4);
  expect((await fetch(url)).status).toBe(200);
});

test('/status.json is the document of `status --json`; it needs the token, and fails as JSON', async () => {
  const { url } = await open({ token: 'right-token-of-16' });
  const ask = (from: string, token: string) =>
    fetch(`${from}/status.json`, { headers: { Authorization: `Bearer ${token}` } });
  expect((await ask(url, 'wrong')).status).toBe(401);
  const answer = await ask(url, 'right-token-of-16');
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(await answer.text()).toBe(toStatusJson(sampleReport()));
  const failing = await open({ readStatus: () => Promise.reject(new Error('hidden')) });
  const failed = await ask(failing.url, '');
  expect([failed.status, await failed.json()]).toEqual([
    503,
    { error: 'the status cannot be read; the log says why' },
  ]);
});

test('docs/http.md names every path that is served, and no other', async () => {
  const hintToken = 'hint-token-of-16-letters';
  const http = await open({ feedToken: 'feed-token-of-16-letters', hintToken });
  const page = readFileSync('docs/http.md', 'utf8');
  const named = [...page.matchAll(/^\| (`\/[^|]+) \| ([A-Z, ]+) \|/gm)].flatMap(
    ([, paths = '', methods = '']) =>
      paths.split(', ').map((path) => ({ path: path.replaceAll('`', ''), methods })),
  );
  const lost: string[] = [];
  for (const { path, methods } of named) {
    const at = path
      .replace('<token>', hintToken)
      .replace('/wallets/<name>', '')
      .replace(/<\w+>/, 'unknown');
    const gone = new AbortController();
    const response = await fetch(http.url + at, {
      method: methods.split(',')[0] ?? '',
      signal: gone.signal,
    });
    const text = response.status === 404 ? await response.text() : '';
    gone.abort();
    if (text === 'not found\n') lost.push(path);
  }
  expect(lost).toEqual([]);
  const sources = readdirSync('src/http', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(`src/http/${file}`, 'utf8'));
  const served = sources.flatMap((source) =>
    [...source.matchAll(/app\.(?:get|post)\('([^']+)'/g)].map(([, path = '']) =>
      path.replaceAll(/:\w+/g, '<>'),
    ),
  );
  expect(served.length).toBeGreaterThan(8);
  const documented = named.map(({ path }) => path.replaceAll(/<\w+>/g, '<>'));
  expect(served.filter((path) => !documented.includes(path))).toEqual([]);
});
