import { once } from 'node:events';
import { request } from 'node:http';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { readOrderNumbers } from '../../src/http/read-order-numbers.ts';
import type { HttpOptions } from '../../src/http/start-http.ts';
import { type HttpHarness, openHttp } from '../support/with-http.ts';

const hintToken = 'hints-0123456789';
const token = 'pages-0123456789';

type Harness = HttpHarness & { hints: string[][] };

async function open(options: Partial<HttpOptions> = {}): Promise<Harness> {
  const hints: string[][] = [];
  const http = await openHttp({ hintToken, onHint: (named) => hints.push(named), ...options });
  onTestFinished(() => http.close());
  return { ...http, hints };
}

const post = (
  body: NonNullable<RequestInit['body']>,
  init: RequestInit & { duplex?: 'half' } = {},
) => ({
  method: 'POST',
  body,
  ...init,
});

/** Everything of an answer that a client sees, but its time. */
async function seen(answer: Response): Promise<unknown> {
  const headers = [...answer.headers].filter(([name]) => name !== 'date');
  return { status: answer.status, headers, text: await answer.text() };
}

test('[S7] a hint needs its own token alone, and gets one answer whatever it says', async () => {
  for (const options of [{}, { token }, { token, host: '0.0.0.0' }]) {
    const { url, hints } = await open(options);
    const hint = `${url}/hint/${hintToken}`;
    const answers = await Promise.all([
      fetch(hint),
      fetch(hint, post('')),
      fetch(hint, post('{"orderNo":"100"}')),
      fetch(hint, post('{"orderNo":"never heard of"}')),
      fetch(hint, post('<xml/>', { headers: { 'Content-Type': 'text/xml' } })),
      fetch(hint, post('[1,2', { headers: { 'X-Forwarded-For': '203.0.113.7' } })),
      fetch(hint, post(new Uint8Array([0xff, 0xfe, 0x00]))),
    ]);
    const [first, ...others] = await Promise.all(answers.map(seen));
    expect(first).toMatchObject({ status: 202 });
    expect(others).toEqual(others.map(() => first));
    expect(hints).toHaveLength(7);
    expect(hints.flat()).toEqual(['100']);
  }
});

test('[S7] a wrong token and hints that are off are an unknown path, whatever the method', async () => {
  const [on, off] = [await open(), await open({ hintToken: null })];
  const unknown = await seen(await fetch(`${on.url}/nothing`));
  expect(unknown).toMatchObject({ status: 404 });
  for (const [http, path, method] of [
    [on, '/hint/', 'GET'],
    [on, `/hint/${hintToken}x`, 'POST'],
    [on, `/hint/${hintToken.slice(1)}`, 'GET'],
    [on, `/hint/${hintToken}/`, 'POST'],
    [on, `/hint/${hintToken}x`, 'PUT'],
    [on, `/hint/${hintToken}x`, 'DELETE'],
    [off, `/hint/${hintToken}`, 'PUT'],
    [off, `/hint/${hintToken}`, 'POST'],
    [off, `/hint/${hintToken}`, 'GET'],
    [off, '/hint/null', 'POST'],
  ] as const)
    expect([path, await seen(await fetch(`${http.url}${path}`, { method }))]).toEqual([
      path,
      unknown,
    ]);
  expect([...on.hints, ...off.hints]).toEqual([]);
});

test('[S7] with the right token another method is told which are served, and is no hint', async () => {
  const { url, hints } = await open({ token });
  for (const method of ['HEAD', 'PUT', 'DELETE']) {
    const { status, headers } = await fetch(`${url}/hint/${hintToken}`, { method });
    expect([method, status, headers.get('Allow')]).toEqual([method, 405, 'GET, POST']);
    expect((await fetch(`${url}/hint/${hintToken}x`, { method })).status).toBe(404);
  }
  expect(hints).toEqual([]);
});

test('[S7] wrong tokens of hints are counted, logged without the path and answered ever later; the right one is not', async () => {
  const http = await open({ token });
  const startedAt = performance.now();
  const wrong = Array.from({ length: 8 }, () =>
    fetch(`${http.url}/hint/almost-the-token`, post('')),
  );
  expect((await fetch(`${http.url}/hint/${hintToken}`, post(''))).status).toBe(202);
  expect((await Promise.all(wrong)).map(({ status }) => status)).toEqual(wrong.map(() => 404));
  // The eighth in a row waits 50 ms × 2⁷, bounded by 5 s.
  expect(performance.now() - startedAt).toBeGreaterThan(4_000);
  const refused = await http.metrics.registry
    .getSingleMetric('wallet_ledger_http_refused_total')
    ?.get();
  expect(refused?.values).toMatchObject([{ labels: { reason: 'wrong_token' }, value: 8 }]);
  await http.close();
  expect(http.lines.filter(({ level }) => level === 'warn')).toHaveLength(2);
  expect(JSON.stringify(http.lines)).not.toMatch(/almost-the-token|hints-0123/);
}, 20_000);

test('[S7] a failure while a hint is served logs no token', async () => {
  const http = await open({
    onHint: () => {
      throw new Error('planted');
    },
  });
  expect((await fetch(`${http.url}/hint/${hintToken}`)).status).toBe(503);
  expect(http.lines).toContainEqual(
    expect.objectContaining({ fields: expect.objectContaining({ path: '/hint/…' }) }),
  );
  expect(JSON.stringify(http.lines)).not.toContain(hintToken);
});

test('[S7] a body beyond 64 KiB is not read, and its hint holds; the next request is served', async () => {
  const http = await open();
  const { port } = new URL(http.url);
  const long = JSON.stringify({ orderNo: '7', padding: 'x'.repeat(65_536) });
  for (const headers of [
    { 'Content-Length': String(long.length) },
    { 'Transfer-Encoding': 'chunked' },
  ]) {
    const sent = request({ port, path: `/hint/${hintToken}`, method: 'POST', headers });
    sent.end(long);
    const [answer] = await once(sent, 'response');
    answer.resume();
    expect([answer.statusCode, answer.headers.connection]).toEqual([202, 'close']);
    await once(answer, 'end');
  }
  const short = new ReadableStream({
    start(body) {
      body.enqueue(new TextEncoder().encode('{"order_no":'));
      body.enqueue(new TextEncoder().encode('"8"}'));
      body.close();
    },
  });
  const answer = await fetch(`${http.url}/hint/${hintToken}`, post(short, { duplex: 'half' }));
  expect(answer.status).toBe(202);
  expect(http.hints).toEqual([[], [], ['8']]);
});

test('hints are counted by what became of them', async () => {
  const outcomes = ['accepted', 'coalesced', 'coalesced'] as const;
  let count = 0;
  const http = await open({
    onHint: () => http.metrics.onHint(outcomes[count++] ?? 'coalesced'),
  });
  for (const _ of outcomes) await fetch(`${http.url}/hint/${hintToken}`);
  const text = await (await fetch(`${http.url}/metrics`)).text();
  expect(text).toContain('wallet_ledger_hints_total{outcome="accepted"} 1');
  expect(text).toContain('wallet_ledger_hints_total{outcome="coalesced"} 2');
});

test('order numbers are found in the usual shapes of a body', () => {
  for (const [body, expected] of [
    [{ orderNo: '1' }, ['1']],
    [{ order_no: ' 2 ', orderId: 3, 'order-number': '4' }, ['2', '3', '4']],
    [{ event: 'x', data: { order: { ORDER_NO: '5' }, items: [{ orderNo: '6' }] } }, ['5', '6']],
    [
      ['7', '8', '7'],
      ['7', '8'],
    ],
    [{ orderNos: ['9', '10'], ids: ['11'] }, ['9', '10']],
    [{ state: 'success', amount: '12', id: '13' }, []],
    [{ orderNo: '' }, []],
    [{ orderNo: 'a\u0000b' }, []],
    [{ orderNo: 'x'.repeat(129) }, []],
    [{ orderNo: 2 ** 60 }, []],
    ['14', []],
    [null, []],
  ] as const)
    expect([body, readOrderNumbers(JSON.stringify(body))]).toEqual([body, expected]);
  const many = Array.from({ length: 80 }, (_, index) => String(index));
  expect(readOrderNumbers(JSON.stringify(many))).toEqual(many.slice(0, 50));
});

test('whatever a body holds, at most 50 printable order numbers are taken from it, soon', () => {
  const nested = `${'['.repeat(30_000)}"1"${']'.repeat(30_000)}`;
  const wide = JSON.stringify(Array.from({ length: 15_000 }, () => ({ a: 1 })));
  for (const text of [nested, wide, `{"orderNo":${nested}}`]) {
    const startedAt = performance.now();
    expect(readOrderNumbers(text)).toEqual([]);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  }
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), fc.array(fc.string()), (text, orderNos) => {
      for (const body of [text, JSON.stringify({ nested: { orderNos } })]) {
        const found = readOrderNumbers(body);
        expect(found.length).toBeLessThanOrEqual(50);
        expect(new Set(found).size).toBe(found.length);
        for (const each of found) expect(each).toMatch(/^[\x21-\x7e]{1,128}$/);
      }
    }),
  );
});
