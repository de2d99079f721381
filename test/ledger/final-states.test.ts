import { expect, onTestFinished, test } from 'vitest';
import { reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { syncAllDetails } from '../../src/sync/details/sync-details.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { until } from '../support/until.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';
import { listed } from './transaction-rows.ts';
import { withLedger } from './with-ledger.ts';

const signal = new AbortController().signal;

test('other final states judge the stored rows again, and the same ones write nothing', async () => {
  const { ledger, context } = await withWallet({ transactions: 300 });
  await syncTransactions(context, onePass());
  await syncAllDetails(context, signal);
  const counts = async () =>
    (
      await ledger.pool.query(`
      select count(*) filter (where is_final)::int as final, count(*) filter (where next_check_at is not null)::int as due,
             count(*) filter (where state <> 'success')::int as others
        from ledger.transactions`)
    ).rows[0];
  expect(await counts()).toMatchObject({ final: 300, due: 0 });
  const success = new Set(['success']);
  const turned = await reclassifyByStates(ledger, { final: success, success });
  const { final, due, others } = await counts();
  expect(others).toBeGreaterThan(0);
  expect([turned, final, due]).toEqual([others, 300 - others, others]);
  expect(await reclassifyByStates(ledger, { final: success, success })).toBe(0);
  expect(
    await reclassifyByStates(ledger, {
      final: new Set(['success', 'failed', 'rejected']),
      success,
    }),
  ).toBe(others);
  expect(await counts()).toMatchObject({ final: 300, due: 0 });
});

test('rows are judged again in the order in which batches lock them, whatever their order on disk', async () => {
  const { ledger, connect, query, logged } = await withLedger();
  for (const orderNo of ['b', 'a']) {
    await ledger.transaction((tx) =>
      storeListedTransactions(tx, 'deposit', [listed({ orderNo, state: 'success' })]),
    );
  }
  const batch = await ledger.pool.connect();
  onTestFinished(() => batch.release(true));
  await batch.query('begin');
  await batch.query(`update ledger.transactions set is_final = is_final where order_no = 'a'`);
  const success = new Set(['success']);
  const judging = reclassifyByStates(connect(), { final: success, success });
  await until(async () => (await query('select from pg_locks where not granted')).length > 0);
  await batch.query(`update ledger.transactions set is_final = is_final where order_no = 'b'`);
  await batch.query('commit');
  expect(await judging).toBe(2);
  expect(logged).toEqual([]);
});
