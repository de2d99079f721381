import { beforeEach, expect, test } from 'vitest';
import type { LedgerDb } from '../../src/ledger/connection/connect-ledger.ts';
import { unlistRows } from '../../src/ledger/lists/stream-store.ts';
import { storeBalances } from '../../src/ledger/snapshots/balance-store.ts';
import { reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';
import { balance, day, fillLittleWallet } from './little-wallet.ts';

const testLedger = await withLedger();
const { ledger, query, clear } = testLedger;
const { db } = ledger;
beforeEach(async () => {
  await clear();
  await reclassifyByStates(ledger, {
    final: new Set(['success', 'failed']),
    success: new Set(['success']),
  });
});

test('daily flows are summed per UTC day, coin, type and state, and fees per fee coin', async () => {
  await fillLittleWallet(testLedger);
  const flows =
    await query(`select day::text, symbol, type, state, transactions::int, amount, fees::text
    from ledger.daily_flows order by day, symbol, type, state`);
  expect(flows).toEqual([
    flow('2026-01-01', 'USDT', 'deposit', 'Success ', '100', '{"USDT": "0"}'),
    flow('2026-01-02', 'ETH', 'deposit', 'failed', '5', '{"ETH": "0"}'),
    flow('2026-01-02', 'ETH', 'deposit', 'success', '10.00', '{"ETH": "0"}'),
    flow('2026-01-02', 'USDT', 'withdraw', 'success', '30', '{"ETH": "0.020"}'),
  ]);
});

function flow(
  date: string,
  symbol: string,
  type: string,
  state: string,
  amount: string,
  fees: string,
) {
  return { day: date, symbol, type, state, transactions: 1, amount, fees };
}

test('views show pending transactions, state transitions, balance history and sync health', async () => {
  await storeListedTransactions(db, 'deposit', [
    listed({ orderNo: 'a', state: 'pending', occurredAt: day }),
    listed({ orderNo: 'b', state: 'pending', occurredAt: day }),
  ]);
  const pending = await query<{ order_no: string; is_old: boolean }>(
    `select order_no, age = now() - occurred_at as is_old from ledger.pending_transactions order by 1`,
  );
  expect(pending).toEqual([
    { order_no: 'a', is_old: true },
    { order_no: 'b', is_old: true },
  ]);
  await storeListedTransactions(db, 'deposit', [listed({ orderNo: 'c', state: 'pending' })]);
  await unlistRows(db, 'deposit', ['c']);
  expect(await query('select order_no from ledger.pending_transactions order by 1')).toEqual([
    { order_no: 'a' },
    { order_no: 'b' },
  ]);
  for (const [orderNo, state, observation] of [
    ['a', 'success', 2],
    ['b', 'success', 3],
    ['b', 'failed', 4],
    ['b', 'success', 5],
    ['b', 'failed', 6],
  ] as const)
    await storeListedTransactions(db, 'deposit', [listed({ orderNo, state, observation })]);
  const transitions =
    await query(`select type, from_state, to_state, transactions::int, is_final_setting,
      first_seen_at < last_seen_at as is_repeated from ledger.state_transitions order by 2, 3`);
  expect(transitions).toEqual([
    transition('failed', 'success', 1, true, false),
    transition('pending', 'success', 2, false, true),
    transition('success', 'failed', 2, true, true),
  ]);
  await storeBalances(db, [balance('ETH', '1.50')], 7, true);
  await storeBalances(db, [], 8, true);
  const history = await query<{ balance: string; valid_to: Date; valid_from: Date }>(
    `select balance, valid_from, valid_to from ledger.balance_history order by valid_from`,
  );
  expect(history.map((one) => one.balance)).toEqual(['1.50', null]);
  expect(history[0]?.valid_to).toEqual(history[1]?.valid_from);
  expect(history[1]?.valid_to).toBeNull();
  await query(
    `update ledger.streams set service_total = 3, last_success_at = now() - interval '90.5 s'`,
  );
  expect(
    await query(`select name, is_complete, service_total::int, ledger_count::int, lag_seconds::int, last_error
    from ledger.sync_health`),
  ).toEqual([
    {
      name: 'deposit',
      is_complete: false,
      service_total: 3,
      ledger_count: 2,
      lag_seconds: 90,
      last_error: null,
    },
  ]);
});

test('each change of state is counted once: with concurrent writers, undone changes, and an altered log', async () => {
  const orders = ['a', 'b', 'c', 'd'];
  await storeListedTransactions(
    db,
    'deposit',
    orders.map((orderNo) => listed({ orderNo, state: 'pending' })),
  );
  const succeeds = (client: LedgerDb, ...changed: string[]) =>
    storeListedTransactions(
      client,
      'deposit',
      changed.map((orderNo) => listed({ orderNo, state: 'success', observation: 2 })),
    );
  const counted = async (source: string) =>
    query(
      `select type, from_state, to_state, transactions::int, first_seen_at, last_seen_at from ${source} order by 2`,
    );
  const undone = new Error('undone');
  await ledger.transaction(async (first) => {
    await succeeds(first, 'a', 'b');
    await ledger.transaction((second) => succeeds(second, 'c'));
    const third = ledger.transaction(async (client) => {
      await succeeds(client, 'd');
      throw undone;
    });
    await expect(third).rejects.toThrow(undone);
  });
  const recounted = 'ledger.count_state_transitions()';
  expect(await counted('ledger.state_transitions')).toMatchObject([
    { type: 'deposit', from_state: 'pending', to_state: 'success', transactions: 3 },
  ]);
  expect(await counted('ledger.state_transitions')).toEqual(await counted(recounted));
  await query(`update ledger.transaction_changes set old_value = 'new' where order_no = 'a'`);
  await query(`delete from ledger.transaction_changes where order_no = 'b'`);
  expect(await counted('ledger.state_transitions')).toMatchObject([
    { from_state: 'new', transactions: 1 },
    { from_state: 'pending', transactions: 1 },
  ]);
  expect(await counted('ledger.state_transitions')).toEqual(await counted(recounted));
  await query('truncate ledger.transaction_changes');
  expect(await counted('ledger.state_transitions')).toEqual([]);
});

function transition(
  from: string,
  to: string,
  transactions: number,
  isFinal: boolean,
  isRepeated: boolean,
) {
  return {
    type: 'deposit',
    from_state: from,
    to_state: to,
    transactions,
    is_final_setting: isFinal,
    is_repeated: isRepeated,
  };
}
