import { expect, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

test('a daemon serves the pages to look things up, and says which installation it is', async () => {
  const { env, query, sandbox } = await withService({ transactions: 60 });
  const settings = { ...env, ADDRESS_POOLS: '60:2:4', LEDGER_ENVIRONMENT: 'production' };
  expect((await runProgram(['backfill'], settings)).code).toBe(0);
  expect((await runProgram(['pool', 'refill', '60'], settings)).code).toBe(0);
  const taken = await runProgram(['pool', 'take', '60', '--reference', 'customer 7'], settings);
  const address = taken.stdout.trim();
  const daemon = startProgram(['start'], settings);
  const listening = await daemon.line('"msg":"listening"');
  const url = `http://127.0.0.1:${JSON.parse(listening).port}`;
  const [row] = await query('select order_no from ledger.transactions limit 1');
  const orderNo = String(row?.['order_no']);
  const list = await (await fetch(`${url}/transactions`)).text();
  expect(list).toContain('50 transactions, latest first');
  expect(list).toContain(new URL(sandbox.baseUrl).host);
  expect(list).toContain('class="environment live"');
  expect(list).toContain(`, process ${daemon.process.pid}`);
  expect((await fetch(`${url}/transactions/${encodeURIComponent(orderNo)}`)).status).toBe(200);
  for (const page of [
    'coins',
    'pools',
    'proof',
    'rejects',
    'runs',
    'problems',
    `addresses/${address}`,
  ])
    expect([page, (await fetch(`${url}/${page}`)).status]).toEqual([page, 200]);
  const body = new URLSearchParams({ q: 'customer 7' });
  const found = await fetch(`${url}/transactions`, { method: 'POST', body, redirect: 'manual' });
  expect([found.status, found.headers.get('location')]).toEqual([303, `addresses/${address}`]);
  daemon.process.kill('SIGTERM');
  const { stderr, stdout } = await daemon.ended;
  expect(stdout + stderr).not.toContain('customer 7');
}, 120_000);
