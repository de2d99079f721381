import { expect, test } from 'vitest';
import { withLedger } from '../support/with-ledger.ts';

const { query } = await withLedger();

test('deposit_chains sums the listed deposits of coins on several chains, by the chain of each row', async () => {
  await query(`
    insert into ledger.coins (wallet, slip44, symbol, contract_address, observed_at, changed_at, observation)
    select *, now(), now(), 1
      from (values ('main', 60, 'ETH', ''), ('main', 60, 'USDT', '0xa'), ('main', 195, 'USDT', 'Tb'), ('w2', 60, 'USDT', '0xa'))
        as v;
    insert into ledger.transactions (wallet, order_no, stream, symbol, amount, state, slip44, is_listed, occurred_at)
    values ('main', 'a', 'deposit', 'USDT', 5, 'success', 195, true, '2026-03-29'),
           ('main', 'b', 'deposit', 'USDT', 2.5, 'success', 195, true, '2026-10-25'),
           ('main', 'c', 'deposit', 'USDT', null, 'success', null, true, null),
           ('main', 'd', 'deposit', 'USDT', 1, 'success', 195, false, '2026-03-29'),
           ('main', 'e', 'withdraw', 'USDT', 1, 'success', 195, true, '2026-03-29'),
           ('main', 'f', 'deposit', 'ETH', 1, 'success', 60, true, '2026-03-29'),
           ('w2', 'g', 'deposit', 'USDT', 1, 'success', 60, true, '2026-03-29')`);
  expect(
    await query(`select wallet, symbol, state, slip44, transactions::int, trim_scale(amount) as amount
                   from ledger.deposit_chains order by slip44`),
  ).toEqual([
    {
      wallet: 'main',
      symbol: 'USDT',
      state: 'success',
      slip44: 195,
      transactions: 2,
      amount: '7.5',
    },
    {
      wallet: 'main',
      symbol: 'USDT',
      state: 'success',
      slip44: null,
      transactions: 1,
      amount: null,
    },
  ]);
});
