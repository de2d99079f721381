import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

const setting = 'session_replication_role';

test.each(['database', 'role'] as const)(
  'a %s whose setting keeps triggers from running is refused by every command, with the cure',
  async (kind) => {
    const { env, query } = await withService({ transactions: 20 });
    const role = `silenced_${process.pid}_${Date.now()}`;
    await query(`create role ${role} login superuser password 'quiet'`);
    onTestFinished(async () => {
      await query(`drop owned by ${role} cascade; drop role ${role}`);
    });
    const url = new URL(env['DATABASE_URL'] ?? '');
    const owner = kind === 'role' ? `role ${role}` : `database ${url.pathname.slice(1)}`;
    await query(`alter ${owner} set ${setting} = replica`);
    url.username = role;
    url.password = 'quiet';
    const settings = { ...env, DATABASE_URL: url.toString() };
    for (const command of ['start', 'sync', 'backfill', 'verify', 'doctor']) {
      const { code, stdout, stderr } = await runProgram([command], settings);
      expect([command, code]).toEqual([command, 2]);
      expect(stdout + stderr).toContain(`${setting}=replica comes from ${owner} and keeps`);
      expect(stdout + stderr).toContain(`run \`alter ${owner} reset ${setting}\``);
    }
    await query(`alter ${owner} reset ${setting}`);
    expect((await runProgram(['backfill'], settings)).code).toBe(0);
  },
  180_000,
);

test('a daemon stores nothing while new sessions run no triggers, and everything afterwards', async () => {
  const { sandbox, env, query } = await withService({ transactions: 20 });
  const daemon = startProgram(['start'], { ...env, SYNC_TRANSACTIONS_EVERY: '1s' });
  const read = async (statement: string) => (await query(statement))[0]?.['n'];
  const rows = () => read('select count(*)::int as n from ledger.transactions');
  await until(async () => (await rows()) === 20);
  const [{ name } = {}] = await query('select current_database() as name');
  await query(`alter database ${name} set ${setting} = replica;
    select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`);
  sandbox.world.addTransactions(5, { type: 'deposit' });
  const cause = `${setting}=replica comes from database ${name}`;
  const line = await Promise.race([daemon.line(cause), delay(30_000)]);
  expect(line).toContain(cause);
  expect(await rows()).toBe(20);
  await query(`alter database ${name} reset ${setting}`);
  await until(async () => (await rows()) === 25);
  expect(await read('select sum(transactions)::int as n from ledger.daily_totals')).toBe(25);
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 180_000);
