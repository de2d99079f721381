import { expect, onTestFinished, test } from 'vitest';
import { rowsOfLedger, rowsOfService } from '../support/compare-rows.ts';
import { runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';
import { startDoublingProxy } from './doubling-proxy.ts';

test('[H17] with a proxy that sends every request twice, reading is correct, and addresses generated twice are found and not handed out', async () => {
  const { sandbox, env, query } = await withService({
    transactions: 60,
    addressesPerChain: 10,
    nonceChecking: false,
  });
  const proxy = await startDoublingProxy(sandbox.baseUrl);
  onTestFinished(() => proxy.close());
  const settings = { ...env, WALLET_BASE_URL: proxy.baseUrl, ADDRESS_POOLS: '60:20:50' };
  expect((await runProgram(['backfill'], settings)).code).toBe(0);
  expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));

  expect((await runProgram(['sync', 'pools', 'addresses'], settings)).code).toBe(0);
  expect(sandbox.world.generated(60)).toBe(100);
  const rows = await query(`select generated_by is null as is_surplus,
      count(*) filter (where status = 'available')::int as available, count(*)::int as known
    from ledger.addresses where slip44 = 60 group by 1 order by 1`);
  expect(rows).toEqual([
    { is_surplus: false, available: 50, known: 50 },
    { is_surplus: true, available: 0, known: 60 },
  ]);
});
