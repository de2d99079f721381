import { beforeEach, expect, test } from 'vitest';
import { compareDays, readCoverage } from '../../src/ledger/lists/coverage-store.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { dayMs, dayOf } from '../../src/sync/list/read-days.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const { db } = ledger;
const start = Date.UTC(2026, 0, 1);
const day = dayOf(start);

beforeEach(async () => {
  await clear();
  await storeListedTransactions(
    db,
    'deposit',
    [0, 0, 1, 3].map((days, index) =>
      listed({ orderNo: `order-${index}`, occurredAt: start + days * dayMs + index }),
    ),
  );
});

const whole = { head: null, isHeadNew: false };
const verified = async () =>
  (await readCoverage(db, 'deposit'))
    .filter(({ verifiedAt }) => verifiedAt !== null)
    .map((one) => one.day - day);

test('a day is verified if the reading met as many rows as the ledger lists, and is reported otherwise', async () => {
  const rows: [number, number][] = [
    [day, 2],
    [day + 1, 2],
  ];
  const differing = await compareDays(db, 'deposit', { ...whole, low: null, high: day + 3, rows });
  expect(differing?.sort()).toEqual([day + 1, day + 3]);
  expect(await verified()).toEqual([0]);
});

test('a reading need not show rows that arrived after it began, but no row may lie beyond a new head', async () => {
  const head = start + dayMs + 2;
  const read = { low: day + 1, high: day + 1, rows: [[day + 1, 1]] as [number, number][], head };
  expect(await compareDays(db, 'deposit', { ...read, isHeadNew: false })).toEqual([]);
  expect(await verified()).toEqual([1]);
  expect(await compareDays(db, 'deposit', { ...read, isHeadNew: true })).toEqual([day + 3]);
});

test.each([
  ['later', 3_600_000],
  ['earlier', -3_600_000],
])(
  'a row whose detail has a time %s than the list is placed beyond a head by the time of the list',
  async (_, change) => {
    const now = Date.now();
    const [head, behind] = [now - 10_000, now - 20_000];
    const last = dayOf(head);
    const stored = [
      listed({ orderNo: 'behind', occurredAt: behind }),
      listed({ orderNo: 'head', occurredAt: head }),
      listed({ orderNo: 'late', occurredAt: head + 1 }),
    ];
    await storeListedTransactions(db, 'deposit', stored);
    await storeTransactionDetails(
      db,
      stored.map(({ occurredAt, ...row }) =>
        detailed({ ...row, observation: 2, occurredAt: Number(occurredAt) + change }),
      ),
    );
    const rows: [number, number][] = [[last, dayOf(behind) === last ? 2 : 1]];
    const read = { low: last, high: last, rows, head };
    expect(await compareDays(db, 'deposit', { ...read, isHeadNew: false })).toEqual([]);
    expect(await verified()).toEqual([last - day]);
    await query(`delete from ledger.transactions where order_no = 'late'`);
    expect(await compareDays(db, 'deposit', { ...read, isHeadNew: true })).toEqual([]);
  },
);

test('a day with a row that another list counts is reported neither as equal nor as different', async () => {
  const theirs = { orderNo: 'theirs', occurredAt: start + 5, type: 'withdraw' };
  await storeListedTransactions(db, 'withdraw', [listed(theirs)]);
  await storeListedTransactions(db, 'deposit', [
    listed({ ...theirs, type: 'deposit', observation: 2 }),
  ]);
  await query(`delete from ledger.transactions where order_no = 'order-0'`);
  // Two rows of the day were read: order-1 and one that the ledger counts in the other list.
  const rows: [number, number][] = [[day, 2]];
  expect(await compareDays(db, 'deposit', { ...whole, low: day, high: day + 1, rows })).toBeNull();
  expect(await verified()).toEqual([]);
});

test.each([
  ['deleted', `delete from ledger.transactions where order_no = 'order-2'`, 0],
  ['unlisted', `update ledger.transactions set is_listed = false where order_no = 'order-2'`, 0],
  [
    'moved to another day',
    `update ledger.transactions set occurred_at = occurred_at + interval '1 day' where order_no = 'order-2'`,
    0,
  ],
  [
    'joined by one that was written by hand',
    `insert into ledger.transactions (order_no, stream, occurred_at) values ('x', 'deposit', '2026-01-02T12:00Z')`,
    2,
  ],
])(
  'a row that is %s removes the mark of its day, and the counts change with it',
  async (_, change, rows) => {
    await query('update ledger.coverage set verified_at = now()');
    expect((await query('select verified_through from ledger.streams'))[0]).not.toEqual({
      verified_through: null,
    });
    await query(change);
    const [second] = await query(
      `select transactions::int, verified_at from ledger.coverage where day = '2026-01-02'`,
    );
    expect(second).toEqual({ transactions: rows, verified_at: null });
    expect(
      await query(`select ledger_count = (select sum(transactions) from ledger.coverage) as adds_up
                   from ledger.streams`),
    ).toEqual([{ adds_up: true }]);
  },
);

test('each change of a proof is one row, and several changes in one transaction are one row', async () => {
  await query('update ledger.streams set is_backed = true, service_total = 4');
  await ledger.transaction(async (tx) => {
    await storeListedTransactions(tx, 'deposit', [listed({ orderNo: 'new', occurredAt: start })]);
    await tx.execute('update ledger.streams set service_total = 5');
  });
  await query(`delete from ledger.transactions where order_no = 'new'`);
  expect(
    await query(
      'select name, is_complete, service_total::int, ledger_count::int, reason from ledger.stream_proofs order by id',
    ),
  ).toEqual([
    { name: 'deposit', is_complete: true, service_total: 4, ledger_count: 4, reason: null },
    {
      name: 'deposit',
      is_complete: false,
      service_total: 5,
      ledger_count: 4,
      reason: '1 of 5 rows are missing',
    },
  ]);
});
