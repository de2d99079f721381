import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { connectLedger } from '../../src/ledger/connection/connect-ledger.ts';
import { onDatabase } from '../support/on-database.ts';
import { startPostgres } from '../support/start-postgres.ts';

test('a plan that was made for an empty ledger finds a row by its order number in one step', async () => {
  const { connectionString, close } = await startPostgres({ isMigrated: true });
  await onDatabase(connectionString, async (client) => {
    await client.query('set plan_cache_mode = force_generic_plan');
    for (const table of ['ledger.transactions', 'own.transactions']) {
      const { rows } = await client.query(
        `explain select type, state from ${table} where wallet = 'main' and order_no = 'x'`,
      );
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain('transactions_wallet_order_no_pk');
    }
  }).finally(close);
});

test('no statement of the program is JIT-compiled, with any setting of the database', async () => {
  const { connectionString, close } = await startPostgres({ isMigrated: true });
  onTestFinished(close);
  await onDatabase(connectionString, async (client) => {
    await client.query(`alter database ${client.database} set jit = on`);
    await client.query(`alter database ${client.database} set jit_above_cost = 0`);
  });
  const ledger = connectLedger({ connectionString, poolSize: 1, log: silentLog });
  onTestFinished(() => ledger.close());
  const { rows } = await ledger.pool.query('show jit');
  expect(rows).toEqual([{ jit: 'off' }]);
});
