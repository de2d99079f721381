import { expect, test } from 'vitest';
import { runParts } from '../../src/sync/sync-tasks.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';

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
