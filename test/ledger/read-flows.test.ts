import { afterEach, expect, test } from 'vitest';
import { readFlows } from '../../src/ledger/reports/read-flows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
afterEach(clear);

/** Rows of `type`, one for each amount, at noon (UTC) this number of days ago. */
async function add(
  rows: { symbol: string | null; type: string; state: string; daysAgo: number; amount: string }[],
): Promise<void> {
  for (const [index, { symbol, type, state, daysAgo, amount }] of rows.entries()) {
    await ledger.pool.query(
      `insert into ledger.transactions (order_no, stream, symbol, type, state, amount, occurred_at)
       values ($1, $3, $2, $3, $4, $5,
               ((now() at time zone 'UTC')::date - $6::int + time '12:00') at time zone 'UTC')`,
      [`order-${index}`, symbol, type, state, amount, daysAgo],
    );
  }
  await query(`insert into ledger.final_states values ('success', true), ('failed', false)`);
}

const done = { symbol: 'BTC', type: 'deposit', state: 'success', daysAgo: 0, amount: '1' };

test('an empty ledger has 30 days without transactions up to today', async () => {
  const flows = await readFlows(ledger.db);
  expect(flows.days).toHaveLength(30);
  expect(flows.days.at(-1)).toBe(new Date().toISOString().slice(0, 10));
  expect(new Set([...flows.deposits, ...flows.withdrawals])).toEqual(new Set([0]));
  expect([flows.coins, flows.coinsOmitted]).toEqual([[], 0]);
});

test('all transactions are counted, and the amounts of successful ones are summed exactly', async () => {
  await add([
    { ...done, amount: '0.100000000000000001' },
    { ...done, amount: '12345678901234567890.2' },
    { ...done, state: ' Success', daysAgo: 29, amount: '5' },
    { ...done, state: 'failed', amount: '1000' },
    { ...done, state: 'pending', amount: '1000' },
    { ...done, type: 'withdraw', daysAgo: 1, amount: '2.50' },
    { ...done, type: 'withdraw', symbol: null, amount: '9' },
    { ...done, daysAgo: 30, amount: '7' },
    { ...done, daysAgo: -2, amount: '7' },
  ]);
  const { deposits, withdrawals, coins } = await readFlows(ledger.db);
  expect([deposits[0], deposits[28], deposits[29]]).toEqual([1, 0, 4]);
  expect([withdrawals[28], withdrawals[29]]).toEqual([1, 1]);
  const [btc] = coins;
  expect(coins).toHaveLength(1);
  expect(btc?.deposit.total).toBe('12345678901234567895.300000000000000001');
  expect(btc?.deposit.daily.filter((amount) => amount !== null)).toEqual([
    '5',
    '12345678901234567890.300000000000000001',
  ]);
  expect(btc?.withdraw).toEqual({
    total: '2.5',
    daily: btc?.withdraw.daily.map((_, index) => (index === 28 ? '2.5' : null)),
  });
});

test('the coins with the most transactions are listed, and the number of other coins is given', async () => {
  const coins = Array.from({ length: 15 }, (_, index) => ({ ...done, symbol: `COIN${index}` }));
  await add([...coins, { ...done, symbol: 'COIN14' }]);
  const flows = await readFlows(ledger.db);
  expect(flows.coins).toHaveLength(12);
  expect(flows.coins[0]?.symbol).toBe('COIN14');
  expect(flows.coinsOmitted).toBe(3);
});
