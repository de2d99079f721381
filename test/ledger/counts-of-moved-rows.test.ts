import { afterEach, expect, test } from 'vitest';
import { readCoverage } from '../../src/ledger/lists/coverage-store.ts';
import { unlistRows } from '../../src/ledger/lists/stream-store.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { dayMs, dayOf } from '../../src/sync/list/read-days.ts';
import { listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const { db } = ledger;
afterEach(clear);

const start = Date.UTC(2026, 0, 1);
const day = dayOf(start);

/** Stores rows of this number of days, in turn. */
async function storeRows(rows: number, days: number): Promise<string[]> {
  const given = Array.from({ length: rows }, (_, index) =>
    listed({ orderNo: `order-${index}`, occurredAt: start + (index % days) * dayMs }),
  );
  await storeListedTransactions(db, 'deposit', given);
  return given.map(({ orderNo }) => orderNo);
}

test('the counts of a list are written once, however many rows leave it in one statement', async () => {
  const orderNos = await storeRows(200, 2);
  const written = await ledger.transaction(async (tx) => {
    await unlistRows(tx, 'deposit', orderNos.slice(0, 150));
    const { rows } = await tx.execute<{ relname: string; writes: string }>(
      `select relname, n_tup_upd as writes from pg_stat_xact_user_tables
        where schemaname = 'ledger' and relname in ('streams', 'coverage') order by relname`,
    );
    return rows.map(({ relname, writes }) => [relname, Number(writes)]);
  });
  expect(written).toEqual([
    ['coverage', 2],
    ['streams', 1],
  ]);
  expect(await query('select ledger_count from ledger.streams')).toEqual([{ ledger_count: '50' }]);
  const days = await readCoverage(db, 'deposit');
  expect(days.map(({ rows }) => rows)).toEqual([25, 25]);
});

test('days that exchange rows in one statement lose their verification, and unaffected days of the list keep it', async () => {
  await storeRows(3, 3);
  await query('update ledger.coverage set verified_at = now()');
  await query(`
    update ledger.transactions
       set occurred_at = occurred_at + interval '1 day' * case order_no when 'order-0' then 1 else -1 end
     where order_no in ('order-0', 'order-1')`);
  const days = await readCoverage(db, 'deposit');
  expect(days.map((one) => [one.day - day, one.rows, one.verifiedAt !== null])).toEqual([
    [0, 1, false],
    [1, 1, false],
    [2, 1, true],
  ]);
});
