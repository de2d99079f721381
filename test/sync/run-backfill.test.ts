import { expect, test } from 'vitest';
import { runBackfill } from '../../src/sync/run-backfill.ts';
import { withWallet } from '../support/with-wallet.ts';

const { signal } = new AbortController();

test('after details that take minutes the lists are current: they are read again, with what arrived', async () => {
  const { context, sandbox, query } = await withWallet({ transactions: 20, settleMs: 0 });
  const start = context.clock();
  let now = start;
  const { client } = context;
  const getTransaction: typeof client.getTransaction = async (...asked) => {
    if (now === start) sandbox.world.addTransactions(1);
    now += 600_000;
    return await client.getTransaction(...asked);
  };
  const metered = () => ({ ...client.metered(), getTransaction });
  const slow = { ...context, clock: () => now, client: { ...client, metered } };
  const types = ['deposit' as const, 'withdraw' as const];
  const backfill = { types, withDetails: true, isRestart: false, signal };
  expect(await runBackfill(slow, backfill)).toEqual([]);
  expect(
    await query(
      'select count(*)::int as rows, count(detail_synced_at)::int as details from ledger.transactions',
    ),
  ).toEqual([{ rows: 21, details: 21 }]);
});
