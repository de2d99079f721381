import { expect, onTestFinished, test } from 'vitest';
import { fillTransactions } from '../../src/ledger/transactions/fill-transactions.ts';
import { type Classified, reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { syncAllDetails } from '../../src/sync/details/sync-details.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { beginTransaction } from '../support/begin-transaction.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';

const signal = new AbortController().signal;

test('different final states reclassify the stored rows, and unchanged ones write nothing', async () => {
  const { ledger, context } = await withWallet({ transactions: 300 });
  await syncTransactions(context, onePass());
  await syncAllDetails(context, signal);
  const counts = async () =>
    (
      await ledger.pool.query(`
      select count(*) filter (where is_final)::int as final, (select count(*) from ledger.waiting_details)::int as due,
             count(*) filter (where state <> 'success')::int as others
        from ledger.transactions`)
    ).rows[0];
  expect(await counts()).toMatchObject({ final: 300, due: 0 });
  const success = new Set(['success']);
  const told: Classified[] = [];
  const turned = await reclassifyByStates(ledger, { final: success, success }, (sum) =>
    told.push(sum),
  );
  const sum = { read: 300, changed: turned };
  expect(told).toEqual([sum, sum]);
  const { final, due, others } = await counts();
  expect(others).toBeGreaterThan(0);
  expect([turned, final, due]).toEqual([others, 300 - others, others]);
  expect(await reclassifyByStates(ledger, { final: success, success })).toBe(0);
  expect(
    await reclassifyByStates(ledger, {
      final: new Set(['success', 'failed', 'rejected']),
      success,
    }),
  ).toBe(others);
  expect(await counts()).toMatchObject({ final: 300, due: 0 });
});

test('a row is marked as moving money by its list row, its detail, filled fields, and changed final states', async () => {
  const { ledger, query } = await withLedger();
  const success = new Set(['done']);
  await reclassifyByStates(ledger, { final: new Set(['done', 'failed']), success });
  const store = (rows: Parameters<typeof listed>[0][]) =>
    storeListedTransactions(ledger.db, 'deposit', rows.map(listed));
  await store([
    { orderNo: 'a', state: ' Done ' },
    { orderNo: 'b', state: 'failed' },
    { orderNo: 'c', state: 'pending' },
    { orderNo: 'd' },
  ]);
  const standing = async () =>
    (
      await query<{ seen: string }>(
        `select order_no || ' ' || is_final || ' ' || is_success as seen from ledger.transactions order by order_no`,
      )
    ).map(({ seen }) => seen);
  expect(await standing()).toEqual([
    'a true true',
    'b true false',
    'c false false',
    'd false false',
  ]);
  await store([{ orderNo: 'a', state: 'failed', observation: 2 }]);
  await storeTransactionDetails(ledger.db, [detailed({ orderNo: 'c', state: 'done' })]);
  await fillTransactions(ledger.db, [detailed({ orderNo: 'd', state: 'done' })]);
  expect(await standing()).toEqual(['a true false', 'b true false', 'c true true', 'd true true']);
  await reclassifyByStates(ledger, { final: new Set(['failed']), success: new Set(['failed']) });
  expect(await standing()).toEqual([
    'a true true',
    'b true true',
    'c false false',
    'd false false',
  ]);
});

test('an interrupted classification continues where it stopped, also with unchanged settings', async () => {
  const { ledger, query } = await withLedger();
  const success = new Set(['success']);
  await reclassifyByStates(ledger, { final: success, success });
  const rows = ['a', 'b', 'c'].map((orderNo) => listed({ orderNo, state: 'success' }));
  await storeListedTransactions(ledger.db, 'deposit', rows);
  await query(`update ledger.transactions set is_final = false, is_success = false;
               insert into engine.classification values (1, 'a')`);
  expect(await reclassifyByStates(ledger, { final: success, success })).toBe(2);
  expect(
    await query('select order_no from ledger.transactions where is_success order by 1'),
  ).toEqual([{ order_no: 'b' }, { order_no: 'c' }]);
  expect(await query('select from engine.classification')).toEqual([]);
});

test('rows are reclassified in the order in which batches lock them, not in their order on disk', async () => {
  const { ledger, connect, query, logged } = await withLedger();
  for (const orderNo of ['b', 'a']) {
    await ledger.transaction((tx) =>
      storeListedTransactions(tx, 'deposit', [listed({ orderNo, state: 'success' })]),
    );
  }
  const batch = await ledger.pool.connect();
  onTestFinished(() => batch.release(true));
  let hasBegun = false;
  const success = new Set(['success']);
  const judge = connect();
  const judging = reclassifyByStates(
    {
      ...judge,
      // Only batches have settings; the other one begins after the reclassification has waited for writers.
      transaction: async (work, settings) => {
        if (settings !== undefined && !hasBegun) {
          hasBegun = true;
          await batch.query('begin');
          await batch.query(
            `update ledger.transactions set is_final = is_final where order_no = 'a'`,
          );
        }
        return await judge.transaction(work, settings);
      },
    },
    { final: success, success },
  );
  await until(async () => (await query('select from pg_locks where not granted')).length > 0);
  await batch.query(`update ledger.transactions set is_final = is_final where order_no = 'b'`);
  await batch.query('commit');
  expect(await judging).toBe(2);
  expect(logged).toEqual([]);
});

test('a row that another transaction stores with the previous final states is classified by the new ones', async () => {
  const { ledger, connect, query } = await withLedger();
  const success = new Set(['success']);
  await reclassifyByStates(ledger, { final: success, success });
  const storing = await beginTransaction(connect(), (db) =>
    storeListedTransactions(db, 'deposit', [listed({ orderNo: 'a', state: 'success' })]),
  );
  const judging = reclassifyByStates(ledger, { final: new Set(['failed']), success: new Set() });
  const hasBegun = async () => (await query('select from engine.classification')).length > 0;
  await Promise.race([judging, until(hasBegun)]);
  await storing.commit();
  await judging;
  expect(await query('select order_no, is_final from ledger.transactions')).toEqual([
    { order_no: 'a', is_final: false },
  ]);
});

test('new final states wait neither for maintenance of the transactions table nor for its readers', async () => {
  const { ledger, connect } = await withLedger();
  const maintaining = await beginTransaction(connect(), (db) =>
    db.execute('lock table ledger.transactions in share update exclusive mode'),
  );
  const success = new Set(['success']);
  expect(await reclassifyByStates(ledger, { final: success, success })).toBe(0);
  await maintaining.commit();
});

test('each row is read once or twice, in any number of batches', async () => {
  const { ledger, query, fill } = await withLedger();
  const states = { final: new Set(['success']), success: new Set(['success']) };
  await reclassifyByStates(ledger, states);
  await fill(
    `insert into ledger.transactions (order_no, stream, state, is_final, is_success)
     select n, 'deposit', 'success', true, true from generate_series(1, 90000) as n`,
    'vacuum analyze ledger.transactions',
  );
  await reclassifyByStates(ledger, states);
  const rowsRead = async () => {
    await query('select pg_stat_force_next_flush()');
    const [row] = await query<{ read: string }>(`select seq_tup_read + idx_tup_fetch as read
      from pg_stat_user_tables where relid = 'ledger.transactions'::regclass`);
    return Number(row?.read);
  };
  const before = await rowsRead();
  await reclassifyByStates(ledger, {
    final: new Set(['success', 'failed']),
    success: new Set(['success']),
  });
  expect((await rowsRead()) - before).toBeLessThan(200_000);
});
