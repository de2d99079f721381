import { expect, test } from 'vitest';
import { LedgerError } from '../../src/kernel/errors.ts';
import { runBackfill } from '../../src/sync/run-backfill.ts';
import { runParts } from '../../src/sync/sync-tasks.ts';
import { syncTransactionLists } from '../../src/sync/sync-transaction-lists.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';

const { signal } = new AbortController();

/** Number of rows of coins with one chain only, and the number of those without a chain or with another one. */
const ofSingleChains = `
  select count(*)::int as rows, count(*) filter (where t.slip44 is distinct from a.slip44)::int as wrong
    from ledger.transactions t
    join (select symbol, min(slip44) as slip44 from ledger.assets group by 1 having min(slip44) = max(slip44)) as a
      on a.symbol = t.symbol`;

test('the first pass reads coins and balances before the lists, so that rows are stored with their chain', async () => {
  const { context, query } = await withWallet({ transactions: 300 });
  await runParts(context, ['transactions'], onePass());
  const [chains] = await query(ofSingleChains);
  expect(chains).toEqual({ rows: expect.any(Number), wrong: 0 });
  expect(chains?.['rows']).toBeGreaterThan(50);
  expect(await query('select from ledger.reconciliation_runs')).toEqual([]);
  const [run] = await query('select requests from ledger.sync_runs');
  await runParts(context, ['transactions'], onePass());
  const [second] = await query('select requests from ledger.sync_runs order by id desc limit 1');
  expect(Number(second?.['requests'])).toBeLessThan(Number(run?.['requests']));
});

test('the lists are read even if the coins cannot be, and the backfill assigns the chains at its end', async () => {
  const { context, query } = await withWallet({ transactions: 300 });
  const listCoins = () => Promise.reject(new LedgerError('service-unreachable', 'no coins today'));
  await syncTransactionLists({ ...context, client: { ...context.client, listCoins } }, onePass());
  expect(await query('select from ledger.transactions')).toHaveLength(300);
  const backfill = { types: ['deposit', 'withdraw'] as const, withDetails: true, isRestart: false };
  await runBackfill(context, { ...backfill, types: [...backfill.types], signal });
  const [chains] = await query(ofSingleChains);
  expect(chains).toEqual({ rows: expect.any(Number), wrong: 0 });
  // Withdrawals of coins on several chains have the chain of the coin that paid the fee.
  const unknown = await query(
    `select symbol, fee_symbol from ledger.transactions
      where stream = 'withdraw' and slip44 is null and fee_symbol is not null`,
  );
  expect(unknown).toEqual([]);
  expect(
    await query(
      `select field from ledger.transaction_changes where field in ('slip44', 'contract_address')`,
    ),
  ).toEqual([]);
});
