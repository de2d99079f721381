import { afterAll, beforeEach, expect, test } from 'vitest';
import { syncBalances } from '../../src/sync/snapshots/sync-balances.ts';
import { syncCoins } from '../../src/sync/snapshots/sync-coins.ts';
import { makeClient } from '../support/make-client.ts';
import { reply, startScriptedService, succeed } from '../support/scripted-service.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const service = await startScriptedService();
afterAll(() => service.close());
beforeEach(clear);

const { client } = await makeClient(service.baseUrl, {
  retry: { attemptsMax: 1, baseDelayMs: 1, delayMaxMs: 1 },
});
const context = toolsOver({ ledger, client });
const { signal } = new AbortController();

const eth = {
  name: 'Ethereum',
  symbol: 'ETH',
  slip44: 60,
  contractAddress: null,
  decimal: 18,
  chainName: 'Ethereum',
  chainSymbol: 'ETH',
  balance: '1.500',
  frozen: '0',
};
const coin = { ...eth, depositState: 1, withdrawState: 0 };
const usdt = { symbol: 'USDT', contractAddress: '0xdac1' };

const passes = [
  ['balances', syncBalances, eth],
  ['coins', syncCoins, coin],
] as const;

test.each(passes)(
  '%s that differ are stored, and equal ones are not written',
  async (_name, sync, row) => {
    service.answer(succeed([row, { ...row, ...usdt }]));
    const report = { rowsSeen: 2, rowsInserted: 2, rowsUpdated: 0, isComplete: true };
    expect(await sync(context, signal)).toEqual(report);
    expect(await sync(context, signal)).toEqual({ ...report, rowsInserted: 0 });
    service.answer(succeed([{ ...row, name: 'Ether' }]));
    expect(await sync(context, signal)).toEqual({
      rowsSeen: 1,
      rowsInserted: 0,
      rowsUpdated: 2,
      isComplete: true,
    });
  },
);

test.each(passes)(
  '%s: one answer that is empty or lacks rows does not end any listing',
  async (name, sync, row) => {
    const both = [row, { ...row, ...usdt }];
    service.answer(succeed(both));
    await sync(context, signal);
    let asked = 0;
    const answers = (...rows: unknown[][]) => {
      asked = 0;
      service.answer(() => {
        asked += 1;
        return { code: 0, data: rows[Math.min(asked, rows.length) - 1] };
      });
    };
    const listed = async () =>
      (
        await query<{ symbol: string }>(
          `select symbol from ledger.${name} where is_listed order by 1`,
        )
      ).map(({ symbol }) => symbol);
    answers([], both);
    await sync(context, signal);
    expect([asked, await listed()]).toEqual([2, ['ETH', 'USDT']]);
    answers([row], [{ ...row, ...usdt }]);
    await sync(context, signal);
    expect([asked, await listed()]).toEqual([2, ['ETH', 'USDT']]);
    answers([], [row]);
    await sync(context, signal);
    expect([asked, await listed()]).toEqual([2, ['ETH']]);
    answers([row]);
    await sync(context, signal);
    expect([asked, await listed()]).toEqual([1, ['ETH']]);
  },
);

test.each(passes)(
  '%s in a list inside an object without page fields are stored, and each answer counts as complete',
  async (_name, sync, row) => {
    let asked = 0;
    service.answer((...request) => {
      asked += 1;
      const list = [
        { ...row, balance: String(asked) },
        { ...row, ...usdt },
      ];
      return succeed({ list })(...request);
    });
    const report = { rowsSeen: 2, rowsInserted: 2, isComplete: true };
    expect(await sync(context, signal)).toMatchObject(report);
    expect(await sync(context, signal)).toMatchObject({ ...report, rowsInserted: 0 });
    service.answer(succeed({ list: [row], totalSize: 2 }));
    await expect(sync(context, signal)).rejects.toMatchObject({ code: 'service-parameters' });
    service.answer(succeed({ list: [row], pageNo: 1 }));
    await expect(sync(context, signal)).rejects.toMatchObject({ code: 'service-parameters' });
  },
);

test.each([
  ['balances', syncBalances, eth, 'has one that is not 0'],
  ['coins', syncCoins, coin, 'lists 2'],
] as const)(
  'a list of %s that is suddenly empty is treated as a fault until it has been empty for a while',
  async (name, sync, row, held) => {
    const all = [row, { ...row, ...usdt, balance: '0' }];
    service.answer(succeed(all));
    await sync(context, signal);
    const empty = {
      code: 'service-malformed',
      message: `the list of ${name} is suddenly empty, and the ledger ${held}`,
    };
    const beEmptyFor11Minutes = () =>
      query(`update engine.snapshots set empty_since = empty_since - interval '11 minutes'`);
    const listed = async () => (await query(`select from ledger.${name} where is_listed`)).length;
    for (const answer of [[], { list: [] }]) {
      service.answer(succeed(answer));
      await expect(sync(context, signal)).rejects.toMatchObject(empty);
    }
    await beEmptyFor11Minutes();
    service.answer(succeed(all));
    await sync(context, signal);
    service.answer(succeed([]));
    await expect(sync(context, signal)).rejects.toMatchObject(empty);
    expect(await listed()).toBe(2);
    expect(await query(`select from ledger.${name.slice(0, -1)}_changes`)).toHaveLength(2);
    await beEmptyFor11Minutes();
    for (let passes = 0; passes < 2; passes += 1) await sync(context, signal);
    expect(await listed()).toBe(0);
  },
);

test('a list of balances that are all 0 may become empty at once', async () => {
  service.answer(succeed([{ ...eth, balance: '0.00' }]));
  await syncBalances(context, signal);
  service.answer(succeed([]));
  expect(await syncBalances(context, signal)).toMatchObject({ rowsUpdated: 1, isComplete: true });
});

test.each(passes)(
  '[V17] %s: a row without a key makes the pass incomplete, and ends the listing of no other row',
  async (name, sync, row) => {
    service.answer(succeed([row, { ...row, ...usdt }]));
    await sync(context, signal);
    service.answer(succeed([row, { ...row, ...usdt, slip44: 'what' }]));
    expect(await sync(context, signal)).toEqual({
      rowsSeen: 2,
      rowsInserted: 0,
      rowsUpdated: 0,
      isComplete: false,
    });
    expect(await query(`select is_listed from ledger.${name}`)).toEqual([
      { is_listed: true },
      { is_listed: true },
    ]);
    expect(await query('select source, field from ledger.rejects')).toEqual([
      { source: `${name.slice(0, -1)}-list`, field: 'slip44' },
    ]);
  },
);

test('a balance that cannot be read is a reject, and the pass still counts as complete', async () => {
  service.answer(succeed([{ ...eth, balance: 'plenty' }]));
  expect(await syncBalances(context, signal)).toMatchObject({ rowsInserted: 1, isComplete: true });
  expect(await query('select field from ledger.rejects')).toEqual([{ field: 'balance' }]);
  expect(await query('select balance, frozen from ledger.balances')).toEqual([
    { balance: null, frozen: '0' },
  ]);
});

test.each(passes)(
  '%s: null in place of the list is an empty list for an empty wallet',
  async (name, sync, row) => {
    const patient = await makeClient(service.baseUrl);
    const context = toolsOver({ ledger, client: patient.client });
    service.answer(succeed(null));
    expect(await sync(context, signal)).toMatchObject({ rowsSeen: 0, isComplete: true });
    service.answer(succeed([row]));
    expect(await sync(context, signal)).toMatchObject({ rowsInserted: 1 });
    service.answer(succeed(null));
    await expect(sync(context, signal)).rejects.toMatchObject({ code: 'service-malformed' });
    expect(await query(`select is_listed from ledger.${name}`)).toEqual([{ is_listed: true }]);
  },
);

test.each(passes)(
  '[V13] %s: an answer without usable content changes nothing',
  async (name, sync, row) => {
    service.answer(succeed([row]));
    await sync(context, signal);
    for (const answer of [reply(500), succeed(null), reply(200, '[]')]) {
      service.answer(answer);
      await expect(sync(context, signal)).rejects.toThrow();
    }
    expect(await query(`select is_listed from ledger.${name}`)).toEqual([{ is_listed: true }]);
  },
);

test.each(passes)(
  '[H8] %s: a refused key costs one request per pass, and no row is marked as unlisted because of it',
  async (name, sync, row) => {
    service.answer(succeed([row]));
    await sync(context, signal);
    for (const status of [401, 403]) {
      service.answer(reply(status, '{"code":1,"data":[],"msg":"key"}'));
      await expect(sync(context, signal)).rejects.toMatchObject({ code: 'service-authentication' });
      expect(service.seen).toHaveLength(1);
    }
    expect(await query(`select is_listed from ledger.${name}`)).toEqual([{ is_listed: true }]);
  },
);

test('[H10] an endpoint that always fails does not delay the others', async () => {
  service.answer(({ url }, response) =>
    url.pathname.endsWith('/balance')
      ? void response.writeHead(503).end()
      : { code: 0, data: [coin] },
  );
  const [balances, coins] = await Promise.allSettled([
    syncBalances(context, signal),
    syncCoins(context, signal),
  ]);
  expect(balances).toMatchObject({ reason: { code: 'service-unreachable' } });
  expect(coins).toMatchObject({ value: { rowsInserted: 1, isComplete: true } });
});

test.each([
  ['balances', syncBalances, eth, 'listBalances'],
  ['coins', syncCoins, coin, 'listCoins'],
] as const)(
  '%s: an older answer that arrives late resolves no reject of a later one',
  async (_name, sync, row, method) => {
    service.answer(succeed([row]));
    const older = await context.client[method](signal);
    service.answer(succeed([row, { ...row, symbol: null }]));
    await sync(context, signal);
    const late = { ...context.client, [method]: async () => older };
    await sync({ ...context, client: late }, signal);
    expect(await query('select source, resolved_at from ledger.rejects')).toEqual([
      { source: expect.any(String), resolved_at: null },
    ]);
  },
);
