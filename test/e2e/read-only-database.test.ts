import { expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

test('a database that takes no writes is told as such, and a daemon on it says so and is not ready until it does', async () => {
  const { env, query } = await withService({ transactions: 20 });
  const port = await freePort();
  const settings = { ...env, HTTP_PORT: String(port), ADDRESS_POOLS: '60:2:4' };
  // `close` looks before it writes: of a list that was not read yet it would say that.
  expect((await runProgram(['backfill'], settings)).code).toBe(0);
  const [first] = await query(`select to_char(min(occurred_at), 'YYYY-MM') as month
    from ledger.transactions`);
  const daemon = startProgram(['start'], settings);
  const ready = () => fetch(`http://127.0.0.1:${port}/readyz`);
  await until(async () => (await ready()).status === 200);

  const setReadOnly = async (value: 'on' | 'off') => {
    await query(`set default_transaction_read_only = off`);
    await query(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = ${value}', current_database()); end $$`,
    );
    await query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`);
  };
  await setReadOnly('on');
  await until(async () => {
    const answer = await ready();
    const { notReady } = (await answer.json()) as { notReady: string[] };
    return answer.status === 503 && notReady.includes('database');
  });
  await until(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/status.json`);
    const { verdict, problems } = (await answer.json()) as {
      verdict: string;
      problems: { name: string; what: string }[];
    };
    const told = problems.find(({ name }) => name === 'queue_stuck')?.what;
    return verdict === 'critical' && told?.includes('the database is read-only') === true;
  });
  const [{ name } = {}] = await query('select current_database() as name');
  const reset = `run \`alter database ${name} reset default_transaction_read_only\``;
  const examined = await runProgram(['doctor'], settings);
  expect([examined.code, examined.stdout]).toEqual([5, expect.stringContaining(reset)]);
  for (const command of [
    ['start'],
    ['sync', 'coins'],
    ['pool', 'take', '60'],
    ['close', String(first?.['month'])],
    ['migrate', '--reader', 'somebody'],
  ]) {
    const { code, stderr } = await runProgram(command, { ...settings, HTTP_PORT: '0' });
    expect([command, code]).toEqual([command, 5]);
    expect(stderr).toContain(
      `default_transaction_read_only=on comes from database ${name}; ${reset}`,
    );
  }
  await setReadOnly('off');
  await until(async () => (await ready()).status === 200, 90_000);
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 180_000);
