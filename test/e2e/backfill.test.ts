import { expect, test } from 'vitest';
import { rowsOfLedger, rowsOfService } from '../support/compare-rows.ts';
import { programsGone } from '../support/programs-gone.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

test('[Q3] killed 15 times at random moments and then finished, the ledger equals the service digit for digit', async () => {
  const { sandbox, env, query } = await withService({ transactions: 3_000 });
  const requests = () => Object.values(sandbox.stats.requests).reduce((sum, n) => sum + n, 0);
  for (let run = 0; run < 15; run += 1) {
    const program = startProgram(['backfill'], env);
    // Some while it reads the 30 pages of the lists, some while it fetches details.
    const killAfter = requests() + Math.ceil(Math.random() * (run < 5 ? 10 : 150));
    const watch = setInterval(() => {
      if (requests() >= killAfter) program.process.kill('SIGKILL');
    }, 5);
    const { signal } = await program.ended;
    clearInterval(watch);
    expect(signal).toBe('SIGKILL');
  }
  const last = await runProgram(['backfill'], env);
  expect(last.stderr).toContain('proven complete');
  expect(last.code).toBe(0);
  expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
}, 150_000);

test('a fifth of the answers faulty: it ends complete, with 0', async () => {
  const { sandbox, env, query } = await withService({
    transactions: 300,
    faultRate: 0.2,
    hangMs: 200,
  });
  const { code, stderr } = await runProgram(['backfill'], env);
  expect(stderr).toContain('proven complete');
  expect(code).toBe(0);
  expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
}, 90_000);

test('with --json backfill and sync print one document: the counts of each list, and what is incomplete', async () => {
  const { env } = await withService({ transactions: 30 });
  const whole = await runProgram(['backfill', '--json'], env);
  expect(whole.code).toBe(0);
  const { streams, incomplete } = JSON.parse(whole.stdout);
  expect(incomplete).toEqual([]);
  expect(streams).toMatchObject([
    { name: 'deposit', isComplete: true },
    { name: 'withdraw', isComplete: true },
  ]);
  for (const { serviceTotal, ledgerCount } of streams) expect(ledgerCount).toBe(serviceTotal);
  const lacking = await runProgram(['sync', 'pools', '--json'], {
    ...env,
    ADDRESS_POOLS: '60:5:10',
    POOL_MAX_PER_DAY: '4',
  });
  expect(lacking.code).toBe(3);
  expect(JSON.parse(lacking.stdout)).toMatchObject({ incomplete: ['pools'] });
});

test('a second sync of an unchanged service makes one list request per stream and writes no data row', async () => {
  const { sandbox, env, query } = await withService({ transactions: 2_000 });
  expect((await runProgram(['sync'], env)).code).toBe(0);
  const dataTables = [
    'transactions',
    'transaction_changes',
    'balances',
    'balance_changes',
    'coins',
    'addresses',
    'rejects',
  ];
  const written = async () => {
    await programsGone(query);
    await query('select pg_stat_force_next_flush()');
    return await query(`select relname, n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables
      where schemaname = 'ledger' and relname = any('{${dataTables.join()}}') order by relname`);
  };
  const before = await written();
  sandbox.stats.reset();
  expect((await runProgram(['sync'], env)).code).toBe(0);
  expect(sandbox.stats.listRequests).toEqual({ deposit: 1, withdraw: 1, all: 0 });
  expect(sandbox.stats.requests['/v1/transaction/info']).toBe(0);
  expect(await written()).toEqual(before);
});

test('250 new rows on a history of 10,000 cost their pages and two list requests more at the most', async () => {
  const { sandbox, env } = await withService({ transactions: 10_000 });
  expect((await runProgram(['backfill', '--no-details'], env)).code).toBe(0);
  sandbox.world.addTransactions(250, { type: 'deposit' });
  sandbox.stats.reset();
  expect((await runProgram(['sync', 'transactions'], env)).code).toBe(0);
  expect(sandbox.stats.listRequests.deposit).toBeLessThanOrEqual(Math.ceil(250 / 100) + 2);
}, 60_000);

test('memory stays flat: ten times the history, at most 1.3 times the peak', async () => {
  const peaks: number[] = [];
  for (const transactions of [10_000, 100_000]) {
    const { sandbox, env } = await withService({ transactions, pageSizeMax: 100 });
    const program = startProgram(['backfill', '--no-details'], env);
    let peak = 0;
    const watch = setInterval(() => {
      try {
        peak = program.peakMemoryMiB();
      } catch {
        // It has ended.
      }
    }, 100);
    const { code, stderr } = await program.ended;
    clearInterval(watch);
    expect(stderr).toContain('proven complete');
    expect(code).toBe(0);
    peaks.push(peak);
    await sandbox.close();
  }
  const [small = 0, large = 0] = peaks;
  expect(large).toBeLessThanOrEqual(small * 1.3);
}, 120_000);

test('records the configured pools, whose levels and problems are then those of a daemon', async () => {
  const { env, query } = await withService({ transactions: 20 });
  const pools = { ...env, ADDRESS_POOLS: '60:5:10' };
  const levels = () => query('select threshold, target from ledger.pool_levels where slip44 = 60');
  expect(await runProgram(['status'], pools)).toMatchObject({ code: 0 });
  expect(await query('select from ledger.pools')).toEqual([]);
  expect(await runProgram(['backfill'], pools)).toMatchObject({ code: 0 });
  expect(await levels()).toEqual([{ threshold: 5, target: 10 }]);
  const { code, stdout } = await runProgram(['status', '--check'], pools);
  expect([code, stdout]).toEqual([3, expect.stringContaining('chain 60 is empty')]);
  expect(await runProgram(['backfill'], { ...env, ADDRESS_POOLS: '60:2:4' })).toMatchObject({
    code: 0,
  });
  // Only `start` changes a pool.
  expect(await levels()).toEqual([{ threshold: 5, target: 10 }]);
}, 120_000);
