import { describe, expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts';
import { call, callJson } from './signed-call.ts';
import { withSandbox } from './with-sandbox.ts';

async function walk(sandbox: Sandbox, path: string, query: string) {
  // biome-ignore lint/suspicious/noExplicitAny: rows of any list
  const rows: any[] = [];
  for (let pageNo = 1; ; pageNo++) {
    const { data } = await callJson(sandbox, path, { query: `${query}&pageNo=${pageNo}` });
    if (data.list.length === 0) return rows;
    rows.push(...data.list);
  }
}

const listPath = '/v1/transaction/list';

describe('the transaction list', () => {
  test.each(['newest-first', 'oldest-first', 'unordered'] as const)(
    'shows every row exactly once in its pages, %s',
    async (listOrder) => {
      const sandbox = await withSandbox({ listOrder, settleMs: 0 });
      for (const type of ['deposit', 'withdraw', undefined] as const) {
        const rows = await walk(sandbox, listPath, `${type ? `type=${type}&` : ''}pageSize=17`);
        const truth = sandbox.world
          .transactions(type)
          .map(({ confirmNum, fee, feeSymbol, ...listForm }) => listForm);
        if (listOrder === 'newest-first') truth.reverse();
        if (listOrder === 'unordered') {
          expect(rows).not.toEqual(truth);
          const byOrderNo = (a: { orderNo: string }, b: { orderNo: string }) =>
            a.orderNo < b.orderNo ? -1 : 1;
          expect(rows.sort(byOrderNo)).toEqual(truth.sort(byOrderNo));
        } else expect(rows).toEqual(truth);
      }
    },
  );

  test('shows every row once also in another order on each request', async () => {
    const sandbox = await withSandbox({ listOrder: 'shuffled', transactions: 60 });
    const read = async () => {
      const { data } = await callJson(sandbox, listPath, { query: 'pageSize=100' });
      return data.list.map((row: { orderNo: string }) => row.orderNo) as string[];
    };
    const first = await read();
    const second = await read();
    expect(new Set(first).size).toBe(60);
    expect(second).not.toEqual(first);
    expect(new Set(second)).toEqual(new Set(first));
  });

  test('has the documented page object', async () => {
    const sandbox = await withSandbox({ transactions: 45 });
    const page = async (query: string) => {
      const { data } = await callJson(sandbox, listPath, { query });
      const { list, ...numbers } = data;
      return { ...numbers, listed: list.length };
    };
    const common = { pageSize: 10, totalSize: 45, totalPages: 5 };
    const first = { ...common, pageNo: 1, prevPage: 1, nextPage: 2, listed: 10 };
    expect(await page('')).toEqual(first);
    expect(await page('page=4&limit=3')).toEqual(first);
    expect(await page('pageNo=5')).toEqual({
      ...common,
      pageNo: 5,
      prevPage: 4,
      nextPage: 5,
      listed: 5,
    });
    expect(await page('pageNo=6')).toMatchObject({ pageNo: 6, listed: 0 });
  });

  test('reduces a page size to the maximum, or refuses it', async () => {
    const clamping = await withSandbox({ pageSizeMax: 50 });
    const query = 'pageSize=200';
    const { data } = await callJson(clamping, listPath, { query });
    expect([data.pageSize, data.list.length]).toEqual([50, 50]);
    const refusing = await withSandbox({ pageSizeMax: 50, pageSizeRule: 'refuse' });
    expect((await callJson(refusing, listPath, { query })).code).not.toBe(0);
  });

  test('answers a page beyond the end as configured', async () => {
    const query = 'pageNo=99&pageSize=100';
    const lastPage = await withSandbox({ beyondEnd: 'last-page', transactions: 150 });
    expect((await callJson(lastPage, listPath, { query })).data).toMatchObject({ pageNo: 2 });
    const refusing = await withSandbox({ beyondEnd: 'refuse' });
    expect((await callJson(refusing, listPath, { query })).code).not.toBe(0);
  });

  test('counts the newest rows later than it lists them', async () => {
    const sandbox = await withSandbox({ totalLag: 7 });
    const { data } = await callJson(sandbox, listPath, { query: 'pageSize=3' });
    expect(data.totalSize).toBe(193);
    expect(data.list[0].orderNo).toBe(sandbox.world.transactions().at(-1)?.orderNo);
  });

  test('accepts other parameter names', async () => {
    const paramNames = { page: 'p', size: 's', chain: 'c', type: 't' };
    const sandbox = await withSandbox({ paramNames });
    const { data } = await callJson(sandbox, listPath, { query: 'p=2&s=5&t=withdraw' });
    expect(data).toMatchObject({ pageNo: 2, pageSize: 5 });
    expect(data.list.every((row: { type: string }) => row.type === 'withdraw')).toBe(true);
  });

  test.each(['pageNo=0', 'pageNo=x', 'pageSize=0', 'type=other'])('refuses %s', async (query) => {
    const sandbox = await withSandbox();
    expect((await callJson(sandbox, listPath, { query })).code).not.toBe(0);
  });

  test('keeps hostile rows unchanged, and their details', async () => {
    const sandbox = await withSandbox({ transactions: 3 });
    sandbox.world.addRawListRow('deposit', '{"orderNo":"x","amount":12345678901234567890.1}', {
      orderNo: 'x',
      detail: { orderNo: 'y' },
    });
    sandbox.world.addRawListRow('deposit', { orderNo: 'nul\u0000', time: null });
    const text = await (await call(sandbox, listPath)).text();
    expect(text).toContain(
      '"list":[{"orderNo":"nul\\u0000","time":null},{"orderNo":"x","amount":12',
    );
    expect(text).toContain('"totalSize":5');
    const { data } = await callJson(sandbox, '/v1/transaction/info', { query: 'orderNo=x' });
    expect(data).toEqual({ orderNo: 'y' });
  });
});

describe('the address list', () => {
  test('shows all addresses of a chain in its pages, generated ones included', async () => {
    const sandbox = await withSandbox({ addressesPerChain: 25 });
    const body = '{"slip44":60,"num":3}';
    const { data } = await callJson(sandbox, '/v1/wallet/address', { body });
    const rows = await walk(sandbox, '/v1/wallet/address/list', 'slip44=60&pageSize=9');
    expect(rows.map((row) => row.address).reverse()).toEqual(sandbox.world.addresses(60));
    expect(rows.slice(0, 3)).toEqual(data.reverse());
    expect(sandbox.world.generated(60)).toBe(3);
  });

  test('shows generated addresses after the lag', async () => {
    const time = { now: 1_750_000_000_000 };
    const sandbox = await withSandbox({ addressLagMs: 60_000, clock: () => time.now });
    await callJson(sandbox, '/v1/wallet/address', { body: '{"slip44":0,"num":5}' });
    const total = async () =>
      (await callJson(sandbox, '/v1/wallet/address/list', { query: 'slip44=0' })).data.totalSize;
    expect(await total()).toBe(50);
    time.now += 60_000;
    expect(await total()).toBe(55);
  });

  test.each(['', 'slip44=-1', 'slip44=999', 'chain=60'])('refuses "%s"', async (query) => {
    const sandbox = await withSandbox();
    expect((await callJson(sandbox, '/v1/wallet/address/list', { query })).code).not.toBe(0);
  });
});
