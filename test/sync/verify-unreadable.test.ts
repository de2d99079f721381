import { beforeEach, expect, test } from 'vitest';
import type { LedgerError } from '../../src/kernel/errors.ts';
import { leftCount } from '../../src/sync/checks/drift.ts';
import { verifyLedger } from '../../src/sync/checks/verify-ledger.ts';
import { runParts } from '../../src/sync/sync-tasks.ts';
import { withListedLedger } from '../support/with-listed-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { query, clear, service, context: tools } = await withListedLedger();
const { signal } = new AbortController();

type Fields = Record<string, unknown>;
const shown: Fields = { amount: '1.5', symbol: 'ETH', type: 'deposit', state: 'success' };
const rowOf = (nth: number, other: Fields = {}) => ({
  ...{ orderNo: `o${nth}`, ...shown, time: 1_700_000_000_000 - nth * 60_000 },
  ...other,
});
const asset = { slip44: 60, symbol: 'ETH', contractAddress: null, decimal: 18 };

/** Puts rows at their place in the list that differ from the ones first shown by the service. */
function show(others: Record<number, Fields> = {}, details = others): void {
  const rows = Array.from({ length: 5 }, (_, nth) => rowOf(nth, others[nth]));
  service.lists.set(
    'deposit',
    rows.map((row) => JSON.stringify(row)),
  );
  for (const nth of rows.keys()) {
    const detail = { ...rowOf(nth, details[nth]), confirmNum: 3, fee: '0', feeSymbol: 'ETH' };
    service.details.set(`o${nth}`, JSON.stringify({ ...detail, orderNo: `o${nth}` }));
  }
}

beforeEach(async () => {
  await clear();
  await query(`insert into ledger.final_states values ('success', true)`);
  service.fault = () => null;
  service.lists.set('withdraw', []);
  service.snapshots.balance = JSON.stringify([{ ...asset, balance: '7.5', frozen: '0' }]);
  service.snapshots.coin = JSON.stringify([{ ...asset, name: 'Ether' }]);
  show();
  const parts = ['transactions', 'details', 'balances', 'coins'] as const;
  await runParts(tools, [...parts], onePass());
  expect(await verify()).toEqual([]);
});

/** Returns the results of one verification. */
async function verify(isRepair = false) {
  const drifts = await verifyLedger(tools, { signal, isRepair });
  return drifts.filter((drift) => leftCount(drift) > 0);
}

const open = () =>
  query(
    `select source, order_no, field from ledger.rejects where resolved_at is null order by 1, 2, 3`,
  );
const held = () =>
  query(`select order_no, amount, extract(epoch from occurred_at)::int as time
           from ledger.transactions where order_no in ('o1', 'o2') order by 1`);

test.each([
  ['verify', false],
  ['verify --repair', true],
])(
  '%s never counts a value that it cannot read as equal to a stored one, and keeps the reject until it can',
  async (_, isRepair) => {
    const before = await held();
    show({ 1: { amount: '1,500.00' }, 2: { time: null } });
    for (let times = 0; times < 2; times += 1) {
      expect(await verify(isRepair)).toMatchObject([
        {
          ...{ name: 'deposit', compared: 5, missing: [], different: [], extra: [] },
          unreadable: [
            { orderNo: 'o1', fields: ['amount'] },
            { orderNo: 'o2', fields: ['time'] },
          ],
        },
      ]);
      const rejects = ['transaction-detail', 'transaction-list'].flatMap((source) => [
        { source, order_no: 'o1', field: 'amount' },
        { source, order_no: 'o2', field: 'time' },
      ]);
      expect(await open()).toEqual(rejects);
    }
    expect(await held()).toEqual(before);
    show();
    expect(await verify(isRepair)).toEqual([]);
    expect(await open()).toEqual([]);
  },
);

test('a value that cannot be read in the list is compared with that of the detail', async () => {
  show({ 1: { amount: 'NaN' } }, {});
  expect(await verify()).toEqual([]);
  expect(await open()).toEqual([]);
  show({ 1: { amount: 'NaN' } }, { 1: { amount: '2' } });
  expect(await verify()).toMatchObject([
    { different: [{ orderNo: 'o1', fields: ['amount'] }], unreadable: [] },
  ]);
  expect(await verify(true)).toEqual([]);
  expect(await held()).toMatchObject([{ order_no: 'o1', amount: '2' }, {}]);
});

test('a value that can be read again and differs stays a reject until the repair', async () => {
  show({ 1: { amount: 'NaN' } });
  await verify();
  show({ 1: { amount: '3' } });
  expect(await verify()).toMatchObject([
    { different: [{ orderNo: 'o1', fields: ['amount'] }], unreadable: [] },
  ]);
  expect(await open()).toHaveLength(2);
  expect(await verify(true)).toEqual([]);
  expect(await verify()).toEqual([]);
  expect(await open()).toEqual([]);
});

test.each([
  ['balances', 'balance', 'balance-list', 'balance', 'balance'],
  ['coins', 'coin', 'coin-list', 'decimal', 'decimals'],
] as const)(
  '%s with an unreadable value are not equal',
  async (name, part, source, field, column) => {
    const before = service.snapshots[part];
    const [asked] = JSON.parse(before);
    service.snapshots[part] = JSON.stringify([{ ...asked, [field]: '1,00' }]);
    for (const isRepair of [false, true]) {
      expect(await verify(isRepair)).toMatchObject([
        { name, compared: 1, different: [], unreadable: [{ orderNo: '60/ETH', fields: [column] }] },
      ]);
      expect(await open()).toEqual([{ source, order_no: null, field }]);
    }
    service.snapshots[part] = before;
    expect(await verify()).toEqual([]);
    expect(await open()).toEqual([]);
  },
);

test.each([
  ['verify', false],
  ['verify --repair', true],
])(
  '%s keeps the reject of a row without a usable order number, until the list shows none',
  async (_, isRepair) => {
    show({ 3: { orderNo: '' } });
    expect(await verify(isRepair)).toMatchObject([{ name: 'deposit', compared: 4, unstorable: 1 }]);
    expect(await open()).toEqual([
      { source: 'transaction-list', order_no: null, field: 'orderNo' },
    ]);
    show();
    await verify(true);
    expect(await verify()).toEqual([]);
    expect(await open()).toEqual([]);
  },
);

test('compared results are returned although the service answers one part with HTTP 500', async () => {
  await query(`update ledger.transactions set amount = 2 where order_no = 'o1'`);
  await query(`update ledger.coins set name = 'Other'`);
  service.fault = (asked) => (asked.includes('/wallet/balance') ? 'http-500' : null);
  await expect(verifyLedger(tools, { signal, isRepair: false })).rejects.toThrow('balance');
  const failures: [string, LedgerError][] = [];
  const onFailure = (...failure: [string, LedgerError]) => void failures.push(failure);
  const drifts = await verifyLedger(tools, { signal, isRepair: false, onFailure });
  expect(failures).toMatchObject([['balances', { code: 'service-unreachable' }]]);
  expect(drifts.map(({ name, different }) => [name, different.length])).toEqual([
    ['deposit', 1],
    ['withdraw', 0],
    ['coins', 1],
    ['totals', 0],
  ]);
});
