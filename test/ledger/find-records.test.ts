import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import type { LedgerDb } from '../../src/ledger/connection/connect-ledger.ts';
import { findByScan, findIndexed } from '../../src/ledger/transactions/find-records.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger } = await withLedger();

/** Scans of the transactions table by this session that are not reported yet. */
async function readScans(tx: LedgerDb): Promise<{ seq: number; index: number }> {
  const { rows } = await tx.execute<{ seq: number; index: number }>(sql`
    select seq_scan::int as seq, idx_scan::int as index from pg_stat_xact_user_tables
     where schemaname = 'ledger' and relname = 'transactions'`);
  return rows[0] ?? { seq: 0, index: 0 };
}

/** Finds the texts in one transaction; also returns the number of scans. */
async function findWithoutScan(texts: string[]) {
  return await ledger.transaction(async (tx) => {
    await tx.execute(sql`set local enable_seqscan = off`);
    const before = await readScans(tx);
    const found: Awaited<ReturnType<typeof findIndexed>>[] = [];
    for (const text of texts) found.push(await findIndexed(tx, text));
    const after = await readScans(tx);
    return { found, seq: after.seq - before.seq, index: after.index - before.index };
  });
}

test('an order and the deposits to an address are found by index, at most 50 of them', async () => {
  const address = '0x00000000000000000000000000000000000000aa';
  const rows = Array.from({ length: 60 }, (_, index) =>
    listed({ orderNo: `order-${index}`, toAddress: address, requestId: `request-${index}` }),
  );
  const paid = listed({ orderNo: 'paid', txHash: '0xAB', toAddress: '0xdd', fromAddress: '0xEE' });
  await storeListedTransactions(ledger.db, 'withdraw', [paid]);
  await storeListedTransactions(ledger.db, 'deposit', rows);
  const upper = address.toUpperCase().replace('0X', '0x');
  const { found, seq, index } = await findWithoutScan([
    'order-7',
    upper,
    'request-7',
    '0xAB',
    '0xDD',
  ]);
  const [byOrder, byAddress, ...others] = found;
  expect(byOrder?.transactions).toMatchObject([{ orderNo: 'order-7' }]);
  expect([byAddress?.transactions.length, byAddress?.isCut]).toEqual([50, true]);
  const orderNos = others.map(({ transactions }) => transactions.map(({ orderNo }) => orderNo));
  expect(orderNos).toEqual([['order-7'], ['paid'], ['paid']]);
  expect(index).toBeGreaterThan(0);
  expect(seq).toBe(0);
  for (const text of ['0XAB', '0xee']) {
    expect((await findByScan(ledger.db, text)).transactions).toMatchObject([{ orderNo: 'paid' }]);
  }
  expect((await findByScan(ledger.db, 'nothing')).transactions).toEqual([]);
});

test('a hash of 64 hexadecimal digits is found by index in either case, with or without 0x; mixed case by a scan', async () => {
  const digits = 'b7f1c2d3e4a5968778695a4b3c2d1e0f'.repeat(2);
  const upper = digits.toUpperCase();
  const mixed = `0x${digits.slice(0, 32)}${upper.slice(32)}`;
  const spellings = [digits, upper, `0x${digits}`, `0x${upper}`, `0X${upper}`];
  for (const stored of [...spellings, mixed]) {
    await ledger.db.execute(sql`truncate ledger.transactions`);
    await storeListedTransactions(ledger.db, 'withdraw', [
      listed({ orderNo: 'hashed', txHash: stored }),
    ]);
    const wanted = stored === mixed ? [mixed] : [...spellings, mixed];
    const { found, seq } = await findWithoutScan(wanted);
    const orderNos = found.map(({ transactions }) => transactions.map(({ orderNo }) => orderNo));
    expect([stored, orderNos, seq]).toEqual([stored, wanted.map(() => ['hashed']), 0]);
    for (const text of spellings)
      expect((await findByScan(ledger.db, text)).transactions).toMatchObject([
        { orderNo: 'hashed' },
      ]);
  }
});
