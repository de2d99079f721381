import { beforeEach, expect, test } from 'vitest';
import { storeBalances } from '../../src/ledger/snapshots/balance-store.ts';
import { recordReconciliation } from '../../src/ledger/snapshots/reconciliation-store.ts';
import { assignChains } from '../../src/ledger/transactions/assign-chains.ts';
import { reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';
import { balance, day } from './little-wallet.ts';

const { ledger, query, clear } = await withLedger();
const { db } = ledger;

const contracts = { 60: '0xa0b', 195: 'TEk' };

beforeEach(async () => {
  await clear();
  await reclassifyByStates(ledger, { final: new Set(['success']), success: new Set(['success']) });
  await query(`insert into ledger.addresses (slip44, address, status, first_seen_at)
    values (60, '0xa1', 'used', now()), (195, 'Tours', 'used', now()),
           (60, 'both', 'used', now()), (195, 'both', 'used', now())`);
});

/** 5,000 USDC arrived on each chain, and 100 left Ethereum for a fee of 0.1 ETH from a deposit of 1 ETH. */
async function fill(more: { orderNo: string; toAddress: string; amount: string }[] = []) {
  const deposit = { symbol: 'USDC', state: 'success', occurredAt: day };
  const deposits = [
    { ...deposit, orderNo: 'd1', toAddress: '0xA1', amount: '5000' },
    { ...deposit, orderNo: 'd2', toAddress: 'Tours', amount: '5000' },
    { ...deposit, orderNo: 'd3', toAddress: '0xa1', symbol: 'ETH', amount: '1' },
    ...more.map((row) => ({ ...deposit, ...row })),
  ].map((row) => listed(row));
  const sent = listed({ ...deposit, orderNo: 'w1', type: 'withdraw', amount: '100' });
  await storeListedTransactions(db, 'deposit', deposits);
  await storeListedTransactions(db, 'withdraw', [sent]);
  await storeTransactionDetails(db, [
    ...deposits.map((row) => detailed({ ...row, observation: 2, fee: '0', feeSymbol: row.symbol })),
    detailed({ ...sent, observation: 2, fee: '0.1', feeSymbol: 'ETH' }),
  ]);
  await query(`update ledger.streams set is_backed = true, service_total = ledger_count;
    update ledger.transactions set first_seen_at = '2026-01-03', changed_at = '2026-01-03'`);
}

async function hold(ethereum: string, tron: string): Promise<void> {
  const records = [
    balance('ETH', '0.9'),
    balance('TRX', '0', 195),
    balance('USDC', ethereum, 60, contracts[60]),
    balance('USDC', tron, 195, contracts[195]),
  ];
  await storeBalances(db, records, 3, true);
  await assignChains(ledger, { signal: new AbortController().signal, mostMs: 60_000 });
}

const assets = (columns: string) =>
  query(
    `select slip44, symbol, ${columns} from ledger.asset_reconciliation where symbol <> 'TRX' order by slip44, symbol`,
  );

test('rows of a known chain add up to the balance of each asset', async () => {
  await fill();
  await hold('4900', '5000');
  expect(await assets('deposits, withdrawals, fees, difference, unassigned, is_explained')).toEqual(
    [
      asset(60, 'ETH', '1', '0', '0.1', '0.0', '0'),
      asset(60, 'USDC', '5000', '100', '0', '0', '0'),
      asset(195, 'USDC', '5000', '0', '0', '0', '0'),
    ],
  );
});

function asset(
  slip44: number,
  symbol: string,
  deposits: string,
  withdrawals: string,
  fees: string,
  difference: string,
  unassigned: string,
) {
  const sums = { deposits, withdrawals, fees, difference, unassigned };
  return { slip44, symbol, ...sums, is_explained: true };
}

test('a surplus on one chain and a shortage on another raise the alarm on both', async () => {
  await fill();
  await hold('5900', '4000');
  expect(await query('select symbol from ledger.reconciliation where difference <> 0')).toEqual([]);
  expect(await assets('difference, is_explained')).toEqual([
    { slip44: 60, symbol: 'ETH', difference: '0.0', is_explained: true },
    { slip44: 60, symbol: 'USDC', difference: '1000', is_explained: false },
    { slip44: 195, symbol: 'USDC', difference: '-1000', is_explained: false },
  ]);
  await recordReconciliation(db, 0, 'coins');
  await recordReconciliation(db, 0, 'assets');
  const alarms = () =>
    query(
      'select symbol, slip44, contract_address, amount from ledger.unexplained_differences order by 2',
    );
  expect(await alarms()).toEqual([
    { symbol: 'USDC', slip44: 60, contract_address: '0xa0b', amount: '1000' },
    { symbol: 'USDC', slip44: 195, contract_address: 'TEk', amount: '-1000' },
  ]);
  expect(await recordReconciliation(db, 0, 'assets')).toMatchObject({ written: 0 });
  await query(
    `update ledger.balances set balance = case slip44 when 60 then 4900 else 5000 end where symbol = 'USDC'`,
  );
  await recordReconciliation(db, 0, 'assets');
  expect(await alarms()).toEqual([]);
});

test('rows of an unknown chain explain a difference only up to their amounts, and only in their direction', async () => {
  await fill([
    { orderNo: 'd4', toAddress: 'nobody', amount: '20' },
    { orderNo: 'd5', toAddress: 'both', amount: '10' },
  ]);
  await hold('4920', '5010');
  expect(await assets('difference, unassigned, is_explained')).toMatchObject([
    { symbol: 'ETH', unassigned: '0' },
    { slip44: 60, difference: '20', unassigned: '30', is_explained: true },
    { slip44: 195, difference: '10', unassigned: '30', is_explained: true },
  ]);
  await query(
    `update ledger.balances set balance = case slip44 when 60 then 4931 else 4999 end where symbol = 'USDC'`,
  );
  expect(await assets('difference, is_explained')).toMatchObject([
    { symbol: 'ETH' },
    { slip44: 60, difference: '31', is_explained: false },
    { slip44: 195, difference: '-1', is_explained: false },
  ]);
});

test('a row is on the chain of its transaction, from whichever source the chain is known', async () => {
  await fill([{ orderNo: 'd6', toAddress: 'both', amount: '70' }]);
  await hold('4970', '5000');
  await query(`update ledger.transactions set slip44 = 60 where order_no = 'd6'`);
  const usdc = { symbol: 'USDC', difference: '0', unassigned: '0' };
  expect(await assets('deposits, difference, unassigned')).toMatchObject([
    { symbol: 'ETH' },
    { ...usdc, slip44: 60, deposits: '5070' },
    { ...usdc, slip44: 195, deposits: '5000' },
  ]);
  const ofDays = `select slip44, sum(amount) as amount from ledger.daily_totals
    where stream = 'deposit' and symbol = 'USDC' group by slip44 order by slip44`;
  expect(await query(ofDays)).toEqual([
    { slip44: 60, amount: '5070' },
    { slip44: 195, amount: '5000' },
  ]);
});

test('each alarm is found by one index lookup, for any number of rows', async () => {
  await query(`insert into ledger.reconciliation_runs
      (symbol, slip44, contract_address, observed_at, expected, reported, difference, is_explained, unexplained_since)
    select 'COIN' || n % 3, case when n % 2 = 0 then 60 end, case when n % 2 = 0 then '' end, now(), 0, n, n,
           n % 6 <> 1 or n < 29990, now()
      from generate_series(1, 30000) as n`);
  await query('analyze ledger.reconciliation_runs');
  expect(await query('select symbol, slip44, amount from ledger.unexplained_differences')).toEqual([
    { symbol: 'COIN1', slip44: null, amount: '29995' },
  ]);
  const plan = await query<{ 'QUERY PLAN': string }>(
    'explain (analyze, costs off, timing off) select * from ledger.unexplained_differences',
  );
  const text = plan.map((line) => line['QUERY PLAN']).join('\n');
  expect(text).not.toMatch(/Seq Scan on reconciliation_runs|Sort/);
});

test('the daily sums are not read, because their number grows every day', async () => {
  await fill();
  await hold('4900', '5000');
  await query('select engine.fold_totals()');
  const client = await ledger.pool.connect();
  const scansOf = async (table: string) => {
    const { rows } = await client.query(
      'select (seq_scan + idx_scan)::int as scans from pg_stat_xact_all_tables where relname = $1',
      [table],
    );
    return rows[0]?.scans;
  };
  try {
    // PostgreSQL includes the scans of earlier transactions until it has reported them.
    await client.query('begin');
    const [daily, overall] = [await scansOf('daily_sums'), await scansOf('all_sums')];
    const { rows } = await client.query('select deposits from ledger.asset_reconciliation');
    expect(rows.map(({ deposits }) => Number(deposits))).toContain(5_000);
    expect(await scansOf('daily_sums')).toBe(daily);
    expect(await scansOf('all_sums')).toBeGreaterThan(overall);
  } finally {
    await client.query('rollback');
    client.release();
  }
});
