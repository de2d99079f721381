import { beforeEach, expect, test } from 'vitest';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { readFlows } from '../../src/ledger/reports/read-flows.ts';
import { compareTotals, correctTotals } from '../../src/ledger/reports/totals-store.ts';
import { storeBalances } from '../../src/ledger/snapshots/balance-store.ts';
import {
  readMovement,
  recordReconciliation,
} from '../../src/ledger/snapshots/reconciliation-store.ts';
import { hasUnnamed } from '../../src/ledger/snapshots/store-snapshot.ts';
import { withLedger } from '../support/with-ledger.ts';
import { balance } from './little-wallet.ts';

const { ledger, query, clear } = await withLedger();
const second = ledger.forWallet('w2');
const wallets = [
  { of: ledger, name: 'main', amount: 10, chain: 60 },
  { of: second, name: 'w2', amount: 700, chain: 195 },
];

beforeEach(clear);

/** The same order numbers, coin and day in both wallets; amounts, states and chains differ. */
async function fill(): Promise<void> {
  for (const { of, name, amount, chain } of wallets) {
    await query(`
      insert into ledger.final_states (wallet, state, is_success) values ('${name}', 'success', true);
      insert into ledger.streams (wallet, name, is_backed) values ('${name}', 'deposit', true), ('${name}', 'withdraw', true);
      insert into ledger.transactions (wallet, order_no, stream, type, symbol, state, is_final, is_success, amount, fee, fee_symbol,
                                       slip44, occurred_at, first_seen_at, changed_at, detail_synced_at)
      select '${name}', n::text, 'deposit', 'deposit', 'USDT', 'success', true, true, ${amount}, ${amount / 10}, 'USDT', ${chain}, t.at, t.at, t.at, t.at
        from generate_series(1, 3) n, (select now() - interval '5 days') as t (at)`);
    await storeBalances(of.db, [balance('USDT', String((amount * 27) / 10), chain)], 1, true);
  }
}

const shown = (columns: string, view: string) =>
  query(`select wallet, ${columns} from ledger.${view} order by wallet, 2`);

test('flows, fees, totals and chains of two wallets are counted separately', async () => {
  await fill();
  expect(await shown('slip44, transactions, amount', 'daily_totals')).toEqual([
    { wallet: 'main', slip44: 60, transactions: '3', amount: '30' },
    { wallet: 'w2', slip44: 195, transactions: '3', amount: '2100' },
  ]);
  expect(await shown('slip44, amount, fees', 'daily_flows')).toEqual([
    { wallet: 'main', slip44: 60, amount: '30', fees: { USDT: '3' } },
    { wallet: 'w2', slip44: 195, amount: '2100', fees: { USDT: '210' } },
  ]);
  expect(await shown('trim_scale(fee) as fee', 'daily_fees')).toEqual([
    { wallet: 'main', fee: '3' },
    { wallet: 'w2', fee: '210' },
  ]);
  expect(await shown('slip44', 'chains')).toEqual([
    { wallet: 'main', slip44: 60 },
    { wallet: 'w2', slip44: 195 },
  ]);
  const total = async (of: Ledger) => (await readFlows(of.db)).coins[0]?.deposit.total;
  expect([await total(ledger), await total(second)]).toEqual(['30', '2100']);
});

test('a row that moves to another wallet leaves the counts of the one and enters those of the other', async () => {
  await fill();
  await query(
    `update ledger.transactions set wallet = 'w3', amount = 1 where wallet = 'main' and order_no = '1'`,
  );
  expect(await shown('amount', 'daily_totals')).toEqual([
    { wallet: 'main', amount: '20' },
    { wallet: 'w2', amount: '2100' },
    { wallet: 'w3', amount: '1' },
  ]);
  const counts = `select wallet, ledger_count from ledger.streams where ledger_count > 0 order by 1`;
  expect(await query(counts)).toEqual([
    { wallet: 'main', ledger_count: '2' },
    { wallet: 'w2', ledger_count: '3' },
    { wallet: 'w3', ledger_count: '1' },
  ]);
  expect(await query('select * from ledger.total_drift')).toEqual([]);
});

test('the totals of a wallet are compared without those of another', async () => {
  await fill();
  await query(`select engine.fold_totals();
    update engine.daily_sums set amount = amount + 1 where wallet = 'w2'`);
  expect(await compareTotals(ledger.db)).toEqual({ compared: 1, different: [] });
  expect((await compareTotals(second.db)).different).toHaveLength(1);
  await correctTotals(second.db);
  expect((await compareTotals(second.db)).different).toEqual([]);
});

test('open rows of one wallet do not explain the difference of another', async () => {
  await fill();
  const judged = () => shown('difference::float8, is_explained', 'reconciliation');
  const equal = { difference: 0, is_explained: true };
  expect(await judged()).toEqual([
    { wallet: 'main', ...equal },
    { wallet: 'w2', ...equal },
  ]);
  await query(`insert into ledger.transactions (wallet, order_no, stream, symbol, state, amount, first_seen_at, changed_at)
    values ('w2', 'open', 'deposit', 'USDT', 'pending', 1000, now() - interval '1 day', now() - interval '1 day')`);
  await query('update ledger.balances set balance = balance + 5');
  expect(await judged()).toEqual([
    { wallet: 'main', difference: 5, is_explained: false },
    { wallet: 'w2', difference: 5, is_explained: true },
  ]);
  expect(await shown('difference::float8, is_explained', 'asset_reconciliation')).toEqual(
    await judged(),
  );
  for (const { of } of wallets)
    expect(await recordReconciliation(of.db, 0, 'coins')).toMatchObject({ written: 1 });
  expect(await shown('symbol, amount::float8', 'unexplained_differences')).toEqual([
    { wallet: 'main', symbol: 'USDT', amount: 5 },
  ]);
});

test('a session sees the views of its own wallet after it read those of all wallets', async () => {
  await fill();
  const client = await second.pool.connect();
  try {
    await client.query('begin');
    await client.query('select * from ledger.reconciliation, ledger.asset_reconciliation');
    const { rows } = await client.query(
      'select engine.wallet() as wallet, deposits::float8 from ledger.reconcile(now())',
    );
    expect(rows).toEqual([{ wallet: 'w2', deposits: 2100 }]);
    await client.query('commit');
  } finally {
    client.release();
  }
});

test('an answer for one wallet is not compared with the balances of another', async () => {
  await fill();
  const named = [{ slip44: 60, symbol: 'USDT', contractAddress: '' }];
  expect(await hasUnnamed(ledger.db, 'balances', named)).toBe(false);
  expect(await hasUnnamed(second.db, 'balances', named)).toBe(true);
  const before = await readMovement(ledger.db);
  await query(
    `insert into engine.detail_checks (wallet, order_no, is_final, turn) values ('w2', '1', true, 0)`,
  );
  expect(await readMovement(ledger.db)).toBe(before);
});
