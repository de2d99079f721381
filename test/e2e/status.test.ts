import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { programsGone } from '../support/programs-gone.ts';
import { runProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { withService } from '../support/with-service.ts';

test('status makes no database where there is none, and says what to run', async () => {
  const directory = temporaryFolder();
  const LEDGER_DATA_DIR = join(directory, 'ledger');
  const { code, stdout, stderr } = await runProgram(['status'], { LEDGER_DATA_DIR });
  expect([code, stdout]).toEqual([5, '']);
  expect(stderr).toContain('DATABASE_URL is not set');
  expect(stderr).toContain('wallet-ledger start');
  expect(existsSync(LEDGER_DATA_DIR)).toBe(false);
}, 30_000);

test('status makes no schema, neither an older nor a newer one is touched, and each is named', async () => {
  const empty = await withService({ transactions: 0 }, { isMigrated: false });
  const schemas = () =>
    empty.query(`select nspname from pg_namespace where nspname in ('ledger', 'drizzle', 'queue')`);
  const none = await runProgram(['status', '--json'], empty.env);
  expect([none.code, none.stdout]).toEqual([5, '']);
  expect(none.stderr).toContain('run `wallet-ledger migrate`');
  expect(await schemas()).toEqual([]);

  const { env, query } = await withService({ transactions: 0 });
  await query(`delete from drizzle.__drizzle_migrations
                where created_at = (select max(created_at) from drizzle.__drizzle_migrations)`);
  const count = () => query('select count(*)::int as count from drizzle.__drizzle_migrations');
  const before = await count();
  const older = await runProgram(['status'], env);
  expect(older.code).toBe(5);
  expect(older.stderr).toContain('earlier version');
  expect(await count()).toEqual(before);

  await query(`update drizzle.__drizzle_migrations set created_at = created_at + 10 * 365 * 86400000::bigint
                where created_at = (select max(created_at) from drizzle.__drizzle_migrations)`);
  const newer = await runProgram(['status'], env);
  expect(newer.code).toBe(5);
  expect(newer.stderr).toContain('later version');
}, 60_000);

test('status writes nothing, and --check ends with 3 while a problem stands', async () => {
  const { env, query } = await withService({ transactions: 60 });
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  const written = async () => {
    await programsGone(query);
    return await query(`select relid::regclass::text, n_tup_ins, n_tup_upd, n_tup_del from pg_stat_user_tables
            where schemaname in ('ledger', 'drizzle', 'queue') order by 1`);
  };
  const before = await written();
  const well = await runProgram(['status', '--json', '--check'], env);
  expect(JSON.parse(well.stdout)).toMatchObject({
    verdict: 'ok',
    problems: [],
    wallets: [{ name: 'main' }],
    streams: [{ notCompleteBecause: null }, { notCompleteBecause: null }],
  });
  expect(well.code).toBe(0);
  expect(await written()).toEqual(before);

  // As old as a copy whose daemon ended an hour ago.
  await query(`update ledger.streams set last_success_at = last_success_at - interval '1 hour'`);
  await query(`update ledger.sync_runs set started_at = started_at - interval '1 hour',
                      finished_at = finished_at - interval '1 hour'`);
  const [plain, checked] = await Promise.all([
    runProgram(['status'], env),
    runProgram(['status', '--check', '--json'], env),
  ]);
  expect(plain.code).toBe(0);
  expect(plain.stdout).toMatch(/^✗ 1 critical problem · /);
  expect(plain.stdout).not.toMatch(/all is well/i);
  expect(checked.code).toBe(3);
  expect(JSON.parse(checked.stdout)).toMatchObject({
    verdict: 'critical',
    problems: [{ name: 'daemon_silent', severity: 'critical' }],
  });
}, 60_000);

test('status does not count a queue that is not in the database as empty', async () => {
  const { env, query } = await withService({ transactions: 20 });
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  await query('drop schema queue cascade');
  const { stdout } = await runProgram(['status'], env);
  expect(stdout).toMatch(/Queue\n +not in this database; set REDIS_URL .* `wallet-ledger migrate`/);
}, 60_000);

test('status serves a role that may only read, and does not take what it cannot see for a problem', async () => {
  const { env, query } = await withService({ transactions: 60 });
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  const role = `looker_${process.pid}_${Date.now()}`;
  await query(`create role ${role} login password 'looker'`);
  onTestFinished(async () => {
    await query(`drop owned by ${role}; drop role ${role}`);
  });
  expect((await runProgram(['migrate', '--reader', role], env)).code).toBe(0);
  const url = new URL(env['DATABASE_URL'] ?? '');
  url.username = role;
  url.password = 'looker';
  const { code, stdout } = await runProgram(['status', '--json', '--check'], {
    ...env,
    DATABASE_URL: url.href,
  });
  expect(JSON.parse(stdout)).toMatchObject({ verdict: 'ok', problems: [], queue: null });
  expect(code).toBe(0);
}, 60_000);
