import { beforeEach, expect, test } from 'vitest';
import type { CoinRecord } from '../../src/kernel/wallet-records.ts';
import { storeCoins } from '../../src/ledger/snapshots/coin-store.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query, clear, logged } = await withLedger();
beforeEach(clear);

function coin(given: Partial<CoinRecord> = {}): CoinRecord {
  return {
    slip44: 60,
    symbol: 'ETH',
    contractAddress: '',
    name: 'Ethereum',
    decimals: 18,
    depositState: 1,
    withdrawState: 1,
    ...given,
  };
}

const store = (records: CoinRecord[], observation: number, isWhole = true) =>
  ledger.transaction((tx) => storeCoins(tx, records, observation, isWhole));
const readRows = () =>
  query(`select symbol, name, decimals, deposit_state, withdraw_state, is_listed
           from ledger.coins order by symbol, contract_address`);

test('new coins are inserted, different ones updated, and equal ones not written', async () => {
  expect(await store([coin(), coin({ contractAddress: '0x1' })], 1)).toMatchObject({
    inserted: 2,
    updated: 0,
  });
  const versions = () => query('select ctid::text, xmin::text, xmax::text from ledger.coins');
  const before = await versions();
  expect(await store([coin(), coin({ contractAddress: '0x1', name: null })], 2)).toMatchObject({
    inserted: 0,
    updated: 0,
  });
  expect(await versions()).toEqual(before);
  expect(
    await store([coin({ depositState: 0 }), coin({ contractAddress: '0x1' })], 3),
  ).toMatchObject({
    inserted: 0,
    updated: 1,
  });
  expect(await readRows()).toMatchObject([{ deposit_state: 0 }, { deposit_state: 1 }]);
});

test('a coin that a complete answer lacks is no longer listed until it appears again', async () => {
  await store([coin({ symbol: 'A' }), coin({ symbol: 'B' })], 1);
  await store([coin({ symbol: 'A' })], 2, false);
  expect(await readRows()).toMatchObject([{ is_listed: true }, { is_listed: true }]);
  await store([coin({ symbol: 'A' })], 3);
  expect(await readRows()).toMatchObject([{ is_listed: true }, { is_listed: false }]);
  await store([coin({ symbol: 'A' }), coin({ symbol: 'B', withdrawState: 2 })], 4);
  expect(await readRows()).toMatchObject([
    { is_listed: true },
    { is_listed: true, withdraw_state: 2 },
  ]);
});

test('each first sight and each change of a coin is one row of history, and a poll without changes is none', async () => {
  await store([coin()], 1);
  await store([coin()], 2);
  await store([coin({ depositState: 0 })], 3);
  await store([coin({ name: null, depositState: 0 })], 4);
  await store([], 5);
  await store([coin({ depositState: 0 })], 6);
  const seen = { symbol: 'ETH', name: 'Ethereum', decimals: 18, withdraw_state: 1 };
  expect(
    await query(`select symbol, name, decimals, deposit_state, withdraw_state, is_listed
                   from ledger.coin_changes order by id`),
  ).toEqual([
    { ...seen, deposit_state: 1, is_listed: true },
    { ...seen, deposit_state: 0, is_listed: true },
    { ...seen, deposit_state: 0, is_listed: false },
    { ...seen, deposit_state: 0, is_listed: true },
  ]);
});

test('[P14] an earlier answer neither overwrites a coin nor ends its listing', async () => {
  await store([coin({ symbol: 'A', decimals: 8 }), coin({ symbol: 'B' })], 5);
  expect(await store([coin({ symbol: 'A', decimals: 6 })], 4)).toMatchObject({
    inserted: 0,
    updated: 0,
  });
  expect(await readRows()).toMatchObject([{ decimals: 8 }, { is_listed: true }]);
});

test('concurrent processes insert each coin once and never deadlock', async () => {
  const writers = [connect(), connect(), connect(), connect()];
  const records = Array.from({ length: 30 }, (_, nth) => coin({ symbol: `coin-${nth}` }));
  const stored = await Promise.all(
    writers.map((writer, lane) =>
      writer.transaction((tx) =>
        storeCoins(tx, lane % 2 ? records : [...records].reverse(), lane + 1, true),
      ),
    ),
  );
  expect(stored.reduce((sum, { inserted }) => sum + inserted, 0)).toBe(records.length);
  expect(logged).toEqual([]);
});
