import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LedgerError } from '../../src/kernel/errors.ts';
import { createSemaphore } from '../../src/service/transport/semaphore.ts';
import { makeClient, testSecret } from '../support/make-client.ts';
import {
  pageOf,
  reply,
  type ScriptedService,
  send,
  startScriptedService,
  succeed,
} from '../support/scripted-service.ts';

let service: ScriptedService;
beforeEach(async () => {
  service = await startScriptedService();
});
afterEach(async () => await service.close());

const query = { type: 'deposit', pageNo: 1, pageSize: 10 } as const;
const good = succeed(pageOf([]));
const goodText = JSON.stringify({ code: 0, data: pageOf([]) });
const silence = () => undefined;
const singleAttempt = { retry: { attemptsMax: 1, baseDelayMs: 1, delayMaxMs: 1 } };

function cut(response: ServerResponse, headers: Record<string, string>): void {
  response.writeHead(200, headers);
  response.write(goodText.slice(0, 30), () => response.destroy());
}

it('[A1] an address request never goes over a used connection, which the service may just close', async () => {
  // Each connection serves one request; any further one on it is cut.
  const used = new Set<unknown>();
  const once = (_seen: unknown, response: ServerResponse, data: unknown) => {
    if (used.has(response.socket)) return void response.destroy();
    used.add(response.socket);
    return { code: 0, msg: 'success', data };
  };
  const { client, attempts } = await makeClient(service.baseUrl);
  service.answer((_seen, response) => once(_seen, response, pageOf([])));
  await client.listTransactions(query);
  service.answer((_seen, response) => once(_seen, response, [{ address: 'one' }]));
  for (const nth of [1, 2, 3]) {
    await client.generateAddresses({ slip44: 60, num: 1 });
    expect(attempts.at(-1)?.outcome, `request ${nth}`).toBe('success');
  }
});

describe('an answer', () => {
  it.each<[string, Parameters<ScriptedService['answer']>[0]]>([
    ['none', silence],
    ['only headers', (_seen, response) => void response.writeHead(200).flushHeaders()],
    ['half a body', (_seen, response) => void response.writeHead(200).write('{"code":0,')],
    [
      'a trickle',
      (_seen, response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write(' '), 10);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('[H1 H11] that does not end in time (%s) is retried', async (_what, fault) => {
    service.answer(fault, good);
    const { client, attempts } = await makeClient(service.baseUrl, { timeoutMs: 500 });
    expect(await client.listTransactions(query)).toMatchObject({ listed: 0 });
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['unreachable', 'success']);
  });

  it.each<[string, Parameters<ScriptedService['answer']>[0]]>([
    ['before its headers', (_seen, response) => void response.destroy()],
    ['with a length', (_seen, response) => cut(response, { 'content-length': '500' })],
    ['in chunks', (_seen, response) => cut(response, {})],
  ])('[H2 H12] that is cut %s is retried', async (_what, fault) => {
    service.answer(fault, good);
    const { client, attempts } = await makeClient(service.baseUrl);
    expect(await client.listTransactions(query)).toMatchObject({ listed: 0 });
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['unreachable', 'success']);
  });

  it('[H12] that is cut on a reused connection is retried', async () => {
    service.answer(good, (_seen, response) => void response.destroy(), good);
    const { client, attempts } = await makeClient(service.baseUrl);
    await client.listTransactions(query);
    expect(await client.listTransactions(query)).toMatchObject({ listed: 0 });
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['success', 'unreachable', 'success']);
  });

  it('[H2] that ends early without a length is malformed', async () => {
    service.answer((_seen, response) => send(response, 200, goodText.slice(0, 30)), good);
    const { client, attempts } = await makeClient(service.baseUrl);
    await client.listTransactions(query);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['malformed', 'success']);
  });

  it('[H5] that unpacks to more than 8 MiB is not read to the end', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '));
    service.answer((_seen, response) => send(response, 200, bomb, { 'content-encoding': 'gzip' }));
    const { client } = await makeClient(service.baseUrl, {
      retry: { attemptsMax: 2, baseDelayMs: 1, delayMaxMs: 1 },
    });
    const error: unknown = await client.listTransactions(query).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'service-malformed' });
    expect(String(error)).toContain('more than 8388608 bytes');
  });

  it.each([
    ['announced', { 'content-length': String(9 * 1024 * 1024) }],
    ['not announced', {}],
  ])('[H6] of 9 MiB whose length is %s is not read to the end', async (_what, headers) => {
    const huge = Buffer.alloc(9 * 1024 * 1024, ' ');
    service.answer((_seen, response) => send(response, 200, huge, headers));
    const { client } = await makeClient(service.baseUrl, singleAttempt);
    await expect(client.listTransactions(query)).rejects.toThrow('more than 8388608 bytes');
  });

  it('[H5] that unpacks to 10 GiB costs almost no memory', async () => {
    // Concatenated compressed streams are one stream.
    const member = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const bomb = Buffer.concat(Array.from({ length: 160 }, () => member));
    service.answer((_seen, response) => send(response, 200, bomb, { 'content-encoding': 'gzip' }));
    const { client } = await makeClient(service.baseUrl, singleAttempt);
    const before = process.memoryUsage().rss;
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 2);
    await expect(client.listTransactions(query)).rejects.toThrow('more than 8388608 bytes');
    clearInterval(watch);
    expect((peak - before) / 1024 / 1024).toBeLessThan(256);
  });

  it('that is compressed, or begins with a byte order mark, is read', async () => {
    const { client } = await makeClient(service.baseUrl);
    service.answer((_seen, response) =>
      send(response, 200, gzipSync(goodText), { 'content-encoding': 'gzip' }),
    );
    expect(await client.listTransactions(query)).toMatchObject({ listed: 0 });
    service.answer(reply(200, `\ufeff${goodText}`));
    expect(await client.listTransactions(query)).toMatchObject({ listed: 0 });
  });

  it('[H15] with a redirect is not followed, and the error names the setting', async () => {
    const other = await startScriptedService();
    other.answer(good);
    try {
      service.answer(reply(307, 'moved', { location: `${other.baseUrl}/v1/transaction/list` }));
      const { client } = await makeClient(service.baseUrl);
      await expect(client.listTransactions(query)).rejects.toThrow(/WALLET_BASE_URL/);
      expect(other.seen).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it('of a cache (HTTP 304) is not called a redirect, and the error says what to do', async () => {
    service.answer(reply(304));
    const { client } = await makeClient(service.baseUrl);
    const failure = client.listTransactions(query);
    await expect(failure).rejects.toThrow(/HTTP 304 .*a cache .*Let it pass all requests on/);
    await expect(failure).rejects.not.toThrow(/redirects/);
  });

  it.each([
    ['deep nesting', `{"code":0,"data":{"list":[${'['.repeat(200_000)}${']'.repeat(200_000)}]}}`],
    [
      'deep nesting of decimals',
      `{"code":0,"data":${'['.repeat(200_000)}1.5${']'.repeat(200_000)}}`,
    ],
    ['many names', `{"code":0,${Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join()}}`],
  ])('[H6] of %s causes no failure', async (_what, text) => {
    service.answer(reply(200, text), good);
    const { client } = await makeClient(service.baseUrl);
    expect(await client.listTransactions(query)).toMatchObject({ rejects: expect.any(Array) });
  });
});

describe('a connection that cannot be made', () => {
  it('[H13] because the name has no address ends in bounded time, and other requests continue', async () => {
    const nowhere = await makeClient('http://nowhere.invalid/api', { timeoutMs: 2_000 });
    service.answer(good);
    const { client } = await makeClient(service.baseUrl);
    const lost = nowhere.client.listTransactions(query);
    const ended = expect(lost).rejects.toMatchObject({ code: 'service-unreachable' });
    expect(await client.listTransactions(query)).toMatchObject({ listed: 0 });
    await ended;
    expect(nowhere.client.requests()).toBe(8);
  });

  it('is reported with its cause and without the secret', async () => {
    const gone = await startScriptedService();
    await gone.close();
    const { client, log } = await makeClient(gone.baseUrl);
    const error: unknown = await client.listTransactions(query).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'service-unreachable' });
    expect(String(error)).toMatch(/ECONNREFUSED.*8 attempts/);
    expect(inspect([error, log], { depth: 10, showHidden: true })).not.toContain(testSecret);
  });

  it('[H12 A1] leaves an address request in doubt, sent once', async () => {
    service.answer((_seen, response) => void response.destroy());
    const { client } = await makeClient(service.baseUrl);
    await expect(client.generateAddresses({ slip44: 60, num: 1 })).rejects.toMatchObject({
      code: 'service-unreachable',
    });
    expect(service.seen).toHaveLength(1);
  });
});

describe('concurrent requests', () => {
  it('are as many as allowed, and a waiting request has no ticket yet', async () => {
    const open: ServerResponse[] = [];
    service.answer((_seen, response) => void open.push(response));
    const { client, tickets } = await makeClient(service.baseUrl, { concurrency: 3 });
    const pages = Array.from({ length: 10 }, () => client.listTransactions(query));
    for (let answered = 0; answered < 10; answered += 1) {
      await vi.waitFor(() => expect(open).toHaveLength(Math.min(3, 10 - answered)));
      expect(tickets).toHaveLength(Math.min(10, answered + 3));
      const response = open.shift();
      if (response) send(response, 200, goodText);
      await vi.waitFor(() => expect(client.requests()).toBe(Math.min(10, answered + 4)));
    }
    expect(await Promise.all(pages)).toHaveLength(10);
  });

  it('leave the queue when they are aborted', async () => {
    const slots = createSemaphore(1);
    const first = new EventTarget();
    const running = slots.run('head', () => once(first, 'go'));
    const controller = new AbortController();
    const waiting = slots.run('head', async () => 'ran', controller.signal);
    const last = slots.run('head', async () => 'last');
    controller.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    first.dispatchEvent(new Event('go'));
    await running;
    expect(await last).toBe('last');
  });
});

describe('the signal', () => {
  it.each<[string, Parameters<ScriptedService['answer']>[0], object]>([
    ['an answer', silence, {}],
    ['a slot', silence, { concurrency: 1 }],
    [
      'the next attempt',
      reply(500),
      { retry: { attemptsMax: 3, baseDelayMs: 60_000, delayMaxMs: 60_000 } },
    ],
  ])('ends a wait for %s at once with its reason', async (_what, handler, options) => {
    service.answer(handler);
    const { client } = await makeClient(service.baseUrl, options);
    const controller = new AbortController();
    const calls = Array.from({ length: 20 }, () =>
      client.listTransactions(query, controller.signal),
    );
    await vi.waitFor(() => expect(service.seen.length).toBeGreaterThan(0));
    const reason = new Error('shutting down');
    controller.abort(reason);
    const ends = await Promise.allSettled(calls);
    expect(new Set(ends.map((end) => end.status === 'rejected' && end.reason))).toEqual(
      new Set([reason]),
    );
    await expect(client.listTransactions(query, controller.signal)).rejects.toBe(reason);
  });

  it('reaches a wait for a ticket, and errors of the ticket source are passed on', async () => {
    service.answer(good);
    const lost = new LedgerError('database-unreachable', 'no tickets');
    const { client } = await makeClient(service.baseUrl, {
      tickets: { take: () => Promise.reject(lost), pause: async () => undefined },
    });
    await expect(client.listTransactions(query)).rejects.toBe(lost);
    expect(service.seen).toEqual([]);
  });
});

describe('a custom signer during a request', () => {
  it('may replace the nonce, add headers and verify the answer', async () => {
    service.answer(reply(200, goodText, { 'biz-resp-signature': 'bad' }), reply(200, goodText));
    const { client, attempts } = await makeClient(service.baseUrl, {
      signer: {
        apiKey: 'k',
        sign: async () => ({
          signature: 's',
          nonce: 'n',
          headers: { authorization: 'Bearer x', Accept: 'text/json', 'Biz-Api-Key': 'another' },
        }),
        verifyResponse({ headers, rawBody }) {
          expect(rawBody).toBe(goodText);
          if (headers.get('biz-resp-signature') === 'bad') {
            throw new LedgerError('service-malformed', 'a wrong signature');
          }
        },
      },
    });
    await client.listTransactions(query);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['malformed', 'success']);
    expect(service.seen[0]?.headers).toMatchObject({
      'biz-api-key': 'k',
      'biz-api-nonce': 'n',
      'biz-api-signature': 's',
      authorization: 'Bearer x',
      accept: 'text/json',
    });
  });

  it('that hangs ends with the attempt, and one without a header value is an error', async () => {
    const hanging = await makeClient(service.baseUrl, {
      signer: { apiKey: 'k', sign: () => new Promise(() => undefined) },
      timeoutMs: 30,
      retry: { attemptsMax: 2, baseDelayMs: 1, delayMaxMs: 1 },
    });
    await expect(hanging.client.listTransactions(query)).rejects.toMatchObject({
      code: 'service-unreachable',
    });
    const broken = await makeClient(service.baseUrl, {
      signer: { apiKey: 'k', sign: () => ({ signature: 'a\nb' }) },
    });
    await expect(broken.client.listTransactions(query)).rejects.toThrow(/BIZ-API-SIGNATURE/);
  });
});
