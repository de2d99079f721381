import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { clientKey } from '../../src/http/access/client-address.ts';
import { createRefusalLog } from '../../src/http/access/refusal-log.ts';
import { createTokenGuard, delayAfter } from '../../src/http/access/token-guard.ts';
import { cappedSeries } from '../../src/http/metrics/capped-series.ts';
import type { HttpOptions } from '../../src/http/start-http.ts';
import { forAllSync } from '../support/for-all.ts';
import { recordLog } from '../support/record-log.ts';
import { sampleReport } from '../support/sample-report.ts';
import { type HttpHarness, openHttp } from '../support/with-http.ts';

const token = 'a-token-of-some-length';
const right = { Authorization: `Bearer ${token}` };
const wrong = { Authorization: 'Bearer not-the-token' };

afterEach(() => vi.useRealTimers());

async function open(options: Partial<HttpOptions> = {}): Promise<HttpHarness> {
  const http = await openHttp(options);
  onTestFinished(() => http.close());
  return http;
}

async function refusedFor(http: HttpHarness, reason: string): Promise<number> {
  const { values } = (await http.metrics.registry
    .getSingleMetric('wallet_ledger_http_refused_total')
    ?.get()) ?? { values: [] };
  return values.find(({ labels }) => labels['reason'] === reason)?.value ?? 0;
}

/** Connections that send this and read what comes. */
async function sendOn(url: string, count: number, text: string): Promise<Socket[]> {
  const port = Number(new URL(url).port);
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, '127.0.0.1')
        .on('error', () => undefined)
        .resume();
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
      socket.write(text);
      return socket;
    }),
  );
}

const half = 'GET /healthz HTTP/1.1\r\nHost: loc';

/** The answer to a GET on a connection of its own. */
async function ask(url: string): Promise<{ status: number; connection: string | undefined }> {
  const [response] = await once(request(url, { agent: false }).end(), 'response');
  response.resume();
  return { status: response.statusCode, connection: response.headers.connection };
}

test('[S7] wrong tokens are counted, logged in few lines and answered ever later; the right one is not slowed', async () => {
  const http = await open({ token });
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => fetch(http.url, { headers: wrong })),
  );
  const statuses = answers.map(({ status }) => status);
  const countOf = (status: number) => statuses.filter((each) => each === status).length;
  // Ten wait for their answers at a time; the others are not looked at.
  expect(countOf(401)).toBeGreaterThanOrEqual(10);
  expect(countOf(401)).toBeLessThan(30);
  expect(countOf(429)).toBe(60 - countOf(401));
  expect(answers.find(({ status }) => status === 429)?.headers.get('Retry-After')).toBe('5');
  expect(await refusedFor(http, 'wrong_token')).toBe(countOf(401));
  expect(await refusedFor(http, 'too_many_tokens')).toBe(countOf(429));
  const warnings = () => http.lines.filter(({ level }) => level === 'warn');
  expect(warnings()).toMatchObject([{ fields: { address: '127.0.0.1' } }]);
  expect(JSON.stringify(http.lines)).not.toContain('not-the-token');
  expect((await fetch(http.url, { headers: right })).status).toBe(200);
  await http.close();
  expect(warnings()).toHaveLength(2);
  expect(warnings()[1]).toMatchObject({ fields: { count: 59, addresses: 1 } });
}, 30_000);

test('[S7] a request without a token is a browser that asks: it is counted, and neither logged nor slowed', async () => {
  const http = await open({ token });
  await Promise.all(Array.from({ length: 30 }, () => fetch(http.url)));
  expect(await refusedFor(http, 'missing_token')).toBe(30);
  expect(http.lines.filter(({ level }) => level === 'warn')).toEqual([]);
});

test('[S7] one address does not slow another, and one that has shown the right token is not shut out', async () => {
  const guard = createTokenGuard(token, () => 0);
  onTestFinished(() => guard.close());
  const bearer = (text: string) => `Bearer ${text}`;
  const guesses = Array.from({ length: 10 }, () => guard.judge('10.0.0.1', bearer('x')));
  expect(await guard.judge('10.0.0.1', bearer(token))).toBe('busy');
  expect(await guard.judge('10.0.0.2', bearer(token))).toBe('admitted');
  for (let count = 0; count < 20; count += 1) guesses.push(guard.judge('10.0.0.2', bearer('x')));
  expect(await guard.judge('10.0.0.2', bearer(token))).toBe('admitted');
  guard.close();
  expect(new Set(await Promise.all(guesses))).toEqual(new Set(['wrong']));
});

test('the pause after a wrong token grows and is bounded', () => {
  forAllSync(fc.integer({ min: 1, max: 1_000_000 }))(100, (wrongs) => {
    expect(delayAfter(wrongs + 1)).toBeGreaterThanOrEqual(delayAfter(wrongs));
    expect(delayAfter(wrongs)).toBeGreaterThan(0);
    expect(delayAfter(wrongs)).toBeLessThanOrEqual(5_000);
  });
});

test('refusals are one line at once, then one counted line a minute, and none when there are none', () => {
  vi.useFakeTimers();
  const { log, lines } = recordLog();
  const refusals = createRefusalLog(log);
  for (let count = 0; count < 3_000; count += 1) refusals.note(`10.0.0.${count % 3}`);
  expect(lines).toHaveLength(1);
  vi.advanceTimersByTime(60_000);
  expect(lines).toHaveLength(2);
  expect(lines[1]?.fields).toMatchObject({ count: 2_999, addresses: 3 });
  vi.advanceTimersByTime(600_000);
  expect(lines).toHaveLength(2);
  refusals.note('10.0.0.1');
  expect(lines).toHaveLength(3);
  refusals.close();
});

test('half-sent requests keep nobody from /healthz, and time out', async () => {
  const http = await open();
  const sockets = await sendOn(http.url, 400, half);
  expect(sockets.filter(({ destroyed }) => !destroyed).length).toBeGreaterThan(200);
  for (let probe = 0; probe < 20; probe += 1) {
    expect((await ask(`${http.url}/healthz`)).status).toBe(200);
  }
  expect(await refusedFor(http, 'connections')).toBeGreaterThanOrEqual(80);
  await expect.poll(async () => (await ask(http.url)).status).toBe(200);
  await Promise.all(sockets.map((socket) => socket.closed || once(socket, 'close')));
}, 30_000);

test('/healthz and /readyz answer while all connections of an address are at work, and other pages say so', async () => {
  let release = () => {};
  const standing = new Promise<void>((resolve) => {
    release = resolve;
  });
  const http = await open({
    readStatus: async () => {
      await standing;
      return sampleReport();
    },
  });
  const page = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
  const atWork = await sendOn(http.url, 256, page);
  // One whose request has not been read yet makes room for this question.
  while ((await ask(`${http.url}/nothing`)).status !== 503)
    atWork.push(...(await sendOn(http.url, 1, page)));
  const isOpen = ({ destroyed }: Socket) => !destroyed;
  expect(atWork.filter(isOpen)).toHaveLength(256);
  expect(await ask(`${http.url}/healthz`)).toEqual({ status: 200, connection: 'close' });
  // Its reserve cannot be taken up by requests that are never finished.
  await sendOn(http.url, 100, half);
  expect((await ask(`${http.url}/healthz`)).status).toBe(200);
  expect((await ask(`${http.url}/readyz`)).status).toBe(200);
  expect(atWork.filter(isOpen)).toHaveLength(256);
  release();
  await Promise.all(atWork.map((socket) => socket.closed || once(socket, 'close')));
}, 30_000);

test('[S7] no Host and no proxy is a way in without a token', async () => {
  const offLoopback = await open({ host: '0.0.0.0' });
  expect((await fetch(offLoopback.url)).status).toBe(403);
  expect((await fetch(`${offLoopback.url}/healthz`)).status).toBe(200);
  const local = await open();
  expect((await fetch(local.url)).status).toBe(200);
  for (const name of ['Forwarded', 'Via', 'X-Forwarded-For', 'X-Real-IP']) {
    const answer = await fetch(local.url, { headers: { [name]: '203.0.113.7' } });
    expect([name, answer.status]).toEqual([name, 403]);
    expect(await answer.text()).toContain('HTTP_TOKEN');
  }
  expect(await refusedFor(local, 'host')).toBe(4);
});

test('[S7] a page of another site reads nothing, with the token or without; a link from there is followed', async () => {
  const asked = (http: HttpHarness, path: string, headers: Record<string, string>) =>
    new Promise<number | undefined>((done, failed) => {
      // Not by fetch, which sets some of these headers itself.
      request(`${http.url}${path}`, { headers, agent: false }, (response) => {
        response.resume();
        done(response.statusCode);
      })
        .on('error', failed)
        .end();
    });
  const crossSite = { 'Sec-Fetch-Site': 'cross-site' };
  const link = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' };
  for (const [options, own] of [
    [{}, {}],
    [{ token }, right],
  ] as const) {
    const http = await open(options);
    for (const path of ['/', '/metrics', '/status.json', '/nothing'])
      expect([path, await asked(http, path, { ...own, ...crossSite })]).toEqual([path, 403]);
    const framed = { ...own, ...crossSite, ...link, 'Sec-Fetch-Dest': 'iframe' };
    expect(await asked(http, '/', framed)).toBe(403);
    expect(await asked(http, '/', { ...own, ...crossSite, ...link })).toBe(200);
    expect(await asked(http, '/', { ...own, 'Sec-Fetch-Site': 'same-origin' })).toBe(200);
    expect(await asked(http, '/healthz', crossSite)).toBe(200);
    expect(await refusedFor(http, 'cross_site')).toBe(5);
  }
});

test('a client is counted by its IPv4 address or its IPv6 network, however they are written', () => {
  expect(clientKey('::ffff:192.0.2.7')).toBe(clientKey('192.0.2.7'));
  expect(clientKey('2001:db8:0:1::7')).toBe(clientKey('2001:0db8:0000:0001:abcd::1'));
  expect(clientKey('2001:db8:0:2::7')).not.toBe(clientKey('2001:db8:0:1::7'));
  expect(clientKey('::1')).toBe(clientKey('0:0:0:0:0:0:0:1'));
  expect(clientKey('fe80::1%eth0')).toBe(clientKey('fe80::2'));
  expect(clientKey(undefined)).toBe('unknown');
});

test('however many coins the service names, the metrics and the page stay small', async () => {
  const names = Array.from({ length: 5_000 }, (_, index) => `COIN${index}${'x'.repeat(200)}`);
  const http = await open({
    readStatus: async () =>
      sampleReport({
        unexplainedDifferences: names.map((symbol, index) => ({
          wallet: 'main',
          symbol,
          amount: String(index + 1),
          since: '2026-03-01T11:00:00Z',
        })),
      }),
  });
  const text = await (await fetch(`${http.url}/metrics`)).text();
  const series = text
    .split('\n')
    .filter((line) => line.startsWith('wallet_ledger_unexplained_difference{'));
  expect(series).toHaveLength(101);
  expect(series).toContain(
    'wallet_ledger_unexplained_difference{symbol="(others)",wallet="main"} 4900',
  );
  expect(series.join('')).toContain('COIN4999');
  expect(Math.max(...series.map((line) => line.length))).toBeLessThan(150);
});

test('capped series keep the largest values, one series a name, and lose none of them unseen', () => {
  const drawn = forAllSync(
    fc.array(fc.record({ name: fc.string({ maxLength: 80 }), value: fc.integer() }), {
      maxLength: 300,
    }),
  );
  drawn(100, (all) => {
    const series = cappedSeries(all);
    expect(series.length).toBeLessThanOrEqual(101);
    expect(new Set(series.map(({ name }) => name)).size).toBe(series.length);
    const largest = Math.max(...all.map(({ value }) => Math.abs(value)));
    if (all.length > 0) expect(Math.abs(series[0]?.value ?? 0)).toBe(largest);
  });
});
