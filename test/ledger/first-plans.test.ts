import { expect, test } from 'vitest';
import { onDatabase } from '../support/on-database.ts';
import { startPostgres } from '../support/start-postgres.ts';

test('a plan that was made over an empty ledger finds a row by its order number in one step', async () => {
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
