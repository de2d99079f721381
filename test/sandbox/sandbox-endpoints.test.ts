import { describe, expect, test } from 'vitest';
import { sandboxSettings } from '../../src/sandbox/sandbox-settings.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { call, callJson } from './signed-call.ts';
import { withSandbox } from './with-sandbox.ts';

describe('the sandbox endpoints', () => {
  test('return details by orderNo or requestId, and an error code for an unknown order', async () => {
    const sandbox = await withSandbox({ settleMs: 0 });
    const row = sandbox.world.transactions('withdraw')[0]!;
    const info = (query: string) => callJson(sandbox, '/v1/transaction/info', { query });
    expect(await info(`orderNo=${row.orderNo}`)).toEqual({ code: 0, data: row, msg: 'success' });
    expect((await info(`requestId=${row.requestId}&orderNo=`)).data).toEqual(row);
    expect((await info('orderNo=unknown')).code).toBe(40001);
    expect((await info('')).code).toBe(20001);
  });

  test('return coins and balances, the balances in a page object if configured so', async () => {
    const sandbox = await withSandbox();
    const { data } = await callJson(sandbox, '/v1/wallet/coin');
    expect(data).toEqual(sandbox.world.coins());
    expect(data).toContainEqual({
      name: 'Ethereum',
      symbol: 'ETH',
      decimal: 18,
      depositState: 1,
      withdrawState: 1,
      slip44: 60,
      contractAddress: null,
    });
    const balances = await callJson(sandbox, '/v1/wallet/balance');
    expect(balances.data).toEqual(sandbox.world.balances());
    const paged = await withSandbox({ balancesPaged: true });
    const page = await callJson(paged, '/v1/wallet/balance', { query: 'pageSize=3&pageNo=3' });
    expect(page.data.list).toEqual(paged.world.balances().slice(0, 2).reverse());
  });

  test.each([
    ['{"slip44":60}', {}, 0, 1],
    ['{"slip44":60,"num":200}', {}, 0, 200],
    ['{"slip44":60,"num":201}', {}, 30002, 0],
    ['{"slip44":60,"num":0}', {}, 30002, 0],
    ['{"slip44":3}', {}, 30003, 0],
    ['{"slip44":60}', { mayAddAddresses: false }, 30001, 0],
    ['{"slip44":60}', { supportedChains: [0] }, 30003, 0],
    ['{"slip44":"60"}', {}, 20001, 0],
  ])('answer generation of %s with %o by code %i', async (body, options, code, generated) => {
    const sandbox = await withSandbox(options);
    const answer = await callJson(sandbox, '/v1/wallet/address', { body });
    expect(answer.code).toBe(code);
    expect(sandbox.world.generated(60)).toBe(generated);
    if (code === 0) expect(answer.data).toHaveLength(generated);
  });

  test('answer with a configured response instead of their own', async () => {
    const sandbox = await withSandbox();
    const text = '{"code":"0","data":[{"balance":1e400}]}';
    sandbox.answers.set('/v1/wallet/balance', { status: 203, text });
    const answer = await call(sandbox, '/v1/wallet/balance');
    expect([answer.status, await answer.text()]).toEqual([203, text]);
    sandbox.answers.clear();
    expect((await callJson(sandbox, '/v1/wallet/balance')).code).toBe(0);
  });

  test('refuse other paths and methods', async () => {
    const sandbox = await withSandbox();
    expect((await call(sandbox, '/v1/other')).status).toBe(404);
    expect((await call(sandbox, '/v1/wallet/coin', { body: '{}' })).status).toBe(404);
    expect((await call(sandbox, '/v1/toString')).status).toBe(404);
  });
});

describe('a sandbox', () => {
  test('answers 429 with Retry-After above its rate', async () => {
    const time = { now: 1_750_000_000_000 };
    const sandbox = await withSandbox({ rate: 3, clock: () => time.now });
    const statuses = async () => {
      const answers = [];
      for (let i = 0; i < 4; i++) answers.push(await call(sandbox, '/v1/wallet/coin'));
      expect(answers[3]!.headers.get('retry-after')).toBe('1');
      return answers.map((answer) => answer.status);
    };
    expect(await statuses()).toEqual([200, 200, 200, 429]);
    time.now += 1_000;
    expect(await statuses()).toEqual([200, 200, 200, 429]);
    expect(sandbox.stats).toMatchObject({ tooManyRequests: 2, busiestSecond: 4, nonces: 8 });
  });

  test('counts requests by endpoint and type until reset', async () => {
    const sandbox = await withSandbox();
    await call(sandbox, '/v1/transaction/list', { query: 'type=deposit' });
    await call(sandbox, '/v1/transaction/list');
    expect(sandbox.stats.requests).toMatchObject({
      '/v1/transaction/list': 2,
      '/v1/wallet/coin': 0,
    });
    expect(sandbox.stats.listRequests).toEqual({ deposit: 1, withdraw: 0, all: 1 });
    sandbox.stats.reset();
    expect(sandbox.stats.requests['/v1/transaction/list']).toBe(0);
  });

  test('delays many concurrent requests if configured so', async () => {
    const sandbox = await withSandbox({ latencyMs: 50 });
    const began = performance.now();
    await Promise.all(Array.from({ length: 20 }, () => call(sandbox, '/v1/wallet/coin')));
    expect(performance.now() - began).toBeGreaterThanOrEqual(49);
  });

  test('is controlled over HTTP from another process', async () => {
    const sandbox = await withSandbox({ transactions: 20 });
    const control = async (path: string, body?: object) => {
      const init = body && { method: 'POST', body: JSON.stringify(body) };
      const answer = await fetch(new URL(`/control/${path}`, sandbox.baseUrl), init);
      // biome-ignore lint/suspicious/noExplicitAny: the answers are what the test looks into
      return (await answer.json()) as any;
    };
    const { orderNos } = await control('transactions', { count: 2, type: 'deposit', at: 5 });
    await control('state', { orderNo: orderNos[0], state: 'strange' });
    const rows = await control('transactions?type=deposit');
    expect(rows[0]).toMatchObject({ orderNo: orderNos[0], state: 'strange', time: 5 });
    expect(rows).toEqual(sandbox.world.transactions('deposit'));
    await control('faults', { next: ['server-error'], match: 'coin' });
    expect((await call(sandbox, '/v1/wallet/coin')).status).toBe(500);
    const { requests, faults, generated } = await control('stats');
    expect(requests['/v1/wallet/coin']).toBe(1);
    expect(faults['server-error']).toBe(1);
    expect(generated).toEqual({ 0: 0, 2: 0, 60: 0, 195: 0 });
    expect(await control('faults', { next: ['nonsense'] })).toHaveProperty('error');
    await control('stats/reset', {});
    expect(sandbox.stats.faults['server-error']).toBe(0);
  });

  test('names the settings that connect to it', async () => {
    const sandbox = await withSandbox({ signer: 'body-hmac', seed: 3 });
    expect(sandboxSettings(sandbox)).toEqual({
      WALLET_BASE_URL: `http://127.0.0.1:${sandbox.port}/api`,
      WALLET_API_KEY: 'sandbox-key-3',
      WALLET_API_SECRET: sandbox.credentials.apiSecret,
      WALLET_SIGNER: 'body-hmac',
    });
    const paramNames = { page: 'p', size: 's', chain: 'c', type: 't' };
    const other = await withSandbox({ paramNames, signEncoding: 'raw-base64' });
    expect(sandboxSettings(other)).toMatchObject({
      WALLET_PARAM_NAMES: 'page=p,size=s,chain=c,type=t',
      WALLET_SIGN_ENCODING: 'raw-base64',
    });
  });

  test('closes while requests hang, and releases its port', async () => {
    const sandbox = await startSandbox({ transactions: 1, hangMs: 30_000 });
    sandbox.faults.next.push('hang');
    const hanging = call(sandbox, '/v1/wallet/coin');
    await expect.poll(() => sandbox.stats.faults.hang).toBe(1);
    await Promise.all([expect(hanging).rejects.toThrow(), sandbox.close()]);
    const next = await startSandbox({ transactions: 1, port: sandbox.port });
    await next.close();
  });

  test('rejects when its port is taken', async () => {
    const { port } = await withSandbox();
    await expect(startSandbox({ transactions: 1, port })).rejects.toThrow(/EADDRINUSE/);
  });
});
