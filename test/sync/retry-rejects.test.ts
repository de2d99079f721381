import { beforeEach, expect, test } from 'vitest';
import type { Reject } from '../../src/kernel/wallet-records.ts';
import { storeRejects } from '../../src/ledger/transactions/reject-store.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { retryRejects } from '../../src/sync/checks/retry-rejects.ts';
import { beginTransaction, untilBlocked } from '../support/begin-transaction.ts';
import { listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const testLedger = await withLedger();
const { ledger, query, clear } = testLedger;
const { db } = ledger;
beforeEach(clear);

const time = Date.UTC(2026, 0, 1);
const row = { symbol: 'ETH', type: 'deposit', state: 'pending', amount: '2', time };

/** Like the reject of an older program version that could not read these values. */
function reject(change: Partial<Reject>, payload: object = row): Reject {
  return {
    source: 'transaction-list',
    orderNo: 'a',
    field: 'amount',
    reason: 'amount is odd',
    payload: JSON.stringify({ orderNo: 'a', ...payload }),
    ...change,
  };
}

async function retry(ids: number[] | null = null) {
  const rows = await query<{ id: number; field: string | null }>(
    'select id::int, field from ledger.rejects',
  );
  const fieldOf = (id: number) => rows.find((row) => row.id === id)?.field;
  const { resolved, open } = await retryRejects(ledger, ids, Date.now());
  return { resolved: resolved.map(fieldOf), open: open.map(fieldOf) };
}

const stored = () =>
  query(
    'select order_no, stream, amount, state, observation::int from ledger.transactions order by 1',
  );

test('a reject that occurs again with another payload while the old one is decoded stays open', async () => {
  await storeRejects(db, [reject({})]);
  await query(`update ledger.rejects set last_seen_at = now() - interval '2 hours'`);
  const storing = await beginTransaction(ledger, (tx) =>
    storeRejects(tx, [reject({}, { ...row, amount: 'x' })]),
  );
  const retrying = retry();
  await untilBlocked(testLedger);
  await storing.commit();
  expect(await retrying).toEqual({ resolved: [], open: ['amount'] });
  expect(await retry()).toEqual({ resolved: [], open: ['amount'] });
});

test('an old payload fills empty fields and replaces no value', async () => {
  await storeListedTransactions(db, 'deposit', [
    listed({ orderNo: 'a', state: 'success', observation: 9 }),
  ]);
  await storeRejects(db, [reject({})]);
  expect(await retry()).toEqual({ resolved: ['amount'], open: [] });
  const filled = {
    order_no: 'a',
    stream: 'deposit',
    amount: '2',
    state: 'success',
    observation: 9,
  };
  expect(await stored()).toEqual([filled]);
  const changes = `select field, old_value from ledger.transaction_changes order by id`;
  // Filled after first sight: the ledger of an earlier moment can be queried.
  expect(await query(changes)).toEqual(
    ['symbol', 'amount', 'occurred_at'].map((field) => ({ field, old_value: null })),
  );
  await storeRejects(db, [reject({ reason: 'another' }, { ...row, amount: '3' })]);
  expect(await retry()).toEqual({ resolved: ['amount'], open: [] });
  expect(await stored()).toEqual([filled]);
});

test('a row that the ledger lacks is stored, as older than every later answer', async () => {
  await storeRejects(db, [reject({ orderNo: null, field: 'orderNo' })]);
  expect(await retry()).toEqual({ resolved: ['orderNo'], open: [] });
  expect(await stored()).toMatchObject([{ order_no: 'a', amount: '2', observation: 0 }]);
  expect(await query('select name, ledger_count::int from ledger.streams')).toEqual([
    { name: 'deposit', ledger_count: 1 },
  ]);
});

test('a reject that still cannot be stored stays open, and so does one that was not selected', async () => {
  await storeRejects(db, [
    reject({}, { ...row, amount: 'NaN' }),
    reject({ field: 'time', payload: '{"orderNo":"a","ti' }),
    reject({ field: null, reason: 'PostgreSQL refuses the row' }),
    reject({ orderNo: 'b', field: 'state' }, { ...row, orderNo: 'b' }),
    reject({
      source: 'address-list',
      orderNo: null,
      field: 'address',
      payload: '{"address":"0x1"}',
    }),
  ]);
  const [first] = await query<{ id: number }>(
    `select id::int from ledger.rejects where field = 'time'`,
  );
  expect(await retry([first?.id ?? 0])).toEqual({ resolved: [], open: ['time'] });
  const { resolved, open } = await retry();
  expect(resolved).toEqual(['state']);
  expect(new Set(open)).toEqual(new Set(['amount', 'time', null, 'address']));
  expect(await query(`select field from ledger.rejects where resolved_at is not null`)).toEqual([
    { field: 'state' },
  ]);
});

test('a reject is resolved if a later answer brought the field readably, or if the address was listed since', async () => {
  await storeRejects(db, [
    reject({}, { ...row, amount: 'NaN' }),
    reject({
      source: 'address-list',
      orderNo: null,
      field: 'address',
      payload: '{"address":"0x1"}',
    }),
  ]);
  await storeListedTransactions(db, 'deposit', [listed({ orderNo: 'a', amount: '5' })]);
  await query(
    `insert into ledger.addresses (slip44, address, status, first_seen_at) values (60, '0x1', 'foreign', now())`,
  );
  const { resolved } = await retry();
  expect(new Set(resolved)).toEqual(new Set(['amount', 'address']));
  expect(await stored()).toMatchObject([{ amount: '5' }]);
});

test('snapshot rows that can be stored now are stored if the ledger has none', async () => {
  const coin = {
    symbol: 'ETH',
    slip44: 60,
    contractAddress: null,
    decimal: 18,
    balance: '1',
    frozen: '0',
  };
  const payload = JSON.stringify(coin);
  await storeRejects(db, [
    reject({ source: 'balance-list', orderNo: null, field: 'slip44', payload }),
    reject({ source: 'coin-list', orderNo: null, field: 'slip44', payload }),
  ]);
  expect(await retry()).toEqual({ resolved: ['slip44', 'slip44'], open: [] });
  expect(await query('select symbol, balance from ledger.balances')).toEqual([
    { symbol: 'ETH', balance: '1' },
  ]);
  expect(await query('select symbol from ledger.coins')).toEqual([{ symbol: 'ETH' }]);
});
