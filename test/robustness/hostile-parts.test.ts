import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { failingViews, sums, withListingService } from '../support/with-listing-service.ts';

const now = Date.now();
const escapedNul = '\\u0000';

function row(orderNo: string, fields: Record<string, string> = {}): string {
  const all: Record<string, string> = {
    orderNo: JSON.stringify(orderNo),
    symbol: '"ETH"',
    txHash: `"0x${orderNo}"`,
    toAddress: '"0xto"',
    amount: '"1.50"',
    type: '"deposit"',
    state: '"success"',
    time: String(now - 60_000),
    ...fields,
  };
  return `{${Object.entries(all)
    .map(([name, value]) => `"${name}":${value}`)
    .join(',')}}`;
}

const details: Array<[fields: Record<string, string>, stored: object, rejected: string[]]> = [
  [{}, { fee: '0.10', confirm_num: 12, fee_symbol: 'ETH' }, []],
  [{ fee: '"NaN"' }, { fee: null, confirm_num: 12 }, ['fee']],
  [
    { fee: '"Infinity"', confirmNum: '"many"' },
    { fee: null, confirm_num: null },
    ['confirmNum', 'fee'],
  ],
  [{ fee: '-0.25' }, { fee: '-0.25' }, []],
  [{ fee: '1e-18' }, { fee: `0.${'0'.repeat(17)}1` }, []],
  [{ fee: '0.12345678901234567890123' }, { fee: '0.12345678901234567890123' }, []],
  [{ fee: 'null', confirmNum: '""' }, { fee: null, confirm_num: null }, []],
  [{ confirmNum: '2147483648' }, { fee: '0.10', confirm_num: null }, ['confirmNum']],
  [{ feeSymbol: `"E${escapedNul}"` }, { fee_symbol: null }, ['feeSymbol']],
  [
    { feeSymbol: '{}', amount: '"NaN"' },
    { fee_symbol: null, amount: '1.50' },
    ['amount', 'feeSymbol'],
  ],
  [{ time: '0', state: '["x"]' }, { fee: '0.10', state: 'success' }, ['state', 'time']],
  [{ memo: `"${escapedNul}"` }, { fee: '0.10', extra: { memo: '\ufffd' } }, []],
];

test('[V1 V2 V3 V4 V6 V7 V8 V12] of details with bad fields the good fields are stored and the bad ones kept as rejects, and no other row waits', async () => {
  const { service, env, query } = await withListingService();
  service.lists.set(
    'deposit',
    details.map((_, nth) => row(`order-${nth}`)),
  );
  for (const [nth, [fields]] of details.entries()) {
    const detail = { confirmNum: '"12"', fee: '"0.10"', feeSymbol: '"ETH"', ...fields };
    service.details.set(`order-${nth}`, row(`order-${nth}`, detail));
  }
  const { code, stderr } = await runProgram(['backfill'], env);
  expect(code, stderr).toBe(0);
  for (const [nth, [, stored, rejected]] of details.entries()) {
    const where = `where order_no = 'order-${nth}'`;
    const [found] = await query(
      `select *, not exists (select from ledger.waiting_details w where w.order_no = t.order_no) as is_done
         from ledger.transactions t ${where}`,
    );
    expect(found).toMatchObject({ ...stored, is_done: true });
    const rejects = await query(
      `select field, payload from ledger.rejects ${where} order by field`,
    );
    expect(rejects.map(({ field }) => field)).toEqual(rejected);
    for (const { payload } of rejects) expect(String(payload)).toContain(`0xorder-${nth}`);
  }
  expect(await failingViews(query)).toEqual([]);
  for (const sum of await sums(query)) expect(sum).toMatch(/^-?\d+(\.\d+)?$/);
});

test('[V5] amounts at the accepted limit leave room for their sums', async () => {
  const { service, env, query } = await withListingService();
  const digits = [131_072, 10_000, 1_001, 1_000, 1_000, 999];
  service.lists.set(
    'deposit',
    digits.map((length, nth) => row(`order-${nth}`, { amount: `"${'9'.repeat(length)}"` })),
  );
  const balance = { slip44: 60, symbol: 'ETH', balance: '9'.repeat(1_001), frozen: '0' };
  service.snapshots.balance = JSON.stringify([
    balance,
    { ...balance, slip44: 61 },
    { ...balance, slip44: 62, balance: '9'.repeat(1_000) },
    { ...balance, slip44: 63, balance: '9'.repeat(1_000) },
  ]);
  await runProgram(['backfill', '--no-details'], env);
  const [stored] = await query(`select count(*)::int as rows, count(amount)::int as amounts,
    (select count(*)::int from ledger.rejects where field = 'amount') as rejects from ledger.transactions`);
  expect(stored).toMatchObject({ rows: digits.length, amounts: 3, rejects: 3 });
  expect(await failingViews(query)).toEqual([]);
  for (const sum of await sums(query)) expect(sum).toMatch(/^-?\d+(\.\d+)?$/);
});

test('[V1 V2 V4 V8 V14 V17 V18] of balances, coins and addresses of every kind each good row is stored and each bad field kept as a reject', async () => {
  const { service, env, query } = await withListingService();
  const balance = {
    slip44: 60,
    symbol: 'A',
    contractAddress: null,
    balance: '1',
    frozen: '0',
    decimal: 18,
  };
  const balances = [
    { ...balance },
    { ...balance, symbol: 'less', frozen: '2' },
    { ...balance, symbol: 'negative', balance: '-1.5', frozen: '-0.5' },
    { ...balance, symbol: 'nan', balance: 'NaN', frozen: ' 5 ' },
    { ...balance, symbol: '=1+1', contractAddress: '0xC' },
    { ...balance, balance: '99' },
    ...[null, 2 ** 31, -1, '0x3c', 1.5].map((slip44) => ({ ...balance, symbol: 'B', slip44 })),
    { ...balance, symbol: '' },
    { ...balance, symbol: 'C', contractAddress: 'a\0' },
  ];
  service.snapshots.balance = JSON.stringify(balances);
  service.snapshots.coin = JSON.stringify([
    { ...balance, depositState: 1, withdrawState: 'on', decimal: 2 ** 40 },
    { ...balance, symbol: 'ok', depositState: 0, withdrawState: 1 },
    { ...balance, slip44: null },
  ]);
  const addresses = [
    '0xAb',
    '0xaB',
    'rX?memo= 1',
    '=cmd',
    'a'.repeat(1_025),
    '',
    'a\0',
    '\ud800',
    null,
    { a: 1 },
  ];
  service.lists.set(
    'addresses',
    addresses.map((address) => JSON.stringify({ address })),
  );
  const settings = { ...env, ADDRESS_POOLS: '60:1:2' };
  const { code, stderr } = await runProgram(['backfill'], settings);
  expect(code, stderr).toBe(3);
  expect(
    await query(
      'select symbol, contract_address, balance, frozen from ledger.balances order by symbol collate "C"',
    ),
  ).toEqual([
    { symbol: '=1+1', contract_address: '0xC', balance: '1', frozen: '0' },
    { symbol: 'A', contract_address: '', balance: '1', frozen: '0' },
    { symbol: 'less', contract_address: '', balance: '1', frozen: '2' },
    { symbol: 'nan', contract_address: '', balance: null, frozen: null },
    { symbol: 'negative', contract_address: '', balance: '-1.5', frozen: '-0.5' },
  ]);
  expect(
    await query(
      'select symbol, decimals, deposit_state, withdraw_state from ledger.coins order by symbol collate "C"',
    ),
  ).toEqual([
    { symbol: 'A', decimals: null, deposit_state: 1, withdraw_state: null },
    { symbol: 'ok', decimals: 18, deposit_state: 0, withdraw_state: 1 },
  ]);
  expect(
    (await query('select address from ledger.addresses order by address collate "C"')).map(
      (one) => one['address'],
    ),
  ).toEqual(['0xAb', '=cmd', 'rX?memo= 1']);
  const rejects = await query(
    'select source, field, count(*)::int as n from ledger.rejects group by 1, 2 order by 1, 2',
  );
  expect(rejects).toEqual([
    // Six texts that are no addresses, a formula, and one with a blank.
    { source: 'address-list', field: 'address', n: 8 },
    { source: 'balance-list', field: 'balance', n: 1 },
    { source: 'balance-list', field: 'contractAddress', n: 1 },
    { source: 'balance-list', field: 'frozen', n: 1 },
    { source: 'balance-list', field: 'slip44', n: 5 },
    { source: 'balance-list', field: 'symbol', n: 1 },
    { source: 'balance-list', field: null, n: 1 },
    { source: 'coin-list', field: 'decimal', n: 1 },
    { source: 'coin-list', field: 'slip44', n: 1 },
    { source: 'coin-list', field: 'withdrawState', n: 1 },
  ]);
  expect(await failingViews(query)).toEqual([]);
  expect((await runProgram(['status', '--json'], settings)).code).toBe(0);

  // V17: changed decimals are stored, with the time of the change.
  service.snapshots.coin = JSON.stringify([{ ...balance, symbol: 'ok', decimal: 6 }]);
  await runProgram(['sync', 'coins'], settings);
  expect(
    await query(`select decimals, changed_at > first.at as is_noted from ledger.coins,
      (select min(started_at) as at from ledger.sync_runs where job = 'coins') first where symbol = 'ok'`),
  ).toEqual([{ decimals: 6, is_noted: true }]);
});
