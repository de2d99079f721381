import { beforeEach, expect, test } from 'vitest';
import { retryRejects } from '../../src/sync/checks/retry-rejects.ts';
import { verifyLedger } from '../../src/sync/checks/verify-ledger.ts';
import { runParts } from '../../src/sync/sync-tasks.ts';
import { withListedLedger } from '../support/with-listed-ledger.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';

const { ledger, query: ask, clear, service, context: tools } = await withListedLedger();

const { signal } = new AbortController();

beforeEach(async () => {
  await clear();
  await ask(`insert into ledger.final_states values ('success', true)`);
  service.lists.clear();
  service.details.clear();
});

const sync = () => runParts(tools, ['transactions', 'details'], onePass());
const kept = () =>
  ask(`select field, resolved_at is null as is_open, times, xmin::text from ledger.rejects`);

test('a later detail that cannot be read stays a reject until a detail brings the value', async () => {
  const row = { orderNo: 'a', amount: '5', type: 'deposit', time: Date.now() - 60_000 };
  const list = (state: string) => service.lists.set('deposit', [JSON.stringify({ ...row, state })]);
  const detail = (state: string, fee: string) =>
    service.details.set('a', JSON.stringify({ ...row, state, fee, confirmNum: '1' }));
  list('pending');
  detail('pending', '0.1');
  await sync();
  list('success');
  detail('success', 'NaN');
  await sync();
  const opened = await kept();
  expect(opened).toMatchObject([{ field: 'fee', is_open: true, times: 1 }]);
  for (let pass = 0; pass < 2; pass += 1) await sync();
  // Read again, and written by another answer: the value is still the earlier one.
  service.details.set(
    'a',
    JSON.stringify({ ...row, state: 'success', fee: 'NaN', confirmNum: '2' }),
  );
  await ask('update ledger.transactions set seal = null, detail_synced_at = null');
  await sync();
  expect(await kept()).toEqual(opened);
  expect((await retryRejects(ledger, null, Date.now())).resolved).toEqual([]);
  expect(await ask('select fee from ledger.transactions')).toEqual([{ fee: '0.1' }]);
  detail('success', '0.2');
  await ask('update ledger.transactions set seal = null, detail_synced_at = null');
  await sync();
  expect(await kept()).toMatchObject([{ field: 'fee', is_open: false, times: 1 }]);
});

const row = {
  orderNo: 'a',
  amount: '5',
  type: 'deposit',
  state: 'success',
  time: 1_700_000_000_000,
};

test('if a page shows an order with two amounts, one of them stays a reject until the list shows the order once', async () => {
  const other = { ...row, amount: '7' };
  service.details.set('a', JSON.stringify({ ...row, fee: '0', confirmNum: '1' }));
  service.lists.set(
    'deposit',
    [other, row].map((shown) => JSON.stringify(shown)),
  );
  for (let pass = 0; pass < 2; pass += 1) await sync();
  expect(await ask('select amount from ledger.transactions')).toEqual([{ amount: '5' }]);
  expect(
    await ask(`select order_no, payload::json ->> 'amount' as amount from ledger.rejects`),
  ).toEqual([{ order_no: 'a', amount: '7' }]);
  expect((await retryRejects(ledger, null, Date.now())).resolved).toEqual([]);
  service.lists.set('deposit', [JSON.stringify(row)]);
  await sync();
  expect(await kept()).toMatchObject([{ field: null, is_open: false }]);
});

test('verify fetches a detail that could not be read again, and its repair resolves the reject', async () => {
  const detail = (fee: string) =>
    service.details.set('a', JSON.stringify({ ...row, fee, confirmNum: '1' }));
  const verify = async (isRepair: boolean) =>
    (await verifyLedger(tools, { signal, isRepair })).flatMap(({ different }) => different);
  service.lists.set('deposit', [JSON.stringify(row)]);
  detail('NaN');
  await sync();
  expect(await verify(true)).toEqual([]);
  expect(await kept()).toMatchObject([{ field: 'fee', is_open: true }]);
  detail('0.2');
  expect(await verify(false)).toMatchObject([{ orderNo: 'a', fields: ['fee'] }]);
  await verify(true);
  expect(await ask('select fee from ledger.transactions')).toEqual([{ fee: '0.2' }]);
  expect(await kept()).toMatchObject([{ field: 'fee', is_open: false }]);
  expect(await verify(false)).toEqual([]);
});

test('a reject without a key is resolved when both lists are proven to show no such row any more', async () => {
  const row = (orderNo: string | null, type = 'deposit') =>
    JSON.stringify({ orderNo, amount: '5', type, state: 'success', time: Date.now() - 60_000 });
  const pass = () => runParts(tools, ['transactions'], onePass({ effort: 'backfill' }));
  service.lists.set('deposit', [row('a'), row('b')]);
  service.lists.set('withdraw', [row(null, 'withdraw'), row('c', 'withdraw')]);
  await pass();
  const opened = await kept();
  expect(opened).toMatchObject([{ field: 'orderNo', is_open: true }]);
  // The deposits are complete; the row is in the other list.
  await pass();
  expect(await kept()).toEqual(opened);
  service.lists.set('withdraw', [row('c', 'withdraw')]);
  for (let passes = 0; passes < 3; passes += 1) await pass();
  const complete = await ask('select bool_and(is_complete) as is_complete from ledger.streams');
  expect(complete).toEqual([{ is_complete: true }]);
  const resolved = await kept();
  expect(resolved).toMatchObject([{ field: 'orderNo', is_open: false, times: 1 }]);
  await pass();
  expect(await kept()).toEqual(resolved);
  service.lists.set('withdraw', [row(null, 'withdraw'), row('c', 'withdraw')]);
  await pass();
  expect(await kept()).toMatchObject([{ field: 'orderNo', is_open: true, times: 2 }]);
});

test('the detail that brings an unreadable amount closes its reject, and no poll opens it again', async () => {
  const { sandbox, context, query } = await withWallet({ transactions: 20 });
  const row = {
    orderNo: 'odd-1',
    symbol: 'ETH',
    requestId: '',
    txHash: '0x1',
    fromAddress: '0x2',
    toAddress: '0x3',
    type: 'deposit',
    state: 'failed',
    time: Date.now() - 60_000,
  };
  const known = { amount: '1.5', confirmNum: '12', fee: '0', feeSymbol: 'ETH' };
  sandbox.world.addRawListRow(
    'deposit',
    { ...row, amount: 'one' },
    { detail: { ...row, ...known } },
  );
  const rejects = async () =>
    await query(
      'select field, resolved_at is null as is_open, times, xmin::text from ledger.rejects',
    );
  await runParts(context, ['transactions'], onePass());
  expect(await rejects()).toMatchObject([{ field: 'amount', is_open: true }]);
  await runParts(context, ['details'], onePass());
  const settled = await rejects();
  expect(settled).toMatchObject([{ field: 'amount', is_open: false }]);
  await runParts(context, ['transactions', 'details'], onePass());
  expect(await rejects()).toEqual(settled);
});
