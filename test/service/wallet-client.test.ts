import { afterAll, describe, expect, it } from 'vitest';
import { makeClient } from '../support/make-client.ts';
import { pageOf, startScriptedService, succeed } from '../support/scripted-service.ts';

const service = await startScriptedService();
afterAll(() => service.close());

const transaction = { orderNo: 'o-1', amount: '1', time: 1_718_587_017_026 };
const balance = (slip44: number) => ({ slip44, symbol: 'ETH', balance: '1', frozen: '0' });

describe('the wallet client', () => {
  it('requests transactions with the configured names and signs the request', async () => {
    service.answer(succeed(pageOf([transaction], { totalSize: '41', pageNo: 3 })));
    const { client, tickets } = await makeClient(`${service.baseUrl}/`, {
      paramNames: { page: 'p', size: 's', chain: 'c', type: 't' },
    });
    const page = await client.listTransactions({ type: 'deposit', pageNo: 3, pageSize: 20 });

    expect(page).toMatchObject({
      observation: 1,
      pageNo: 3,
      pageSize: 10,
      totalSize: 41,
      listed: 1,
    });
    expect(page.records).toMatchObject([{ orderNo: 'o-1', amount: '1' }]);
    const [seen] = service.seen;
    expect(`${seen?.url.pathname}${seen?.url.search}`).toBe(
      '/api/v1/transaction/list?t=deposit&p=3&s=20',
    );
    expect(seen?.headers).toMatchObject({
      'biz-api-key': '02a3c02e0a220a00102b94c093fbea424c49743d47cefddd4a11c1035c92466445',
      'biz-api-nonce': tickets[0],
      'biz-api-signature': expect.stringMatching(/^30[0-9a-f]+$/),
    });
    expect(client.requests()).toBe(1);
  });

  it('returns the page fields of an answer, and null for unusable ones', async () => {
    const { client } = await makeClient(service.baseUrl);
    const query = { type: 'withdraw', pageNo: 7, pageSize: 10 } as const;
    for (const [told, expected] of [
      [{ pageNo: 1 }, { pageNo: 1, totalSize: 1 }],
      [
        { pageNo: 'x', totalSize: -1, pageSize: 0 },
        { pageNo: null, totalSize: null, pageSize: 1 },
      ],
      [
        { totalSize: null, pageSize: '50' },
        { totalSize: null, pageSize: 50 },
      ],
      [
        { totalSize: 1.5, pageSize: null },
        { totalSize: null, pageSize: 1 },
      ],
    ] as const) {
      service.answer(succeed(pageOf([transaction], told)));
      expect(await client.listTransactions(query)).toMatchObject(expected);
    }
  });

  it('lists addresses of a chain', async () => {
    service.answer(succeed(pageOf([{ address: '0x1' }, { address: '' }])));
    const { client } = await makeClient(service.baseUrl);
    const page = await client.listAddresses({ slip44: 60, pageNo: 1, pageSize: 10 });
    expect(page).toMatchObject({ records: [{ address: '0x1' }], rejects: [{}], listed: 2 });
    expect(service.seen[0]?.url.search).toBe('?slip44=60&pageNo=1&pageSize=10');
  });

  it('fetches one transaction by its order number', async () => {
    service.answer(succeed({ ...transaction, orderNo: 'a b/ß', fee: '0.1', confirmNum: '3' }));
    const { client } = await makeClient(service.baseUrl);
    const { records } = await client.getTransaction('a b/ß');
    expect(records).toMatchObject([{ orderNo: 'a b/ß', fee: '0.1', confirmNum: 3 }]);
    expect(service.seen[0]?.url.searchParams.get('orderNo')).toBe('a b/ß');
    expect(service.seen[0]?.url.searchParams.has('requestId')).toBe(false);
  });

  it('[P13] treats the answer for another order as malformed, and requests it again', async () => {
    service.answer(succeed({ ...transaction, orderNo: 'o-2' }), succeed(transaction));
    const { client } = await makeClient(service.baseUrl);
    expect((await client.getTransaction('o-1')).records).toMatchObject([{ orderNo: 'o-1' }]);
    expect(service.seen).toHaveLength(2);

    service.answer(succeed({ ...transaction, orderNo: 'o-2' }));
    await expect(client.getTransaction('o-1')).rejects.toMatchObject({ code: 'service-malformed' });
  });

  it('reports a detail without an order number as a reject of the requested order', async () => {
    service.answer(succeed({ amount: '1' }));
    const { client } = await makeClient(service.baseUrl);
    expect(await client.getTransaction('o-1')).toMatchObject({
      records: [],
      rejects: [{ source: 'transaction-detail', orderNo: 'o-1', field: 'orderNo' }],
    });
  });

  it('reads balances and coins without parameters', async () => {
    const { client } = await makeClient(service.baseUrl);
    service.answer(succeed([balance(60), balance(0)]));
    expect(await client.listBalances()).toMatchObject({ observation: 1, records: [{}, {}] });
    expect(service.seen.map(({ url }) => url.pathname + url.search)).toEqual([
      '/api/v1/wallet/balance',
    ]);
    service.answer(succeed([{ slip44: 60, symbol: 'ETH', decimal: 18 }]));
    expect(await client.listCoins()).toMatchObject({ records: [{ decimals: 18 }] });
    expect(service.seen[0]?.url.pathname).toBe('/api/v1/wallet/coin');
  });

  it('reads all pages of balances if the service pages them', async () => {
    const all = [60, 0, 195, 501, 2].map(balance);
    service.answer(({ url }) => {
      const pageNo = Number(url.searchParams.get('pageNo') ?? 1);
      const list = all.slice(2 * (pageNo - 1), 2 * pageNo);
      return { code: 0, data: { pageNo, pageSize: 2, totalSize: 5, list } };
    });
    const { client } = await makeClient(service.baseUrl);
    const { observation, records } = await client.listBalances();
    expect(records.map(({ slip44 }) => slip44)).toEqual([60, 0, 195, 501, 2]);
    expect(observation).toBe(1);
    expect(service.seen.map(({ url }) => url.search)).toEqual([
      '',
      '?pageNo=2&pageSize=2',
      '?pageNo=3&pageSize=2',
    ]);
  });

  it('reports the configured parameter names if the service ignores them', async () => {
    service.answer(() => ({ code: 0, data: { pageSize: 1, totalSize: 3, list: [balance(60)] } }));
    const { client } = await makeClient(service.baseUrl);
    await expect(client.listBalances()).rejects.toMatchObject({ code: 'service-parameters' });
    expect(service.seen).toHaveLength(2);
  });

  it('does not accept pages that end early as a complete snapshot', async () => {
    service.answer(
      () => ({ code: 0, data: { pageNo: 1, pageSize: 1, totalSize: 3, list: [balance(60)] } }),
      () => ({ code: 0, data: { pageNo: 2, pageSize: 1, totalSize: 3, list: [] } }),
    );
    const { client } = await makeClient(service.baseUrl);
    await expect(client.listBalances()).rejects.toMatchObject({ code: 'service-malformed' });
  });

  it('generates addresses with one POST of JSON', async () => {
    service.answer(succeed([{ address: '0x1' }, { address: '0x2' }]));
    const { client } = await makeClient(service.baseUrl);
    expect(await client.generateAddresses({ slip44: 60, num: 2 })).toEqual({
      observation: 1,
      records: [{ address: '0x1' }, { address: '0x2' }],
      rejects: [],
    });
    expect(service.seen).toMatchObject([
      {
        method: 'POST',
        body: '{"slip44":60,"num":2}',
        headers: { 'content-type': 'application/json' },
      },
    ]);
  });
});
