import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BalanceRecord } from '../../src/kernel/wallet-records.ts';
import { storeBalances } from '../../src/ledger/snapshots/balance-store.ts';
import { forAll } from '../support/for-all.ts';
import { decimals, hostileText } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query, clear, logged } = await withLedger();
beforeEach(clear);

function balance(given: Partial<BalanceRecord> = {}): BalanceRecord {
  return {
    slip44: 60,
    symbol: 'ETH',
    contractAddress: '',
    name: 'Ethereum',
    chainName: 'Ethereum',
    chainSymbol: 'ETH',
    balance: '1.50',
    frozen: '0',
    decimals: 18,
    ...given,
  };
}

const store = (records: BalanceRecord[], observation: number, isWhole = true) =>
  ledger.transaction((tx) => storeBalances(tx, records, observation, isWhole));

const readRows = () =>
  query<{ symbol: string; balance: string; frozen: string; is_listed: boolean }>(
    'select symbol, balance, frozen, is_listed from ledger.balances order by symbol, contract_address',
  );
const readChanges = () =>
  query<{ symbol: string; balance: string; frozen: string }>(
    'select symbol, balance, frozen from ledger.balance_changes order by id',
  );
const readVersions = () =>
  query(`select symbol, contract_address, ctid::text, xmin::text, xmax::text from ledger.balances
         union all select id::text, '', ctid::text, xmin::text, xmax::text from ledger.balance_changes order by 1, 2`);

test('each first sight and each change of an amount is one row of history, and a poll without changes is none', async () => {
  expect(await store([balance()], 1)).toMatchObject({ inserted: 1, updated: 0 });
  expect(await store([balance()], 2)).toMatchObject({ inserted: 0, updated: 0 });
  expect(await store([balance({ balance: '2' })], 3)).toMatchObject({ inserted: 0, updated: 1 });
  expect(await store([balance({ balance: '2', frozen: '0.5' })], 4)).toMatchObject({ updated: 1 });
  expect(await readChanges()).toEqual([
    { symbol: 'ETH', balance: '1.50', frozen: '0' },
    { symbol: 'ETH', balance: '2', frozen: '0' },
    { symbol: 'ETH', balance: '2', frozen: '0.5' },
  ]);
});

test('equal rows are neither written nor locked, and amounts are compared by value', async () => {
  const records = ['A', 'B', 'C'].map((symbol) => balance({ symbol }));
  await store(records, 1);
  const before = await readVersions();
  await store(records, 2);
  await store(
    records.map((record) => ({ ...record, balance: '1.5', frozen: '0.00' })),
    3,
  );
  expect(await readVersions()).toEqual(before);
});

test('a new name is stored without a row of history', async () => {
  await store([balance()], 1);
  expect(
    await store([balance({ name: 'Ether', chainName: 'Mainnet', decimals: 8 })], 2),
  ).toMatchObject({
    inserted: 0,
    updated: 1,
  });
  expect(
    await query('select name, chain_name, decimals, observation from ledger.balances'),
  ).toEqual([{ name: 'Ether', chain_name: 'Mainnet', decimals: 8, observation: '2' }]);
  expect(await readChanges()).toHaveLength(1);
});

test('[V1 V2] an amount that cannot be read never replaces a number, and a readable one replaces an empty value', async () => {
  await store([balance({ symbol: 'A' }), balance({ symbol: 'B', balance: null })], 1);
  await store([balance({ symbol: 'A', balance: null, frozen: null }), balance({ symbol: 'B' })], 2);
  expect(await readRows()).toEqual([
    { symbol: 'A', balance: '1.50', frozen: '0', is_listed: true },
    { symbol: 'B', balance: '1.50', frozen: '0', is_listed: true },
  ]);
  expect(await readChanges()).toEqual([
    { symbol: 'A', balance: '1.50', frozen: '0' },
    { symbol: 'B', balance: null, frozen: '0' },
    { symbol: 'B', balance: '1.50', frozen: '0' },
  ]);
});

describe('a balance that a complete answer lacks', () => {
  test('is no longer listed, has one row of history about it, and can return', async () => {
    const both = [balance({ symbol: 'A' }), balance({ symbol: 'B' })];
    await store(both, 1);
    expect(await store([balance({ symbol: 'A' })], 2)).toMatchObject({ inserted: 0, updated: 1 });
    expect(await store([balance({ symbol: 'A' })], 3)).toMatchObject({ inserted: 0, updated: 0 });
    expect(await readRows()).toMatchObject([
      { symbol: 'A', is_listed: true },
      { symbol: 'B', is_listed: false, balance: '1.50' },
    ]);
    expect(await store(both, 4)).toMatchObject({ inserted: 0, updated: 1 });
    expect(await readRows()).toMatchObject([{ is_listed: true }, { is_listed: true }]);
    expect((await readChanges()).slice(2)).toEqual([
      { symbol: 'B', balance: null, frozen: null },
      { symbol: 'B', balance: '1.50', frozen: '0' },
    ]);
  });

  test('returns with its earlier number if the new one cannot be read', async () => {
    await store([balance()], 1);
    await store([], 2);
    await store([balance({ balance: null })], 3);
    expect(await readRows()).toMatchObject([{ balance: '1.50', is_listed: true }]);
    expect((await readChanges()).at(-1)).toMatchObject({ balance: '1.50' });
  });

  test('stays listed if the answer is incomplete', async () => {
    await store([balance({ symbol: 'A' }), balance({ symbol: 'B' })], 1);
    expect(await store([balance({ symbol: 'A' })], 2, false)).toMatchObject({
      inserted: 0,
      updated: 0,
    });
    expect(await store([], 3, false)).toMatchObject({ inserted: 0, updated: 0 });
    expect(await readRows()).toMatchObject([{ is_listed: true }, { is_listed: true }]);
  });
});

test('[P14] an earlier answer neither overwrites a row nor ends its listing', async () => {
  await store([balance({ symbol: 'A', balance: '5' }), balance({ symbol: 'B' })], 10);
  expect(await store([balance({ symbol: 'A', balance: '4' })], 9)).toMatchObject({
    inserted: 0,
    updated: 0,
  });
  await store([balance({ symbol: 'A', balance: '5' })], 11);
  expect(await store([balance({ symbol: 'A' }), balance({ symbol: 'B' })], 10)).toMatchObject({
    inserted: 0,
    updated: 0,
  });
  expect(await readRows()).toMatchObject([
    { symbol: 'A', balance: '5', is_listed: true },
    { symbol: 'B', is_listed: false },
  ]);
});

test('[P14] an answer without changes counts as well: an earlier one that arrives after it is ignored', async () => {
  await store([balance({ balance: '5' })], 10);
  expect(await store([balance({ balance: '5' })], 30)).toMatchObject({ inserted: 0, updated: 0 });
  const late = [balance({ balance: '7' }), balance({ symbol: 'NEW' })];
  expect(await storeBalances(connect().db, late, 20, true)).toMatchObject({
    inserted: 0,
    updated: 0,
  });
  expect(await store([], 29)).toMatchObject({ inserted: 0, updated: 0 });
  expect(await readRows()).toEqual([{ symbol: 'ETH', balance: '5', frozen: '0', is_listed: true }]);
  expect(await readChanges()).toHaveLength(1);
});

test('a balance that another answer of the same pass contained stays listed', async () => {
  const both = [balance({ symbol: 'A' }), balance({ symbol: 'B' }), balance({ symbol: 'C' })];
  await store(both, 1);
  await ledger.transaction((tx) =>
    storeBalances(tx, [balance({ symbol: 'A' })], 2, true, [balance({ symbol: 'B' })]),
  );
  expect(await readRows()).toMatchObject([
    { symbol: 'A', is_listed: true },
    { symbol: 'B', is_listed: true },
    { symbol: 'C', is_listed: false },
  ]);
});

test('[V18] if an answer contains a key twice, its first row counts; contracts are distinguished', async () => {
  const stored = await store(
    [
      balance({ balance: '1' }),
      balance({ contractAddress: '0x1', balance: '2' }),
      balance({ balance: '3' }),
    ],
    1,
  );
  expect(stored).toMatchObject({ inserted: 2, updated: 0 });
  expect(await readRows()).toMatchObject([{ balance: '1' }, { balance: '2' }]);
});

test('[V3 V4 V5] amounts are stored digit for digit, at any length', async () => {
  await store(
    decimals.map(([amount], nth) => balance({ symbol: `${nth}`, balance: amount, frozen: amount })),
    1,
  );
  const expected = decimals.map(([, stored]) => ({ balance: stored, frozen: stored }));
  expect(await readRows()).toMatchObject(expected);
  expect(await readChanges()).toMatchObject(expected);
});

test('hostile text is stored unchanged', async () => {
  const texts = fc.tuple(hostileText, hostileText, hostileText);
  await forAll(texts)(60, async ([symbol, contractAddress, name]) => {
    await clear();
    await store([balance({ symbol, contractAddress, name })], 1);
    await store([balance({ symbol, contractAddress, name })], 2);
    expect(await query('select symbol, contract_address, name from ledger.balances')).toEqual([
      { symbol, contract_address: contractAddress, name },
    ]);
  });
});

describe('for any order of arrival', () => {
  const symbols = ['A', 'B', 'C'];
  /** Amounts that differ in each answer; an answer may leave symbols out. */
  const answers = fc
    .array(fc.subarray(symbols, { minLength: 1 }), { minLength: 1, maxLength: 8 })
    .map((named) =>
      named.map((of, index) => ({
        observation: index + 1,
        records: of.map((symbol) => balance({ symbol, balance: `${index + 1}.0` })),
      })),
    );

  test('the amounts of the latest answer are stored, and the history of each balance ends with them', async () => {
    const shuffled = answers.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    );
    await forAll(shuffled)(80, async ([all, arriving]) => {
      await clear();
      for (const { records, observation } of arriving) await store(records, observation);
      const latest = all.at(-1);
      const rows = await readRows();
      for (const record of latest?.records ?? []) {
        expect(rows).toContainEqual(
          expect.objectContaining({
            symbol: record.symbol,
            balance: record.balance,
            is_listed: true,
          }),
        );
      }
      const ends = new Map((await readChanges()).map((row) => [row.symbol, row.balance]));
      for (const row of rows) expect(ends.get(row.symbol)).toBe(row.is_listed ? row.balance : null);
    });
  });

  test('concurrent processes insert each balance once, never deadlock, and end with the latest answer', async () => {
    const writers = [connect(), connect(), connect(), connect()];
    const keys = Array.from({ length: 25 }, (_, nth) => `coin-${nth}`);
    let inserted = 0;
    await Promise.all(
      writers.map(async (writer, lane) => {
        for (let round = 0; round < 10; round += 1) {
          const observation = 1 + round * writers.length + lane;
          const records = keys.map((symbol) => balance({ symbol, balance: String(observation) }));
          const stored = await writer.transaction((tx) =>
            storeBalances(tx, lane % 2 ? records : records.reverse(), observation, true),
          );
          inserted += stored.inserted;
        }
      }),
    );
    expect(inserted).toBe(keys.length);
    expect(logged).toEqual([]);
    const rows = await readRows();
    expect(rows).toHaveLength(keys.length);
    for (const row of rows) expect(row).toMatchObject({ balance: '40', is_listed: true });
    const doubled = await query(
      `select symbol from ledger.balance_changes group by symbol, balance having count(*) > 1`,
    );
    expect(doubled).toEqual([]);
  });
});
