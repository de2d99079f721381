import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

test('rejects are listed with their reasons, and tried again', async () => {
  const { sandbox, env, query } = await withService({ transactions: 60 });
  await runProgram(['migrate'], env);
  expect((await runProgram(['rejects'], env)).stdout).toBe('there are no open rejects\n');
  sandbox.world.addRawListRow('deposit', {
    orderNo: 'odd-amount',
    symbol: 'BTC',
    amount: 'NaN',
    type: 'deposit',
    state: 'success',
    time: Date.now(),
  });
  await runProgram(['backfill'], env);
  const table = await runProgram(['rejects'], env);
  expect(table.stdout).toContain('`wallet-ledger rejects --json` has the payloads');
  expect(table.code).toBe(0);
  expect(table.stdout).toMatch(/odd-amount +amount +amount is/);
  const { rejects } = JSON.parse((await runProgram(['rejects', '--json'], env)).stdout);
  expect(rejects[0]).toMatchObject({ orderNo: 'odd-amount', field: 'amount', times: 1 });
  expect(rejects[0].payload).toContain('NaN');
  const again = await runProgram(['rejects', 'retry'], env);
  expect([again.code, again.stdout]).toEqual([3, expect.stringContaining('still open')]);
  const document = await runProgram(['rejects', 'retry', '--json'], env);
  expect(document.code).toBe(3);
  const retried = JSON.parse(document.stdout);
  expect([retried.resolved, retried.open[0].orderNo]).toEqual([[], 'odd-amount']);
  // As if this version read more than the one that rejected the row.
  await query(`update ledger.rejects set payload = replace(payload, 'NaN', '1.50')`);
  const ids = [String(rejects[0].id), '999999'];
  const settled = await runProgram(['rejects', 'retry', '--json', ...ids], env);
  expect(JSON.parse(settled.stdout)).toEqual({ resolved: [rejects[0].id], open: [] });
  expect([settled.code, settled.stderr]).toEqual([2, expect.stringContaining('the id 999999;')]);
  expect((await runProgram(['rejects', 'retry', 'first'], env)).code).toBe(2);
  await runProgram(['rejects', 'retry'], env);
  expect(
    await query(`select amount from ledger.transactions where order_no = 'odd-amount'`),
  ).toEqual([{ amount: '1.50' }]);
  expect((await runProgram(['rejects', 'retry'], env)).code).toBe(0);
}, 60_000);

test('more rejects than the memory holds are printed and tried again', async () => {
  const { env, query } = await withService({ transactions: 0 });
  await runProgram(['migrate'], env);
  await query(`
    insert into ledger.rejects (source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
    select 'transaction-list', 'o' || n, 'amount', 'no number', repeat('x', 65000), n::text, now(), now()
      from generate_series(1, 700) as n`);
  for (const [code, ...args] of [
    [0, 'rejects'],
    [0, 'rejects', '--json'],
    [3, 'rejects', 'retry'],
  ] as const) {
    const child = spawn(process.execPath, [resolve('dist/src/cli/main.js'), ...args], {
      // All payloads together are larger than this heap.
      env: { PATH: process.env['PATH'] ?? '', ...env, NODE_OPTIONS: '--max-old-space-size=64' },
      stdio: 'ignore',
    });
    expect([args, ...(await once(child, 'exit'))]).toEqual([args, code, null]);
  }
}, 120_000);
