import { drizzle } from 'drizzle-orm/node-postgres';
import fc from 'fast-check';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { storeBalances } from '../../src/ledger/snapshots/balance-store.ts';
import { recordReconciliation } from '../../src/ledger/snapshots/reconciliation-store.ts';
import { reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { countRowsRead } from '../support/count-rows-read.ts';
import { forAll } from '../support/for-all.ts';
import { listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';
import { balance, fillLittleWallet } from './little-wallet.ts';

const testLedger = await withLedger();
const { ledger, query, clear } = testLedger;
const { db } = ledger;

beforeEach(async () => {
  await clear();
  await reclassifyByStates(ledger, {
    final: new Set(['success', 'failed']),
    success: new Set(['success']),
  });
  await fillLittleWallet(testLedger);
});

type Row = { is_explained: boolean; explanation: string | null; open_amount: string | null };

let observation = 10;

/** The little wallet holds 9.98 ETH and 70 USDT. */
async function reconciled(symbol: string, reported: Record<string, string | null>) {
  const held = { ETH: '9.98', USDT: '70', ...reported };
  const records = Object.entries(held).map(([coin, amount]) => balance(coin, amount));
  observation += 1;
  await storeBalances(db, records, observation, true);
  const [row] = await query<Row>(
    `select is_explained, explanation, open_amount from ledger.reconciliation where symbol = '${symbol}'`,
  );
  return row;
}

const runs = (columns: string) =>
  query(`select ${columns} from ledger.reconciliation_runs order by id`);

const addPending = (orderNo: string, amount: string, symbol = 'USDT') =>
  storeListedTransactions(db, 'deposit', [
    listed({ orderNo, symbol, amount, state: 'pending', observation: 4 }),
  ]);

test('transactions that add up to the balances over all chains differ by 0', async () => {
  const records = [balance('ETH', '9.98'), balance('USDT', '50'), balance('USDT', '20', 195)];
  await storeBalances(db, records, 3, true);
  const equal = { is_explained: true, explanation: null };
  expect(
    await query(`select symbol, expected, reported, difference, is_explained, explanation
      from ledger.reconciliation order by 1`),
  ).toEqual([
    { symbol: 'ETH', expected: '9.980', reported: '9.98', difference: '0.000', ...equal },
    { symbol: 'USDT', expected: '70', reported: '70', difference: '0', ...equal },
  ]);
});

test('open rows explain a difference only up to their amounts', async () => {
  const cents = fc.integer({ min: 1, max: 5_000 });
  await forAll(fc.array(cents, { maxLength: 5 }), cents)(25, async (open, off) => {
    await query(`delete from ledger.transactions where not is_final`);
    for (const [nth, amount] of open.entries()) await addPending(`p${nth}`, String(amount / 100));
    const sum = open.reduce((all, amount) => all + amount, 0);
    // New rows stand for money that may have moved meanwhile, so these are backdated.
    await query(
      `update ledger.transactions set first_seen_at = '2026-01-03', changed_at = '2026-01-03'`,
    );
    const row = await reconciled('USDT', { USDT: ((7_000 - off) / 100).toFixed(2) });
    expect(Number(row?.open_amount)).toBeCloseTo(sum / 100, 6);
    expect(row?.is_explained).toBe(off <= sum);
  });
});

test.each([
  [
    'the fee to come of a withdrawal',
    `detail_synced_at = null where order_no = 'w1'`,
    '9.78',
    '9.77',
  ],
  ['a withdrawal that is open', `is_final = false where order_no = 'w1'`, '9.78', '9.77'],
])('%s explains another coin only up to the fees seen', async (_what, change, within, beyond) => {
  await query(`update ledger.transactions set ${change}`);
  expect(await reconciled('ETH', { ETH: within })).toMatchObject({
    is_explained: true,
    open_amount: '0.200',
  });
  expect(await reconciled('ETH', { ETH: beyond })).toMatchObject({
    is_explained: false,
    explanation: expect.stringMatching(/^more than the open amounts can explain, 0\.2: /),
  });
  // Bitcoin is on no chain of that withdrawal.
  await storeBalances(db, [balance('BTC', '0.0001', 0)], 99, false);
  expect(
    await query(
      `select is_explained, open_amount::float8 from ledger.reconciliation where symbol = 'BTC'`,
    ),
  ).toEqual([{ is_explained: false, open_amount: 0 }]);
});

test.each([
  [
    'transactions that changed around the reading of the balances: 1',
    '100',
    `update ledger.transactions set changed_at = now() + interval '1 s', detail_synced_at = now() + interval '1 s'
      where order_no = 'd2'`,
  ],
  [
    'fees that name no coin: 1',
    '1',
    `update ledger.transactions set fee = 1, fee_symbol = null where order_no = 'd2'`,
  ],
  [
    'open rejects: 1',
    '1',
    reject(`'transaction-list', null, 'orderNo', '{"symbol":"USDT","amount":"1"}'`),
  ],
  [
    'open rejects: 1, of which an amount is not known',
    null,
    reject(`'balance-list', null, 'balance', '{"symbol":"USDT","balance":"x"}'`),
  ],
  [
    'open rejects: 1, of which an amount is not known',
    null,
    reject(`'transaction-list', 'd2', 'amount', '{}'`),
  ],
  [
    'lists not read to their end yet: deposit',
    null,
    `update ledger.streams set is_backed = name <> 'deposit'`,
  ],
])('a difference is explained: %s', async (explanation, openAmount, change) => {
  expect(await reconciled('USDT', { USDT: '69' })).toMatchObject({ is_explained: false });
  await query(change);
  expect(await reconciled('USDT', { USDT: '69' })).toEqual({
    is_explained: true,
    explanation,
    open_amount: openAmount,
  });
});

test.each([
  [
    'a balance that could not be read',
    null,
    'open rejects: 1, of which an amount is not known',
    null,
  ],
  ['a balance of 0', '0', null, '0'],
])('no transactions and %s', async (_, balanceRead, explanation, openAmount) => {
  if (balanceRead === null)
    await query(reject(`'balance-list', null, 'balance', '{"symbol":"DOGE","balance":"x"}'`));
  expect(await reconciled('DOGE', { DOGE: balanceRead })).toEqual({
    is_explained: true,
    explanation,
    open_amount: openAmount,
  });
});

function reject(values: string): string {
  return `insert into ledger.rejects (source, order_no, field, payload, reason, fingerprint, first_seen_at, last_seen_at)
    values (${values}, 'odd', 'odd', now(), now())`;
}

test('unlisted rows do not count, and neither does a reject of another coin', async () => {
  await storeBalances(db, [balance('OLD', '1')], 3, true);
  await query(`update ledger.transactions set is_listed = false where order_no = 'd2'`);
  await query(reject(`'balance-list', null, 'balance', '{"symbol":"BTC"}'`));
  await storeBalances(db, [balance('ETH', '9.98'), balance('USDT', '70')], 4, true);
  expect(
    await query('select symbol, expected, is_explained from ledger.reconciliation order by 1'),
  ).toEqual([
    { symbol: 'ETH', expected: '9.980', is_explained: true },
    { symbol: 'USDT', expected: '-30', is_explained: false },
  ]);
});

test('each day is read once for the newest transactions of all coins', async () => {
  const coins = Array.from({ length: 200 }, (_, coin) => `C${coin}`);
  await query(`insert into ledger.transactions (order_no, stream, symbol, state, occurred_at)
    select 'C' || n % 200 || '/' || to_char(n, 'FM0000'), 'deposit', 'C' || n % 200, 'success',
           timestamptz '2026-03-29 12:00Z' + n * interval '1 second' - n % 2 * interval '1 day'
      from generate_series(1, 2000) as n`);
  await query('analyze ledger.transactions');
  await storeBalances(
    db,
    coins.map((coin) => balance(coin, '3')),
    3,
    true,
  );
  const client = await ledger.pool.connect();
  onTestFinished(() => client.release(true));
  await client.query('begin');
  const rowsRead = await countRowsRead(client, 'transactions', () =>
    recordReconciliation(drizzle({ client }), 0),
  );
  await client.query('commit');
  expect(rowsRead).toBeLessThan(20_000);
  const recorded = await runs('symbol, last_order_no');
  expect(recorded.filter((row) => String(row['symbol']).startsWith('C'))).toEqual(
    coins
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map((symbol) => ({
        symbol,
        last_order_no: `${symbol}/${String(1800 + (Number(symbol.slice(1)) || 200)).padStart(4, '0')}`,
      })),
  );
});

test('the views look up the time of the balances once, not once per coin', async () => {
  await storeBalances(
    db,
    Array.from({ length: 200 }, (_, coin) => balance(`C${coin}`, '3')),
    3,
    true,
  );
  await recordReconciliation(db, 0);
  await query('analyze ledger.balances');
  const client = await ledger.pool.connect();
  onTestFinished(() => client.release(true));
  await client.query('begin');
  for (const view of ['reconciliation', 'asset_reconciliation']) {
    const rowsRead = await countRowsRead(client, 'balances', () =>
      client.query(`select * from ledger.${view}`),
    );
    expect([view, rowsRead < 5_000]).toEqual([view, true]);
  }
});

test('the row of a coin names its newest transaction, or none if there is none', async () => {
  await storeBalances(db, [balance('ETH', '9.98'), balance('DUST', '3')], 3, true);
  await recordReconciliation(db, 0);
  expect(await runs('symbol, last_order_no')).toEqual([
    { symbol: 'DUST', last_order_no: null },
    { symbol: 'ETH', last_order_no: 'd3' },
    { symbol: 'USDT', last_order_no: 'w1' },
  ]);
});

test('one row is written per change, and the problem ends when the coin is no longer listed', async () => {
  await storeBalances(
    db,
    [balance('ETH', '9.98'), balance('DUST', '1'), balance('USDT', '70')],
    3,
    true,
  );
  await recordReconciliation(db, 0);
  const first = await runs('symbol, difference, is_explained, xmin::text, ctid::text');
  expect(first).toMatchObject([
    { symbol: 'DUST', is_explained: false },
    { symbol: 'ETH' },
    { symbol: 'USDT' },
  ]);
  expect(await recordReconciliation(db, 0)).toMatchObject({ written: 0 });
  expect(await runs('symbol, difference, is_explained, xmin::text, ctid::text')).toEqual(first);
  const alarms = () => query('select symbol, slip44, amount from ledger.unexplained_differences');
  expect(await alarms()).toEqual([{ symbol: 'DUST', slip44: null, amount: '1' }]);
  await storeBalances(db, [balance('ETH', '9.98'), balance('USDT', '70')], 4, true);
  await recordReconciliation(db, 0);
  expect(await alarms()).toEqual([]);
});

test('a permanent difference is explained only by rows that match it to the last digit', async () => {
  await addPending('p1', '7');
  expect(await reconciled('USDT', { USDT: '69' })).toMatchObject({ is_explained: true });
  await recordReconciliation(db, 0);
  await addPending('p2', '3');
  await recordReconciliation(db, 0);
  expect(
    await runs('symbol, difference, is_explained, unexplained_since = observed_at as since'),
  ).toEqual([
    { symbol: 'ETH', difference: '0.000', is_explained: true, since: null },
    { symbol: 'USDT', difference: '-1', is_explained: false, since: true },
  ]);
  expect(await query('select symbol, explanation from ledger.unexplained_differences')).toEqual([
    {
      symbol: 'USDT',
      explanation: expect.stringMatching(/^has been the same since .* UTC, and no /),
    },
  ]);
  // Another movement hides the difference only by chance, and does not explain it.
  await reconciled('USDT', { USDT: '68.5' });
  await recordReconciliation(db, 0);
  expect(await query('select amount from ledger.unexplained_differences')).toEqual([
    { amount: '-1.5' },
  ]);
  await reconciled('USDT', { USDT: '73' });
  await recordReconciliation(db, 0);
  expect(await query('select amount from ledger.unexplained_differences')).toEqual([]);
});

test('a balance that moved after the lists were read is explained until they are read again', async () => {
  const passed = (job: string) =>
    query(`insert into ledger.sync_runs
        (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated)
      values ('${job}', now(), now(), 'done', 1, 1, 0, 0)`);
  await reconciled('USDT', {});
  await passed('transactions');
  await passed('balances');
  expect(await reconciled('USDT', { USDT: '75' })).toEqual({
    is_explained: true,
    explanation: 'the balance changed after the transaction lists were read',
    open_amount: '5',
  });
  await recordReconciliation(db, 0);
  await recordReconciliation(db, 0);
  const alarms = () => query('select symbol, amount from ledger.unexplained_differences');
  expect(await alarms()).toEqual([]);
  await passed('transactions');
  await recordReconciliation(db, 0);
  expect(await alarms()).toEqual([{ symbol: 'USDT', amount: '5' }]);
});
