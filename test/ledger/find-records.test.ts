import { expect, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { connectLedger } from '../../src/ledger/connection/connect-ledger.ts';
import { findByScan, findIndexed } from '../../src/ledger/transactions/find-records.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { listed } from '../support/transaction-rows.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, connectionString } = await withLedger();

const scans = async () => {
  const [row] = await query<{ seq: number; index: number }>(
    `select seq_scan::int as seq, idx_scan::int as index from pg_stat_user_tables
      where schemaname = 'ledger' and relname = 'transactions'`,
  );
  return row ?? { seq: 0, index: 0 };
};

test('an order and the deposits to an address are found by index, and never more than 50', async () => {
  const address = '0x00000000000000000000000000000000000000aa';
  const rows = Array.from({ length: 60 }, (_, index) =>
    listed({ orderNo: `order-${index}`, toAddress: address, requestId: `request-${index}` }),
  );
  const paid = listed({ orderNo: 'paid', txHash: '0xAB', toAddress: '0xdd', fromAddress: '0xEE' });
  await storeListedTransactions(ledger.db, 'withdraw', [paid]);
  await storeListedTransactions(ledger.db, 'deposit', rows);
  await query(
    `alter database ${new URL(connectionString).pathname.slice(1)} set enable_seqscan = off`,
  );
  const before = await scans();
  const other = connectLedger({ connectionString, poolSize: 2, log: silentLog });
  const byOrder = await findIndexed(other.db, 'order-7');
  const byAddress = await findIndexed(other.db, address.toUpperCase().replace('0X', '0x'));
  const found = ['request-7', '0xAB', '0xDD'].map(async (text) => [
    text,
    (await findIndexed(other.db, text)).transactions.map(({ orderNo }) => orderNo),
  ]);
  expect(await Promise.all(found)).toEqual([
    ['request-7', ['order-7']],
    ['0xAB', ['paid']],
    ['0xDD', ['paid']],
  ]);
  // A connection that ends tells what it has counted.
  await other.close();
  expect(byOrder.transactions).toMatchObject([{ orderNo: 'order-7' }]);
  expect([byAddress.transactions.length, byAddress.isCut]).toEqual([50, true]);
  await until(async () => (await scans()).index > before.index);
  expect((await scans()).seq).toBe(before.seq);
  for (const text of ['0XAB', '0xee']) {
    expect((await findByScan(ledger.db, text)).transactions).toMatchObject([{ orderNo: 'paid' }]);
  }
  expect((await findByScan(ledger.db, 'nothing')).transactions).toEqual([]);
});
