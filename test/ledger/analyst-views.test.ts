import { beforeEach, expect, test } from 'vitest';
import { storeBalances } from '../../src/ledger/balance-store.ts';
import { judgeByStates } from '../../src/ledger/final-states.ts';
import { recordReconciliation } from '../../src/ledger/reconciliation-store.ts';
import { storeListedTransactions } from '../../src/ledger/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/store-transaction-details.ts';
import { detailed, listed } from './transaction-rows.ts';
import { withLedger } from './with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const { db } = ledger;
const day = Date.UTC(2026, 0, 2);

beforeEach(async () => {
  await clear();
  await judgeByStates(ledger, {
    final: new Set(['success', 'failed']),
    success: new Set(['success']),
  });
});

const coin = { contractAddress: '', name: null, chainName: null, chainSymbol: null, decimals: 18 };
const balance = (symbol: string, amount: string, slip44 = 60) => ({
  ...coin,
  symbol,
  slip44,
  balance: amount,
  frozen: '0',
});

/** 10 ETH and 100 USDT came, 30 USDT went for 0.02 ETH; one deposit failed. */
async function fill(): Promise<void> {
  const rows = [
    { orderNo: 'd1', symbol: 'ETH', amount: '10.00', state: 'success', occurredAt: day },
    { orderNo: 'd2', symbol: 'USDT', amount: '100', state: 'Success ', occurredAt: day - 1 },
    { orderNo: 'd3', symbol: 'ETH', amount: '5', state: 'failed', occurredAt: day },
  ].map((row) => listed(row));
  const out = { symbol: 'USDT', amount: '30', type: 'withdraw', state: 'success' };
  const sent = listed({ orderNo: 'w1', ...out, occurredAt: day + 86_399_999 });
  await storeListedTransactions(db, 'deposit', rows);
  await storeListedTransactions(db, 'withdraw', [sent]);
  await storeTransactionDetails(db, [
    ...rows.map((row) => detailed({ ...row, observation: 2, fee: '0', feeSymbol: row.symbol })),
    detailed({ ...sent, observation: 2, fee: '0.020', feeSymbol: 'ETH' }),
  ]);
  await query(
    'update ledger.streams set is_backed = true, service_total = ledger_count, checkpoint = jsonb_build_object($$gap$$, 0)',
  );
}

const reconciliation = () =>
  query(
    'select symbol, expected, reported, difference, is_explained, explanation from ledger.reconciliation order by 1',
  );

test('daily flows add up per UTC day, coin, type and state, fees per fee coin', async () => {
  await fill();
  const flows =
    await query(`select day::text, symbol, type, state, transactions::int, amount, fees::text
    from ledger.daily_flows order by day, symbol, type, state`);
  expect(flows).toEqual([
    flow('2026-01-01', 'USDT', 'deposit', 'Success ', '100', '{"USDT": 0}'),
    flow('2026-01-02', 'ETH', 'deposit', 'failed', '5', '{"ETH": 0}'),
    flow('2026-01-02', 'ETH', 'deposit', 'success', '10.00', '{"ETH": 0}'),
    flow('2026-01-02', 'USDT', 'withdraw', 'success', '30', '{"ETH": 0.020}'),
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

test('transactions that add up to the balances over all chains differ by 0', async () => {
  await fill();
  await storeBalances(
    db,
    [balance('ETH', '9.98'), balance('USDT', '50'), balance('USDT', '20', 195)],
    3,
    true,
  );
  expect(await reconciliation()).toMatchObject([
    {
      symbol: 'ETH',
      expected: '9.980',
      reported: '9.98',
      difference: '0.000',
      is_explained: true,
      explanation: null,
    },
    {
      symbol: 'USDT',
      expected: '70',
      reported: '70',
      difference: '0',
      is_explained: true,
      explanation: null,
    },
  ]);
});

test('the row of a coin names its newest transaction, and none where there is none', async () => {
  await fill();
  await storeBalances(db, [balance('ETH', '9.98'), balance('DUST', '3')], 3, true);
  await recordReconciliation(db, 0);
  expect(
    await query('select symbol, last_order_no from ledger.reconciliation_runs order by symbol'),
  ).toEqual([
    { symbol: 'DUST', last_order_no: null },
    { symbol: 'ETH', last_order_no: 'd3' },
    { symbol: 'USDT', last_order_no: 'w1' },
  ]);
});

test('a difference that nothing explains is said to be one, and one row per change is written', async () => {
  await fill();
  await storeBalances(db, [balance('ETH', '9.98'), balance('USDT', '69')], 3, true);
  expect((await reconciliation())[1]).toMatchObject({
    difference: '-1',
    is_explained: false,
    explanation: null,
  });
  const runs = () =>
    query(`select symbol, difference, is_explained, last_order_no, xmin::text, ctid::text
      from ledger.reconciliation_runs order by id`);
  await recordReconciliation(db, 0);
  const first = await runs();
  expect(first).toMatchObject([
    { symbol: 'ETH', difference: '0.000', is_explained: true, last_order_no: 'd3' },
    { symbol: 'USDT', difference: '-1', is_explained: false, last_order_no: 'w1' },
  ]);
  await recordReconciliation(db, 0);
  expect(await runs()).toEqual(first);
  // The same difference, now explained: judged anew, no new row.
  await storeListedTransactions(db, 'deposit', [
    listed({ orderNo: 'd4', symbol: 'USDT', amount: '7', state: 'pending', observation: 4 }),
  ]);
  await recordReconciliation(db, 0);
  expect((await runs()).map((run) => [run['symbol'], run['is_explained']])).toEqual([
    ['ETH', true],
    ['USDT', true],
  ]);
  await storeBalances(db, [balance('USDT', '70')], 5, false);
  await recordReconciliation(db, 0);
  expect((await runs()).map((run) => [run['symbol'], run['difference']])).toEqual([
    ['ETH', '0.000'],
    ['USDT', '-1'],
    ['USDT', '0'],
  ]);
});

test.each([
  ['not final yet: 1', `update ledger.transactions set is_final = false where order_no = 'd2'`],
  [
    'detail, and fee with it, still to be fetched: 1',
    `update ledger.transactions set next_check_at = now() where order_no = 'd2'`,
  ],
  ['open rejects: 1', reject(`'balance-list', null, 'balance', '{"symbol":"USDT","balance":"x"}'`)],
  ['open rejects: 1', reject(`'transaction-list', 'd2', 'amount', '{}'`)],
  [
    'a transaction changed after the balances were read',
    `update ledger.transactions set changed_at = now() + interval '1 s' where order_no = 'd2'`,
  ],
  [
    'lists not read to their end yet: deposit',
    `update ledger.streams set is_backed = false, checkpoint = null where name = 'deposit'`,
  ],
])('a difference is explained: %s', async (explanation, change) => {
  await fill();
  await storeBalances(db, [balance('ETH', '9.98'), balance('USDT', '69')], 3, true);
  expect((await reconciliation())[1]).toMatchObject({ is_explained: false });
  await query(change);
  expect((await reconciliation())[1]).toMatchObject({
    difference: '-1',
    is_explained: true,
    explanation,
  });
});

function reject(values: string): string {
  return `insert into ledger.rejects (source, order_no, field, payload, reason, fingerprint, first_seen_at, last_seen_at)
    values (${values}, 'odd', 'odd', now(), now())`;
}

test('the unlisted do not count, and nor does a reject of another coin', async () => {
  await fill();
  await storeBalances(
    db,
    [balance('ETH', '9.98'), balance('USDT', '70'), balance('OLD', '1')],
    3,
    true,
  );
  await storeBalances(db, [balance('ETH', '9.98'), balance('USDT', '70')], 4, true);
  await query(`update ledger.transactions set is_listed = false where order_no = 'd2'`);
  await query(reject(`'balance-list', null, 'balance', '{"symbol":"BTC"}'`));
  expect(await reconciliation()).toMatchObject([
    { symbol: 'ETH', is_explained: true },
    { symbol: 'USDT', expected: '-30', reported: '70', difference: '100', is_explained: false },
  ]);
});

test('pending transactions, state transitions, balance history and sync health tell what happened', async () => {
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
