import { expect, onTestFinished, test } from 'vitest';
import { fillTransactions } from '../../src/ledger/transactions/fill-transactions.ts';
import { type Classified, reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { syncAllDetails } from '../../src/sync/details/sync-details.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { beginTransaction, untilBlocked } from '../support/begin-transaction.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';

const signal = new AbortController().signal;

test('other final states judge the stored rows again, and the same ones write nothing', async () => {
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

test('a row says whether it moved money: from the list, from its detail, from filled fields, and after other states', async () => {
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

test('a classification that was interrupted goes on where it stopped, with the same settings too', async () => {
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

test('rows are judged again in the order in which batches lock them, whatever their order on disk', async () => {
  const { ledger, connect, query, logged } = await withLedger();
  for (const orderNo of ['b', 'a']) {
    await ledger.transaction((tx) =>
      storeListedTransactions(tx, 'deposit', [listed({ orderNo, state: 'success' })]),
    );
  }
  const batch = await ledger.pool.connect();
  onTestFinished(() => batch.release(true));
  await batch.query('begin');
  await batch.query(`update ledger.transactions set is_final = is_final where order_no = 'a'`);
  const success = new Set(['success']);
  const judging = reclassifyByStates(connect(), { final: success, success });
  await until(async () => (await query('select from pg_locks where not granted')).length > 0);
  await batch.query(`update ledger.transactions set is_final = is_final where order_no = 'b'`);
  await batch.query('commit');
  expect(await judging).toBe(2);
  expect(logged).toEqual([]);
});

test('a row that another transaction is storing by the last states is classified by the new ones', async () => {
  const { ledger, connect, query } = await withLedger();
  const success = new Set(['success']);
  await reclassifyByStates(ledger, { final: success, success });
  const other = connect();
  let commit = () => {};
  const held = new Promise<void>((done) => {
    commit = done;
  });
  let stored = () => {};
  const isStored = new Promise<void>((done) => {
    stored = done;
  });
  const writing = other.transaction(async (tx) => {
    await storeListedTransactions(tx, 'deposit', [listed({ orderNo: 'a', state: 'success' })]);
    stored();
    await held;
  });
  await isStored;
  const judging = reclassifyByStates(ledger, { final: new Set(['failed']), success: new Set() });
  const isWaiting = async () => (await query('select from pg_locks where not granted')).length > 0;
  const isOver = Promise.race([judging.then(() => true), until(isWaiting).then(() => false)]);
  await isOver;
  commit();
  await writing;
  await judging;
  expect(await query('select order_no, is_final from ledger.transactions')).toEqual([
    { order_no: 'a', is_final: false },
  ]);
});

test('each row is read once or twice, in however many batches', async () => {
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

test('other states wait for a batch that is being classified and do not deadlock with it', async () => {
  const testLedger = await withLedger();
  const { ledger, query, connect } = testLedger;
  const states = (...names: string[]) => ({ final: new Set(names), success: new Set(names) });
  await reclassifyByStates(ledger, states('done'));
  await query(`insert into engine.classification (id, after_order_no) values (1, '')`);
  const holding = await beginTransaction(ledger, (db) =>
    db.execute(`select from own.classification for update`),
  );
  const classifying = reclassifyByStates(connect(), states('done'));
  await untilBlocked(testLedger);
  const turning = reclassifyByStates(connect(), states('success'));
  await untilBlocked(testLedger, 2);
  const waits = await query(`select wait_event from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like 'lock table%'`);
  await holding.commit();
  await Promise.all([classifying, turning]);
  expect(waits).toEqual([{ wait_event: 'relation' }]);
  expect(await query('select state from ledger.final_states')).toEqual([{ state: 'success' }]);
});
