import { expect, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

test('status --watch follows the ledger until Ctrl-C, outlives a missing database, and ends with 0', async () => {
  const { env, query } = await withService({ transactions: 60 });
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  const watching = startProgram(['status', '--watch'], env);
  await watching.line('✓ deposit');
  await query(`update ledger.streams set last_success_at = now() - interval '2 hours'`);
  await query(`update ledger.sync_runs set started_at = started_at - interval '2 hours',
                      finished_at = finished_at - interval '2 hours'`);
  await watching.line('critical problem');
  await query(`select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and pid <> pg_backend_pid()`);
  await query('alter view own.streams rename to away');
  await watching.line('the database failed');
  await query('alter view own.away rename to streams');
  watching.process.kill('SIGINT');
  const { code, stdout } = await watching.ended;
  expect(code).toBe(0);
  expect(stdout).not.toContain('\u001b');
}, 120_000);

test('status --watch ends once nobody reads its output any more', async () => {
  const { env } = await withService({ transactions: 10 });
  const watching = startProgram(['status', '--watch'], env);
  await watching.line('UTC');
  watching.process.stdout?.destroy();
  await until(async () => watching.process.exitCode !== null, 30_000);
  expect(watching.process.exitCode).toBe(0);
}, 60_000);

test('status --watch is for people: with --json or --check it is refused', async () => {
  for (const option of ['--json', '--check']) {
    const { code, stderr } = await runProgram(['status', '--watch', option]);
    expect([code, stderr.split('\n').length]).toEqual([2, 2]);
  }
});
