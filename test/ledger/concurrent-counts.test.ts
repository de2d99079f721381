import { beforeEach, expect, test } from 'vitest';
import { storeListedAddresses } from '../../src/ledger/addresses/address-store.ts';
import { clearDays, compareDays, verifyDays } from '../../src/ledger/lists/coverage-store.ts';
import { recountStream } from '../../src/ledger/lists/recount-list.ts';
import { rebuildDerived } from '../../src/ledger/rebuild-derived.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { beginTransaction, untilBlocked } from '../support/begin-transaction.ts';
import { listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const testLedger = await withLedger();
const { ledger, query, clear, connect } = testLedger;
const other = connect();
const day = 86_400_000;

beforeEach(async () => {
  await clear();
  await query('truncate ledger.transactions');
});

const store = (...rows: Parameters<typeof listed>[0][]) =>
  ledger.transaction((db) => storeListedTransactions(db, 'deposit', rows.map(listed)));

/** Days of a reading that covers only the first day. */
const firstDay = (rows: number) => ({
  low: 1,
  high: 1,
  rows: [[1, rows]] as [number, number][],
  head: null,
  isHeadNew: false,
});

test('a list is not verified up to a time while one of its new days is not', async () => {
  await store({ orderNo: 'a', occurredAt: day });
  await ledger.transaction((db) => verifyDays(db, 'deposit', true));
  const adding = await beginTransaction(ledger, (db) =>
    storeListedTransactions(db, 'deposit', [listed({ orderNo: 'b', occurredAt: 2 * day })]),
  );
  const verifying = other.transaction((db) => compareDays(db, 'deposit', firstDay(1)));
  await untilBlocked(testLedger);
  await adding.commit();
  await verifying;
  expect(await query('select verified_through from ledger.streams')).toEqual([
    { verified_through: null },
  ]);
});

test('a day does not count as verified if one of its rows was deleted during the comparison', async () => {
  await store({ orderNo: 'a', occurredAt: day }, { orderNo: 'b', occurredAt: day });
  const deleting = await beginTransaction(ledger, (db) =>
    db.execute(`delete from ledger.transactions where order_no = 'a'`),
  );
  const verifying = other.transaction((db) => compareDays(db, 'deposit', firstDay(2)));
  await untilBlocked(testLedger);
  await deleting.commit();
  expect(await verifying).toEqual([1]);
  expect(await query('select transactions::int, verified_at from ledger.coverage')).toEqual([
    { transactions: 1, verified_at: null },
  ]);
});

test('a day is not compared if another list has taken over one of its rows meanwhile', async () => {
  await store({ orderNo: 'a', occurredAt: day }, { orderNo: 'b', occurredAt: day });
  const guest = { orderNo: 'g', occurredAt: day, type: 'withdraw' };
  await ledger.transaction((db) => storeListedTransactions(db, 'withdraw', [listed(guest)]));
  const marking = await beginTransaction(ledger, (db) =>
    storeListedTransactions(db, 'deposit', [listed({ ...guest, observation: 5 })]),
  );
  const comparing = other.transaction((db) => compareDays(db, 'deposit', firstDay(2)));
  await untilBlocked(testLedger);
  await marking.commit();
  expect(await comparing).toBe(null);
});

test.each([
  ['verified', () => verifyDays(ledger.db, 'deposit', true)],
  ['doubted', () => clearDays(ledger.db, 'deposit', [1, 2])],
])(
  'days that are %s wait for a writer of the list and do not deadlock with it',
  async (_, mark) => {
    await store({ orderNo: 'a', occurredAt: day }, { orderNo: 'b', occurredAt: 2 * day });
    await verifyDays(ledger.db, 'deposit', true);
    const marking = await other.transaction(async (db) => {
      await db.execute(`select from own.streams where name = 'deposit' for no key update`);
      const waiting = mark().then(
        () => null,
        (error: unknown) => error,
      );
      await untilBlocked(testLedger);
      await db.execute(`update own.coverage set transactions = transactions`);
      return { waiting };
    });
    expect(await marking.waiting).toBe(null);
  },
);

test('a recount of days waits for a row that moves to another day', async () => {
  await store({ orderNo: 'a', occurredAt: day }, { orderNo: 'b', occurredAt: 2 * day });
  const moving = await beginTransaction(ledger, (db) =>
    storeListedTransactions(db, 'deposit', [
      listed({ orderNo: 'a', occurredAt: 2 * day, observation: 3 }),
    ]),
  );
  const counting = other.transaction((db) => recountStream(db, 'deposit'));
  await Promise.race([counting, untilBlocked(testLedger)]);
  await moving.commit();
  await counting;
  expect(
    await query('select day::text, transactions::int from ledger.coverage order by day'),
  ).toEqual([
    { day: '1970-01-02', transactions: 0 },
    { day: '1970-01-03', transactions: 2 },
  ]);
});

test('a rebuilt count of addresses includes an address that is being stored', async () => {
  await query(`insert into ledger.pools (slip44, threshold, target) values (195, 1, 2)`);
  await ledger.transaction((db) => storeListedAddresses(db, 195, ['TAddress1']));
  const storing = await beginTransaction(ledger, (db) =>
    storeListedAddresses(db, 195, ['TAddress2']),
  );
  const rebuilding = other.transaction(rebuildDerived);
  await untilBlocked(testLedger);
  await storing.commit();
  await rebuilding;
  expect(
    await query(
      `select ledger_count::int as count from ledger.streams where name = 'addresses:195'`,
    ),
  ).toEqual([{ count: 2 }]);
});
