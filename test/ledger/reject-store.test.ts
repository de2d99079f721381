import { beforeEach, expect, test } from 'vitest';
import type { Reject } from '../../src/kernel/wallet-records.ts';
import {
  closeAnsweredRejects,
  noteSnapshotRejects,
} from '../../src/ledger/transactions/close-rejects.ts';
import { storeRejects } from '../../src/ledger/transactions/reject-store.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const { db } = ledger;
beforeEach(clear);

function reject(change: Partial<Reject> = {}, payload: object | string = { amount: 'x' }): Reject {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const reason = 'amount is not a number';
  return {
    source: 'transaction-list',
    orderNo: 'a',
    field: 'amount',
    reason,
    payload: text,
    ...change,
  };
}

const stored = () =>
  query(
    `select field, payload, times, resolved_at is null as is_open, xmin::text from ledger.rejects order by id`,
  );
const open = async () =>
  (await query('select id from ledger.rejects where resolved_at is null')).length;

async function rowsRead(): Promise<number> {
  const [row] = await query<{ reads: string }>(`
    select coalesce(sum(seq_tup_read), 0) + (select coalesce(sum(idx_tup_read), 0)
             from pg_stat_user_indexes where relname = 'rejects') as reads
      from pg_stat_user_tables where relname = 'rejects'`);
  return Number(row?.reads);
}

test('one cause is one reject, whatever else its payload has, and is written at most once an hour', async () => {
  await storeRejects(db, [reject(), reject({ field: 'time' })]);
  const first = await stored();
  for (let poll = 0; poll < 10; poll += 1)
    await storeRejects(db, [
      reject({}, { amount: 'x', at: poll }),
      reject({ reason: `odd ${poll}` }),
    ]);
  expect(await stored()).toEqual(first);
  await query(`update ledger.rejects set last_seen_at = now() - interval '61 minutes'`);
  await storeRejects(db, [reject({ reason: 'newer' }, { amount: 'y' })]);
  expect(await stored()).toMatchObject([
    { field: 'amount', payload: '{"amount":"y"}', times: 2 },
    { field: 'time', times: 1 },
  ]);
});

test.each<[string, Partial<Reject>, (poll: number) => object]>([
  [
    'a transaction without an order number',
    { field: 'orderNo' },
    (poll) => ({ orderNo: null, txHash: '0x1', time: poll, state: `s${poll}`, tick: poll }),
  ],
  [
    'a balance whose amounts move',
    { source: 'balance-list', field: 'frozen' },
    (poll) => ({ symbol: 'ETH', slip44: 60, balance: String(poll), frozen: 'x' }),
  ],
  [
    'an address',
    { source: 'address-list', field: 'address' },
    (poll) => ({ address: 7, tick: poll }),
  ],
])(
  '%s stays one reject while other fields change with each answer',
  async (_what, change, payload) => {
    for (let poll = 0; poll < 5; poll += 1)
      await storeRejects(db, [reject({ orderNo: null, ...change }, payload(poll))]);
    expect(await stored()).toHaveLength(1);
  },
);

test('rejects without a lasting key are kept up to a limit', async () => {
  await query(`insert into ledger.rejects (source, reason, payload, fingerprint, first_seen_at, last_seen_at)
    select 'transaction-list', 'not an object', n::text, 'payload:' || n, now(), now() from generate_series(1, 9999) as n`);
  const odd = (text: string) => reject({ orderNo: null, field: null }, text);
  await storeRejects(db, [odd('"one"')]);
  await storeRejects(db, [odd('"two"')]);
  await storeRejects(db, [odd('{"orderNo":"","txHash":"0x2"}')]);
  expect(await open()).toBe(10_001);
});

test('each of thousands of rejects that differ only in their payload is stored without reading all others', async () => {
  const count = 5_000;
  const rejects = Array.from({ length: count }, (_, nth) =>
    reject({ orderNo: null, field: nth % 2 ? 'amount' : 'time' }, { x: nth }),
  );
  const before = await rowsRead();
  for (let answers = 0; answers < 2; answers += 1) await storeRejects(db, rejects);
  expect(await open()).toBe(count);
  // A server process reports its reads a moment later.
  await until(async () => (await rowsRead()) - before >= count, 60_000);
  expect((await rowsRead()) - before).toBeLessThan(count * 100);
}, 120_000);

test('the answer that brings the value closes the reject, and the list does not open it again', async () => {
  const bad = listed({ orderNo: 'a', unreadable: ['amount', 'time'] });
  await storeListedTransactions(db, 'deposit', [bad]);
  await storeRejects(db, [reject(), reject({ field: 'time' })]);
  expect(await closeAnsweredRejects(db, 'transaction-list', [bad])).toBe(0);
  const good = detailed({ orderNo: 'a', amount: '5', unreadable: ['time'] });
  await storeTransactionDetails(db, [good]);
  const close = (row: object, repeated: Reject[] = []) =>
    closeAnsweredRejects(db, 'transaction-detail', [row], repeated);
  expect(await close({ ...good, orderNo: 'b' })).toBe(0);
  expect(await close(good, [reject()])).toBe(0);
  expect(await close(good)).toBe(1);
  const settled = await stored();
  expect(settled).toMatchObject([{ is_open: false }, { is_open: true }]);
  await storeRejects(db, [reject()]);
  expect(await stored()).toEqual(settled);
  await storeRejects(db, [reject({ source: 'transaction-detail' })]);
  expect(await open()).toBe(2);
});

test('a reject of the list that a detail without the value did not close opens again', async () => {
  const row = listed({ orderNo: 'a', amount: '5' });
  await storeListedTransactions(db, 'deposit', [row]);
  await storeRejects(db, [reject()]);
  await storeTransactionDetails(db, [detailed({ orderNo: 'a', unreadable: ['amount'] })]);
  const good = { ...row, observation: 3 };
  expect(await closeAnsweredRejects(db, 'transaction-list', [good])).toBe(1);
  await storeRejects(db, [reject()]);
  expect(await open()).toBe(1);
});

test('a value that the row had before resolves no reject, and neither does the other kind of answer', async () => {
  const fee = reject({ source: 'transaction-detail', field: 'fee', reason: 'fee is NaN' });
  const refused = reject({ source: 'transaction-detail', field: null, reason: 'refused' });
  await storeListedTransactions(db, 'deposit', [listed({ orderNo: 'a', amount: '5' })]);
  const bad = detailed({ orderNo: 'a', observation: 3, unreadable: ['fee'] });
  await storeTransactionDetails(db, [detailed({ orderNo: 'a', fee: '1' })]);
  await storeTransactionDetails(db, [bad]);
  await storeRejects(db, [fee, refused]);
  expect(await closeAnsweredRejects(db, 'transaction-detail', [bad], [fee, refused])).toBe(0);
  const row = listed({ orderNo: 'a', amount: '6', observation: 4 });
  await storeListedTransactions(db, 'deposit', [row]);
  expect(await closeAnsweredRejects(db, 'transaction-list', [row])).toBe(0);
  const blank = detailed({ orderNo: 'a', observation: 5 });
  expect(await closeAnsweredRejects(db, 'transaction-detail', [blank])).toBe(2);
});

test('an older answer that arrives later resolves no reject', async () => {
  const fee = reject({ source: 'transaction-detail', field: 'fee', reason: 'fee is NaN' });
  await query(`insert into ledger.final_states values ('success', true)`);
  const row = { orderNo: 'a', state: 'success', amount: '5' };
  await storeListedTransactions(db, 'deposit', [listed(row)]);
  await storeTransactionDetails(db, [detailed({ ...row, fee: '1', observation: 2 })]);
  // Equal to the row except for the unreadable field.
  await storeTransactionDetails(db, [detailed({ ...row, unreadable: ['fee'], observation: 9 })]);
  await storeRejects(db, [fee]);
  const late = detailed({ ...row, fee: '1', observation: 8 });
  await storeTransactionDetails(db, [late]);
  expect(await closeAnsweredRejects(db, 'transaction-detail', [late])).toBe(0);
  const good = { ...late, observation: 10 };
  expect(await closeAnsweredRejects(db, 'transaction-detail', [good])).toBe(1);
});

test('a reject for a text with replaced characters is resolved by a text without them', async () => {
  const odd = reject({
    field: 'txHash',
    reason: 'txHash is text with characters that cannot be stored (replaced)',
  });
  const bad = listed({ orderNo: 'a', txHash: 'x\uFFFD', unreadable: ['txHash'] });
  await storeListedTransactions(db, 'deposit', [bad]);
  await storeRejects(db, [odd]);
  expect(await closeAnsweredRejects(db, 'transaction-list', [bad])).toBe(0);
  const good = listed({ orderNo: 'a', txHash: 'xy', observation: 2 });
  await storeListedTransactions(db, 'deposit', [good]);
  expect(await closeAnsweredRejects(db, 'transaction-list', [good])).toBe(1);
});

test('a snapshot resolves the rejects that its answer no longer has, from its own source only', async () => {
  const balance = reject(
    { source: 'balance-list', orderNo: null, field: 'frozen' },
    { symbol: 'ETH' },
  );
  const other = reject(
    { source: 'balance-list', orderNo: null, field: 'frozen' },
    { symbol: 'BTC' },
  );
  const coin = reject({ source: 'coin-list', orderNo: null, field: 'decimal' }, { symbol: 'ETH' });
  await storeRejects(db, [balance, other, coin]);
  await noteSnapshotRejects(db, 'balance-list', [other]);
  expect(
    await query(
      `select source, payload from ledger.rejects where resolved_at is null order by source`,
    ),
  ).toEqual([
    { source: 'balance-list', payload: other.payload },
    { source: 'coin-list', payload: coin.payload },
  ]);
});
