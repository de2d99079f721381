import { beforeEach, expect, test } from 'vitest';
import { storeGenerated } from '../../src/ledger/addresses/address-answer-store.ts';
import {
  checkNewAddresses,
  storeListedAddresses,
} from '../../src/ledger/addresses/address-store.ts';
import { resolveRequest } from '../../src/ledger/addresses/resolve-request.ts';
import type { Ledger, LedgerDb } from '../../src/ledger/connection/connect-ledger.ts';
import { storeBalances } from '../../src/ledger/snapshots/balance-store.ts';
import { readMovement } from '../../src/ledger/snapshots/reconciliation-store.ts';
import { assignChains } from '../../src/ledger/transactions/assign-chains.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { findingByKey } from '../../src/ledger/transactions/transaction-statement.ts';
import { beginTransaction, untilBlocked } from '../support/begin-transaction.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';
import { balance } from './little-wallet.ts';

const testLedger = await withLedger();
const { ledger, query, clear, connect } = testLedger;
const other = connect();
const whole = { signal: new AbortController().signal, mostMs: Number.POSITIVE_INFINITY };
const day = 86_400_000;

beforeEach(async () => {
  await clear();
  await query('truncate ledger.transactions');
  await query(
    `insert into ledger.final_states (state, is_success) values ('success', true), ('failed', false)`,
  );
});

const store = (own: Ledger, ...rows: Partial<Parameters<typeof listed>[0]>[]) =>
  own.transaction((db) => storeListedTransactions(db, 'deposit', rows.map(listed)), findingByKey);

const storeDetail = (own: Ledger, row: Parameters<typeof detailed>[0]) =>
  own.transaction((db) => storeTransactionDetails(db, [detailed(row)]), findingByKey);

test.each(['detail', 'list'])(
  'an older %s does not overwrite a value that a later detail confirmed meanwhile',
  async (kind) => {
    await store(ledger, { state: 'pending', observation: 1 });
    await storeDetail(ledger, { state: 'pending', observation: 2 });
    const later = await beginTransaction(ledger, (db) =>
      storeTransactionDetails(db, [detailed({ state: 'pending', observation: 5 })]),
    );
    const older = { state: 'success', observation: 4 };
    const storing = kind === 'list' ? store(other, older) : storeDetail(other, older);
    await untilBlocked(testLedger);
    await later.commit();
    await storing;
    expect(await query('select state from ledger.transactions')).toEqual([{ state: 'pending' }]);
  },
);

/** Resolves once the current transactions have ended, those of other databases included. */
const untilChecked = () =>
  until(async () => {
    await checkNewAddresses(ledger.db);
    return (
      (await query('select from ledger.addresses where unchecked_until is not null')).length === 0
    );
  });

test('an address stays used if its first deposit fails while a second one becomes a counted deposit', async () => {
  const deposit = { toAddress: 'TAddress1', occurredAt: day };
  const second = { ...deposit, orderNo: 'b', occurredAt: 2 * day };
  await ledger.transaction((db) => storeListedAddresses(db, 195, ['TAddress1']));
  await store(
    ledger,
    { ...deposit, orderNo: 'a', state: 'success' },
    { ...second, state: 'pending' },
  );
  await untilChecked();
  const storing = await beginTransaction(ledger, (db) =>
    storeTransactionDetails(db, [detailed({ ...second, state: 'success' })]),
  );
  await storeDetail(other, { ...deposit, orderNo: 'a', state: 'failed' });
  await checkNewAddresses(other.db);
  await storing.commit();
  await untilChecked();
  expect(
    await query('select status, first_deposit_order_no as first from ledger.addresses'),
  ).toEqual([{ status: 'used', first: 'b' }]);
});

const untilAssigned = () =>
  until(async () => {
    await assignChains(ledger, whole);
    return (await query('select from engine.chain_assignments')).length === 0;
  });

const storeCoin = () =>
  ledger.transaction((db) =>
    storeBalances(
      db,
      [balance('TRX', '1', 195, ''), balance('USDT', '1', 195, 'c'), balance('USDT', '1', 60, 'd')],
      1,
      false,
    ),
  );

test.each(['answer', 'list'])(
  'an address that joins the pool by the %s during the storage of its deposit is not handed out',
  async (by) => {
    await query(`insert into ledger.pools (slip44, threshold, target) values (195, 1, 2)`);
    const [request] = await query<{ id: string }>(
      `insert into ledger.address_requests (slip44, num, state, requested_at) values (195, 1, 'unknown', now()) returning id`,
    );
    await ledger.transaction((db) => storeListedAddresses(db, 195, ['TAddress1']));
    await untilChecked();
    const storing = await beginTransaction(ledger, (db) =>
      storeListedTransactions(db, 'deposit', [
        listed({ toAddress: 'TAddress1', state: 'pending' }),
      ]),
    );
    const id = Number(request?.id);
    await other.transaction(async (db) =>
      by === 'answer' ? await storeGenerated(db, id, ['TAddress1']) : await resolveRequest(db, id),
    );
    await storing.commit();
    await untilChecked();
    expect(await query('select status from ledger.addresses')).toEqual([{ status: 'foreign' }]);
  },
);

/** Locks the rows of the query until `commit`. */
const hold = (rows: string) =>
  beginTransaction(connect(), (db) => db.execute(`${rows} for update`));
const deadlocks = async () =>
  Number(
    (
      await query<{ n: string }>(
        'select deadlocks as n from pg_stat_database where datname = current_database()',
      )
    )[0]?.n,
  );

test('an answer and a check of addresses that two chains share do not deadlock', async () => {
  await query(`insert into ledger.pools (slip44, threshold, target) values (61, 1, 2)`);
  const shared = ['0xaa', '0xbb'];
  await query(
    `insert into ledger.address_requests (slip44, num, state, requested_at) values (61, 2, 'sent', now())`,
  );
  const [request] = await query<{ id: string }>('select id from ledger.address_requests');
  for (const slip44 of [60, 61])
    await ledger.transaction((db) => storeListedAddresses(db, slip44, shared));
  const before = await deadlocks();
  const holding = await hold('select from ledger.addresses where slip44 = 60');
  const checking = checkNewAddresses(ledger.db);
  await untilBlocked(testLedger);
  const storing = other.transaction((db) => storeGenerated(db, Number(request?.id), shared));
  await untilBlocked(testLedger, 2);
  await holding.commit();
  await Promise.all([checking, storing]);
  await query('select pg_stat_force_next_flush()');
  expect(await deadlocks()).toBe(before);
});

test('if two statements deadlock, the aborted one runs again', async () => {
  await query('create table public.turns (id int, taken int)');
  await query('insert into public.turns select id, 0 from generate_series(1, 4) as id');
  const holding = await hold('select from public.turns where id in (1, 2)');
  const takeTurns = async (...ids: number[]) => {
    const updates = ids.map((id) => `update public.turns set taken = taken + 1 where id = ${id};`);
    await ledger.db.execute(`do $$ begin ${updates.join(' ')} end $$`);
  };
  const both = [takeTurns(3, 1, 4), takeTurns(4, 2, 3)];
  await untilBlocked(testLedger, 2);
  await holding.commit();
  await Promise.all(both);
  expect(await query('select taken from public.turns order by id')).toEqual(
    [1, 1, 2, 2].map((taken) => ({ taken })),
  );
});

test('a row whose writer waited while its coin was stored gets its chain', async () => {
  await store(ledger, { orderNo: 'a', symbol: 'USDT' });
  const holding = await beginTransaction(ledger, (db) =>
    db.execute(`update ledger.transactions set is_final = is_final`),
  );
  const storing = beginTransaction(other, (db) =>
    storeTransactionDetails(db, [
      detailed({ orderNo: 'a', symbol: 'USDT', feeSymbol: 'TRX', fee: '1' }),
    ]),
  );
  await untilBlocked(testLedger);
  await storeCoin();
  await assignChains(ledger, whole);
  await holding.commit();
  const stored = await storing;
  await assignChains(ledger, whole);
  await stored.commit();
  await untilAssigned();
  expect(await query('select slip44 from ledger.transactions')).toEqual([{ slip44: 195 }]);
});

test('two processes that assign chains concurrently wait for rows that are being stored', async () => {
  const storing = await beginTransaction(other, (db) =>
    storeListedTransactions(db, 'deposit', [listed({ orderNo: 'a', symbol: 'TRX' })]),
  );
  await storeCoin();
  const holding = await beginTransaction(ledger, (db) =>
    db.execute(`select from engine.chain_assignments for update`),
  );
  const assigning = [assignChains(ledger, whole), assignChains(other, whole)];
  await untilBlocked(testLedger, 2);
  await holding.commit();
  await Promise.all(assigning);
  await storing.commit();
  await untilAssigned();
  expect(await query('select slip44 from ledger.transactions')).toEqual([{ slip44: 195 }]);
});

test('a change that is committed after a later one is still a movement', async () => {
  await store(ledger, { orderNo: 'a', state: 'new' }, { orderNo: 'b', state: 'new' });
  const storing = await beginTransaction(ledger, (db) =>
    storeTransactionDetails(db, [detailed({ orderNo: 'a', state: 'pending' })]),
  );
  await storeDetail(other, { orderNo: 'b', state: 'pending' });
  const before = await readMovement(ledger.db);
  await storing.commit();
  expect(await readMovement(ledger.db)).not.toBe(before);
});

test('the balance at a time is that of the latest answer, whichever transaction began first', async () => {
  const storeBalance = (db: LedgerDb, amount: string, observation: number) =>
    storeBalances(db, [balance('TRX', amount, 195)], observation, true);
  await ledger.transaction(async (db) => {
    await other.transaction((earlier) => storeBalance(earlier, '1', 1));
    await storeBalance(db, '2', 2);
  });
  expect(await query('select balance::text from ledger.balances_at(now())')).toEqual([
    { balance: '2' },
  ]);
});
