import { expect, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { withListingService } from '../support/with-listing-service.ts';

const memoryMaxMiB = 400;

test('[V5] 2,100 balances of 1e130000 are rejects; the daemon stays small and continues', async () => {
  const { service, env, query } = await withListingService();
  service.snapshots.balance = JSON.stringify(
    Array.from({ length: 2_100 }, (_, nth) => ({
      slip44: 60,
      symbol: `COIN${nth}`,
      balance: '1e130000',
      frozen: '1e130000',
    })),
  );
  const daemon = startProgram(['start'], {
    ...env,
    SYNC_BALANCES_EVERY: '1s',
    SYNC_TRANSACTIONS_EVERY: 'off',
  });
  const { port } = JSON.parse(await daemon.line('"listening"')) as { port: number };
  await until(async () => (await query('select 1 from ledger.balances')).length === 2_100, 60_000);
  for (const path of ['/metrics', '/', '/readyz', '/metrics'])
    expect([path, (await fetch(`http://127.0.0.1:${port}${path}`)).status]).toEqual([path, 200]);
  const [found] = await query(`
    select (select count(*)::int from ledger.balances where balance is null and frozen is null) as nulls,
           (select count(*)::int from ledger.rejects where reason like '% more than 1000 digits %') as rejects`);
  expect(found).toEqual({ nulls: 2_100, rejects: 4_200 });
  const status = await runProgram(['status', '--json'], env);
  expect(status.code).toBe(0);
  expect(JSON.parse(status.stdout)).toMatchObject({ leftOut: { balances: 1_600 } });
  expect(daemon.peakMemoryMiB()).toBeLessThan(memoryMaxMiB);
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 120_000);

test.each([
  ['balances', '/v1/wallet/balance', 'balance'],
  ['coins', '/v1/wallet/coin', 'coin'],
] as const)(
  '[H5] %s in endless pages stop at the limit with an error',
  async (part, path, snapshot) => {
    const { service, env, query } = await withListingService();
    const name = 'n'.repeat(2_500);
    let pages = 0;
    Object.defineProperty(service.snapshots, snapshot, {
      get() {
        pages += 1;
        const list = Array.from({ length: 2_000 }, (_, nth) => ({
          slip44: 60,
          symbol: `C${pages}-${nth}`,
          name,
          balance: '1',
          frozen: '0',
        }));
        return JSON.stringify({ list, pageNo: pages, pageSize: 2_000, totalSize: 10_000_000 });
      },
    });
    const { code, stderr, stdout } = await runProgram(['sync', part], env);
    expect(code).toBe(4);
    expect(stdout + stderr).toMatch(
      new RegExp(`GET ${path}: a snapshot of more than \\d+ characters`),
    );
    expect(pages).toBeLessThan(10);
    expect(await query(`select 1 from ledger.${part} limit 1`)).toEqual([]);
  },
  120_000,
);
