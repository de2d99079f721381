import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

/** Commands that look. Those of the second list write rows, and take the schema as it is. */
const looking = [
  ['status'],
  ['status', '--json'],
  ['pool', 'list'],
  ['rejects'],
  ['show', 'x'],
  ['export', '--format', 'csv'],
  ['export', '--format', 'hledger'],
  ['close', 'list'],
  ['feed', 'list'],
  ['doctor'],
];
const working = [
  ['pool', 'take', '60'],
  ['pool', 'adopt', '60'],
  ['pool', 'refill'],
  ['rejects', 'retry'],
  ['verify'],
  ['close', '2026-01'],
  ['recover'],
];

/** All objects and rows of the database, as another process sees them; without the tickets that requests take. */
async function contents({ query }: Service): Promise<Record<string, unknown>> {
  const objects = await query(`
    select n.nspname, c.relname, c.relkind, c.xmin::text
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 1, 2`);
  const schemas = await query(
    `select nspname from pg_namespace where nspname !~ '^pg_' order by 1`,
  );
  const tables = objects.filter(
    ({ relkind, relname }) => relkind === 'r' && relname !== 'request_tickets',
  );
  const rows: Record<string, unknown> = {};
  for (const { nspname, relname } of tables) {
    const [row] = await query(`
      select count(*)::int as count, md5(string_agg(t.xmin::text || t::text, '|' order by t::text)) as digest
        from "${nspname}"."${relname}" as t`);
    rows[`${nspname}.${relname}`] = row;
  }
  return { objects, schemas, rows };
}

test('read-only commands create no directory where there is no ledger, and say what to run', async () => {
  const directory = temporaryFolder();
  const LEDGER_DATA_DIR = join(directory, 'ledger');
  const { sandbox, env } = await withService({ transactions: 0 });
  const { DATABASE_URL: _, ...service } = env;
  expect(sandbox.baseUrl).toBe(service['WALLET_BASE_URL']);
  const settings = { ...service, LEDGER_DATA_DIR, ADDRESS_POOLS: '60:5:20' };
  for (const command of [...looking, ...working]) {
    const { code, stdout, stderr } = await runProgram(command, settings);
    const isDoctor = command[0] === 'doctor';
    expect([command, code]).toEqual([command, isDoctor ? 0 : 5]);
    expect(isDoctor ? stdout : stderr).toContain('`wallet-ledger start`');
    expect(existsSync(LEDGER_DATA_DIR)).toBe(false);
  }
}, 120_000);

test('no command but start, backfill, sync and migrate makes a schema or changes that of another version', async () => {
  const expectRefused = async (service: Service) => {
    const env = { ...service.env, ADDRESS_POOLS: '60:5:20' };
    for (const command of [...looking, ...working]) {
      const { code, stdout, stderr } = await runProgram(command, env);
      expect([command, code]).toEqual([command, command[0] === 'doctor' ? 0 : 5]);
      expect(stdout + stderr).toContain('run `wallet-ledger migrate`');
    }
  };
  const empty = await withService({ transactions: 0 }, { isMigrated: false });
  const nothing = await contents(empty);
  await expectRefused(empty);
  expect(await contents(empty)).toEqual(nothing);

  const service = await withService({ transactions: 0 });
  expect((await runProgram(['sync'], service.env)).code).toBe(0);
  await service.query(`delete from drizzle.__drizzle_migrations
                where created_at = (select max(created_at) from drizzle.__drizzle_migrations)`);
  const older = await contents(service);
  await expectRefused(service);
  expect(await contents(service)).toEqual(older);
}, 240_000);

test('a read-only command with other settings changes no row, no pool and no state', async () => {
  const service = await withService({ transactions: 60, addressesPerChain: 5 });
  const env = { ...service.env, ADDRESS_POOLS: '60:2:4,195:1:2', POOL_SETTLE: '0s' };
  expect((await runProgram(['sync'], env)).code).toBe(0);
  const before = await contents(service);
  const others = { ADDRESS_POOLS: '60:7:9', WALLET_FINAL_STATES: 'done', LEDGER_DATA_DIR: 'none' };
  for (const command of looking) await runProgram(command, { ...env, ...others });
  expect(await contents(service)).toEqual(before);

  const pools = () =>
    service.query('select slip44, threshold, target from ledger.pools order by 1');
  const [eth, tron] = [
    { slip44: 60, threshold: 2, target: 4 },
    { slip44: 195, threshold: 1, target: 2 },
  ];
  for (const command of [...working, ['sync', 'pools'], ['backfill', '--no-details']]) {
    await runProgram(command, { ...env, ADDRESS_POOLS: '60:7:9' });
    expect([command, await pools()]).toEqual([command, [eth, tron]]);
  }
}, 240_000);

test('verify --repair writes a ledger that was only migrated as a backfill does', async () => {
  const { env, query } = await withService({ transactions: 60 });
  expect((await runProgram(['verify', '--repair'], env)).code).toBe(0);
  const judged = () =>
    query(`select is_final, is_success, count(*)::int as rows, count(detail_synced_at)::int as details
             from ledger.transactions group by 1, 2 order by 1, 2`);
  const repaired = await judged();
  expect(repaired.some(({ is_success }) => is_success)).toBe(true);
  const { stderr } = await runProgram(['backfill'], env);
  expect(stderr).not.toContain('reclassified');
  expect(await judged()).toEqual(repaired);
}, 60_000);

test('start alone sets the pools, and says what changed; sync adds those that are missing', async () => {
  const { env, query } = await withService({ transactions: 0 });
  const pools = () => query('select slip44, threshold, target from ledger.pools order by 1');
  expect((await runProgram(['sync', 'pools'], { ...env, ADDRESS_POOLS: '60:2:4' })).code).toBe(0);
  const added = await runProgram(['sync', 'pools'], { ...env, ADDRESS_POOLS: '60:5:9,195:1:2' });
  expect(added.stderr).toContain('"none -> 195:1:2"');
  expect(added.stderr).toMatch(/"60:2:4 -> 60:5:9".*`wallet-ledger start` updates them/);
  const eth = { slip44: 60, threshold: 2, target: 4 };
  expect(await pools()).toEqual([eth, { slip44: 195, threshold: 1, target: 2 }]);

  const daemon = startProgram(['start'], { ...env, ADDRESS_POOLS: '60:5:9' });
  const line = await daemon.line('pools updated');
  expect(JSON.parse(line)).toMatchObject({ pools: ['60:2:4 -> 60:5:9', '195:1:2 -> none'] });
  await until(async () => (await pools()).length === 1);
  expect(await pools()).toEqual([{ ...eth, threshold: 5, target: 9 }]);
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);

  const without = startProgram(['start'], { ...env, ADDRESS_POOLS: 'none' });
  expect(JSON.parse(await without.line('pools updated'))).toMatchObject({
    pools: ['60:5:9 -> none'],
  });
  await until(async () => (await pools()).length === 0);
  without.process.kill('SIGTERM');
  expect((await without.ended).code).toBe(0);
  const refill = await runProgram(['pool', 'refill'], { ...env, ADDRESS_POOLS: 'none' });
  expect(refill).toMatchObject({ code: 2, stderr: expect.stringContaining('names no pool') });
}, 120_000);
