import type { ServerResponse } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { parseRetryAfterMs } from '../../src/service/transport/retry-after.ts';
import { makeClient } from '../support/make-client.ts';
import { pageOf, reply, send, startScriptedService, succeed } from '../support/scripted-service.ts';

const service = await startScriptedService();
afterAll(() => service.close());

const query = { type: 'deposit', pageNo: 1, pageSize: 10 } as const;
const good = succeed(pageOf([]));
const html = '<html><body>Please log in</body></html>';

describe('a read', () => {
  it.each([
    ['HTTP 500', reply(500, html)],
    ['HTTP 503 with an envelope', reply(503, '{"code":9,"msg":"busy"}')],
    ['HTTP 408', reply(408)],
    ['HTTP 429', reply(429)],
    ['HTML', reply(200, html)],
    ['an empty answer', reply(200)],
    ['HTTP 204', reply(204)],
    ['HTTP 304', reply(304)],
    ['broken JSON', reply(200, '{"code":0,"data":{"list":[')],
    ['no envelope', reply(200, '[]')],
    ['no code', reply(200, '{"data":{"list":[]}}')],
    ['code null', reply(200, '{"code":null,"data":{"list":[]}}')],
    ['an object as code', reply(200, '{"code":{"toString":1},"data":{"list":[]}}')],
    ['code false', reply(200, '{"code":false,"data":{"list":[]}}')],
    ['a code other than 0', reply(200, '{"code":1001,"msg":"later"}')],
    ['a text code', reply(200, '{"code":"BUSY","data":{"list":[]}}')],
    ['no data', reply(200, '{"code":0}')],
    ['data null', reply(200, '{"code":0,"data":null}')],
    ['list null', reply(200, '{"code":0,"data":{"list":null}}')],
    ['list as object', reply(200, '{"code":0,"data":{"list":{}}}')],
    ['data as list', reply(200, '{"code":0,"data":[]}')],
    ['no UTF-8', reply(200, '\xff', { 'content-type': 'application/json; charset=latin1' })],
  ])(
    '[H2 H3 H4 H7 H10 H16 V13] is repeated after %s, each time with a new nonce and signature',
    async (_what, fault) => {
      service.answer(fault, fault, good);
      const { client, tickets, attempts } = await makeClient(service.baseUrl);
      expect(await client.listTransactions(query)).toMatchObject({ observation: 3, listed: 0 });
      const nonces = service.seen.map(({ headers }) => headers['biz-api-nonce']);
      const signatures = service.seen.map(({ headers }) => headers['biz-api-signature']);
      expect(nonces).toEqual(tickets);
      expect(new Set(nonces).size).toBe(3);
      expect(new Set(signatures).size).toBe(3);
      expect(attempts.at(-1)).toMatchObject({
        endpoint: '/v1/transaction/list',
        outcome: 'success',
      });
    },
  );

  it('[H16] is retried while the service accepts other requests of the key, which may have overtaken its nonce', async () => {
    const { client } = await makeClient(service.baseUrl);
    const read = (pageNo: number) => client.listTransactions({ ...query, pageNo });
    let last = 0;
    let overtaking = 0;
    const accept = (nonce: number, response: Parameters<typeof send>[0]) => {
      const isRisen = nonce > last;
      last = Math.max(last, nonce);
      if (isRisen) send(response, 200, JSON.stringify({ code: 0, msg: '', data: pageOf([]) }));
      else send(response, 401, '{"code":10009,"msg":"not accepted"}');
    };
    service.answer(({ headers, url }, response) => {
      const nonce = Number(headers['biz-api-nonce']);
      if (url.searchParams.get('pageNo') !== '2' || overtaking === 3) accept(nonce, response);
      else {
        overtaking += 1;
        void read(3).then(() => accept(nonce, response));
      }
    });
    expect(await read(2)).toMatchObject({ observation: 7 });
    expect(service.seen).toHaveLength(7);
  });

  it.each([
    [400, 'Invalid nonce'],
    [401, 'nonce must rise'],
    [403, 'NONCE too low'],
    [200, 'the nonce was used before'],
  ])(
    '[H16] is retried after HTTP %i that names the nonce, whichever request overtook it',
    async (status, msg) => {
      const overtaken = reply(status, JSON.stringify({ code: 10009, msg }));
      service.answer(overtaken, overtaken, overtaken, good);
      const { client, attempts, log } = await makeClient(service.baseUrl);
      expect(await client.listTransactions(query)).toMatchObject({ observation: 4 });
      expect(attempts.map(({ outcome }) => outcome)).toEqual([
        ...Array(3).fill('nonce'),
        'success',
      ]);
      expect(log[0]?.fields).toMatchObject({ code: 'service-nonce' });
    },
  );

  it('[H8] with a key that was accepted before is retried once after HTTP 401 or 403, and no more', async () => {
    for (const status of [401, 403]) {
      service.answer(good, reply(status, html));
      const { client } = await makeClient(service.baseUrl);
      await client.listTransactions(query);
      const refused = client.listTransactions(query);
      await expect(refused).rejects.toMatchObject({ code: 'service-authentication' });
      expect(service.seen).toHaveLength(3);
    }
  });

  it.each([
    ['service-unreachable', 8, reply(502, html)],
    ['service-malformed', 3, reply(200, html)],
    ['service-unsettled', 8, reply(200, '{"code":7,"msg":"later"}')],
    ['service-unsettled', 2, reply(200, '{"code":400,"data":null,"msg":"slip44 required"}')],
    ['service-unsettled', 8, reply(200, '{"code":401,"msg":"login required"}')],
    ['service-unsettled', 2, reply(200, '{"code":"SUCCESS","data":{"list":[]},"msg":"success"}')],
    ['service-refused', 1, reply(400, '{"code":400,"msg":"pageNo must not be null"}')],
    ['service-rate-limited', 8, reply(429)],
    ['service-authentication', 1, reply(401, '{"code":4001,"msg":"bad signature"}')],
    ['service-authentication', 1, reply(403, html)],
    ['service-refused', 1, reply(400, '{"code":12,"msg":"page size"}')],
    ['service-refused', 1, reply(404, html)],
    ['service-nonce', 8, reply(400, '{"code":10009,"msg":"invalid nonce"}')],
    ['service-authentication', 1, reply(403, '<script nonce="r4nd0m">')],
    ['service-unreachable', 1, reply(302, '', { location: 'http://127.0.0.1:9/elsewhere' })],
  ])('[H3 H7 H8 H9 H10 H15] ends as %s after %i attempts', async (code, attempts, fault) => {
    service.answer(fault);
    const { client } = await makeClient(service.baseUrl);
    const error: unknown = await client.listTransactions(query).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code });
    expect(String(error)).toContain('GET /v1/transaction/list: ');
    expect(service.seen).toHaveLength(attempts);
    expect(client.requests()).toBe(attempts);
  });

  it.each([
    ['HTTP 500', true, reply(500, html)],
    ['a reset', false, (_seen: unknown, response: ServerResponse) => void response.destroy()],
  ])(
    '[H10 H12] of a detail that should be requested once is not retried after %s',
    async (_what, isAnswered, fault) => {
      service.answer(fault);
      const { client } = await makeClient(service.baseUrl);
      const detail = client.getTransaction('order-1', undefined, { isAskedOnce: true });
      await expect(detail).rejects.toMatchObject({ code: 'service-unreachable', isAnswered });
      expect(service.seen).toHaveLength(1);
    },
  );

  it('[H10] of a page is sent as often as its caller allows after HTTP 500, and with further attempts after HTTP 429', async () => {
    service.answer(reply(429), reply(429), reply(500, html));
    const { client } = await makeClient(service.baseUrl);
    const page = client.listTransactions({ ...query, failuresMax: 2 });
    await expect(page).rejects.toMatchObject({ code: 'service-unreachable', isAnswered: true });
    expect(service.seen).toHaveLength(4);
  });

  it('of a path that does not exist names the setting of the base URL', async () => {
    service.answer(reply(404, html));
    const { client } = await makeClient(service.baseUrl);
    await expect(client.listTransactions(query)).rejects.toMatchObject({
      cure: expect.stringContaining('check that WALLET_BASE_URL is the address of the service'),
    });
  });

  it.each([
    [
      '{"code":400,"data":null,"msg":"slip44 required"}',
      /WALLET_PARAM_NAMES.*doctor/,
      'slip44 required',
    ],
    ['{"code":"00000","data":{},"msg":"success"}', /code of a success is 0/, 'code 00000: success'],
    ['{"code":7,"data":null,"msg":"later"}', /wait until.*WALLET_PARAM_NAMES/, 'code 7: later'],
  ])(
    'with HTTP 200 and %s gives the remedy and the message of the service',
    async (body, cure, said) => {
      service.answer(reply(200, body));
      const { client } = await makeClient(service.baseUrl);
      const answer = client.listTransactions(query);
      await expect(answer).rejects.toMatchObject({
        cure: expect.stringMatching(cure),
        message: expect.stringContaining(said),
      });
    },
  );

  it.each(['0', 0])('[H7] succeeds with the code %j', async (code) => {
    service.answer(() => ({ code, data: pageOf([]) }));
    const { client } = await makeClient(service.baseUrl);
    expect(await client.listTransactions(query)).toMatchObject({ listed: 0 });
  });

  it('of a large page ends after three error codes, so that a smaller page is tried soon', async () => {
    const refusal = reply(200, '{"code":7,"msg":"pageSize"}');
    const { client } = await makeClient(service.baseUrl);
    service.answer(reply(500), reply(500), reply(500), refusal);
    await expect(client.listTransactions({ ...query, pageSize: 11 })).rejects.toMatchObject({
      code: 'service-unsettled',
    });
    expect(service.seen).toHaveLength(6);
  });

  it('[V16] quotes the message of the service with unsafe characters removed', async () => {
    const msg = `bad\u001b[31m \u202e\n${'x'.repeat(1000)}`;
    service.answer(reply(400, JSON.stringify({ code: 12, msg })));
    const { client } = await makeClient(service.baseUrl);
    const error: unknown = await client.listTransactions(query).catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(/HTTP 400 with code 12: bad \[31m x+…$/);
    expect(String(error).length).toBeLessThan(450);
  });

  it('[H3] answered with a web page quotes a short, safe part of it', async () => {
    const page = `<html>\u001b[31m\u202e\n<h1>Please log in</h1>${'<p>'.repeat(10_000)}</html>`;
    service.answer(reply(200, page, { 'content-type': 'text/html' }));
    const { client } = await makeClient(service.baseUrl);
    const error: unknown = await client.listTransactions(query).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('not JSON: <html> [31m <h1>Please log in');
    expect(String(error).length).toBeLessThan(300);
  });

  it('[H16] that is refused for its signature reports a wrong clock', async () => {
    const { client } = await makeClient(service.baseUrl);
    for (const [skewMs, told] of [
      [90_000, "clock is 90 s behind the service's"],
      [-90_000, "clock is 90 s ahead of the service's"],
      [0, ''],
    ] as const) {
      const date = new Date(Date.now() + skewMs + 500).toUTCString();
      service.answer(reply(401, '{"code":1,"msg":"nonce"}', { date }));
      const error: unknown = await client
        .listTransactions(query)
        .catch((thrown: unknown) => thrown);
      if (told === '') expect(String(error)).not.toContain('clock');
      else expect(String(error).replace(/(89|91) s/, '90 s')).toContain(told);
    }
  });

  it('is logged at a higher level if its fault persists, once a minute with the number of failures', async () => {
    service.answer(reply(500));
    let nowMs = 1_700_000_000_000;
    const { client, log } = await makeClient(service.baseUrl, { clock: () => nowMs });
    const warnings = async (requests: number) => {
      log.length = 0;
      for (let request = 1; request <= requests; request += 1)
        await client.listTransactions(query).catch(() => undefined);
      expect(log).toHaveLength(7 * requests);
      return log.filter(({ level }) => level === 'warn').map(({ fields }) => fields);
    };
    expect(await warnings(3)).toMatchObject([
      { attempt: 5, times: 1, code: 'service-unreachable' },
    ]);
    nowMs += 60_000;
    // Two of the first request, and three of each of the others.
    expect(await warnings(1)).toMatchObject([{ attempt: 5, times: 9 }]);
  });
});

describe('after HTTP 429', () => {
  it.each([
    ['3', 3000],
    ['99999999', 120_000],
    [new Date(Date.now() + 3_600_000).toUTCString(), 120_000],
  ])('[H9] with Retry-After %s all requests pause for %i ms', async (header, ms) => {
    service.answer(reply(429, '', { 'retry-after': header }), good);
    const { client, pauses } = await makeClient(service.baseUrl);
    await client.listTransactions(query);
    expect(pauses).toEqual([ms]);
  });

  it.each([
    {},
    { 'retry-after': 'soon' },
    { 'retry-after': 'Thu, 01 Jan 2015 00:00:00 GMT' },
    { 'retry-after': '0' },
  ])('[H9] with %j all requests pause as after any other fault', async (headers) => {
    service.answer(reply(429, '', headers), good);
    const { client, pauses } = await makeClient(service.baseUrl);
    await client.listTransactions(query);
    expect(pauses).toHaveLength(1);
    expect(pauses[0]).toBeLessThanOrEqual(2);
  });

  it("a date in Retry-After is relative to the answer's own date, whatever this machine's clock says", () => {
    const sent = Date.UTC(2025, 0, 1);
    const retry = { 'retry-after': new Date(sent + 7000).toUTCString() };
    const headers = new Headers({ ...retry, date: new Date(sent).toUTCString() });
    expect(parseRetryAfterMs(headers, sent - 3_600_000)).toBe(7000);
    expect(parseRetryAfterMs(headers, sent + 3_600_000)).toBe(7000);
    expect(parseRetryAfterMs(new Headers(retry), sent)).toBe(7000);
  });

  it('with HTTP 503 all requests pause if it names a time, and only then', async () => {
    service.answer(reply(503, html, { 'retry-after': '30' }), reply(503, html), good);
    const { client, pauses } = await makeClient(service.baseUrl);
    await client.listTransactions(query);
    expect(pauses).toEqual([30_000]);
  });
});

describe('an address request', () => {
  const request = { slip44: 60, num: 1 };
  it.each([
    ['service-refused', reply(200, '{"code":31,"msg":"chain"}')],
    ['service-refused', reply(400, '{"code":31,"msg":"chain"}')],
    ['service-nonce', reply(400, '{"code":10009,"msg":"invalid nonce"}')],
    ['service-nonce', reply(401, '{"code":10009,"msg":"invalid nonce"}')],
    ['service-authentication', reply(401, html)],
    ['service-authentication', reply(403)],
    ['service-rate-limited', reply(429, '', { 'retry-after': '9' })],
    ['service-unreachable', reply(500, '{"code":31,"msg":"chain"}')],
    ['service-unreachable', reply(408)],
    ['service-unreachable', reply(302, '', { location: '/' })],
    ['service-unreachable', reply(304)],
    ['service-malformed', reply(200, html)],
    ['service-malformed', reply(400, html)],
    ['service-malformed', reply(404, '{"code":0,"data":[]}')],
    ['service-malformed', reply(204)],
    ['service-malformed', reply(200, '{"code":0,"data":{"list":[]}}')],
  ])('[H8 H9 A1 A6] that ends as %s was sent once', async (code, fault) => {
    service.answer(fault);
    const { client, pauses } = await makeClient(service.baseUrl);
    await expect(client.generateAddresses(request)).rejects.toMatchObject({ code });
    expect(service.seen).toHaveLength(1);
    expect(pauses).toEqual(code === 'service-rate-limited' ? [9000] : []);
  });
});
