import { expect, test } from 'vitest';
import { taskNames } from '../../src/kernel/vocabulary.ts';
import { runBackfill } from '../../src/sync/run-backfill.ts';
import { runParts } from '../../src/sync/sync-tasks.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';

const { signal } = new AbortController();

test('after details that took minutes the lists are read again and include new rows', async () => {
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

test('a request that the service refuses does not prevent other parts from being read, and is the final error', async () => {
  const { context, sandbox, query } = await withWallet({ transactions: 20 });
  const faults = sandbox.faults;
  Object.assign(faults, { rate: 1, kinds: ['error-code'], match: '/wallet/coin' });
  const types = ['deposit' as const, 'withdraw' as const];
  const backfill = { types, withDetails: true, isRestart: false, signal };
  const refused = { code: 'service-unsettled', message: expect.stringContaining('coin') };
  await expect(runBackfill(context, backfill)).rejects.toMatchObject(refused);
  const held = `select count(*)::int as rows, count(detail_synced_at)::int as details,
    (select count(*) > 0 from ledger.balances) as has_balances from ledger.transactions`;
  expect(await query(held)).toEqual([{ rows: 20, details: 20, has_balances: true }]);
  faults.rate = 0;
  expect(await runBackfill(context, backfill)).toEqual([]);
});

test('a request that ends with HTTP 500 does not prevent other parts from being read, and is not retried twice over', async () => {
  const { context, sandbox, query } = await withWallet({ transactions: 20 });
  Object.assign(sandbox.faults, { rate: 1, kinds: ['server-error'], match: '/wallet/coin' });
  const types = ['deposit' as const, 'withdraw' as const];
  const backfill = { types, withDetails: true, isRestart: false, signal };
  await expect(runBackfill(context, backfill)).rejects.toMatchObject({
    code: 'service-unreachable',
    message: expect.stringContaining('coin'),
  });
  const held = `select count(detail_synced_at)::int as details,
    (select count(*) > 0 from ledger.balances) as has_balances,
    (select count(*)::int from ledger.sync_runs where job = 'coins') as coin_runs from ledger.transactions`;
  expect(await query(held)).toEqual([{ details: 20, has_balances: true, coin_runs: 1 }]);
});

test('if the service cannot be reached, a command ends at its first part', async () => {
  const { context, sandbox, query } = await withWallet({ transactions: 20 });
  Object.assign(sandbox.faults, { rate: 1, kinds: ['reset'], match: null });
  await expect(runParts(context, taskNames, onePass({ signal }))).rejects.toMatchObject({
    code: 'service-unreachable',
  });
  expect(await query('select count(*)::int as runs from ledger.sync_runs')).toEqual([{ runs: 1 }]);
});

test('a list that is not trusted does not prevent a command from reading the other parts', async () => {
  const { context, sandbox, query } = await withWallet({ transactions: 20 });
  Object.assign(sandbox.faults, { rate: 1, kinds: ['html'], match: '/transaction/' });
  const pass = onePass({ signal });
  await expect(runParts(context, taskNames, pass)).rejects.toMatchObject({
    code: 'service-malformed',
  });
  const outcomes = `select job, outcome from ledger.sync_runs order by id`;
  expect(await query(outcomes)).toEqual(
    expect.arrayContaining([
      { job: 'transactions', outcome: 'failed' },
      { job: 'balances', outcome: 'done' },
      { job: 'coins', outcome: 'done' },
    ]),
  );
});
