import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import { connectLedger } from '../../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { sandboxSettings } from '../../src/sandbox/sandbox-settings.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { queryOnce } from '../support/on-database.ts';
import {
  type Cluster,
  continueCluster,
  copyCluster,
  newCluster,
  runTool,
  serverFolder,
} from '../support/postgres-cluster.ts';
import { toolsFolder } from '../support/postgres-tools.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';

const away = async (url: string) =>
  (await queryOnce(url, 'select engine.home_state() as away'))[0]?.['away'];

const fill = `insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
  select 60, 'a' || n, 'available', 1, now() from generate_series(1, 5) n`;

/** Makes, for all tests, a cluster with an empty ledger, and stops it. */
async function prepareLedger(): Promise<{ stopped: Cluster; remove(): Promise<void> }> {
  const ends: (() => Promise<void> | void)[] = [];
  const stopped = await newCluster((work) => ends.unshift(work));
  const ledger = connectLedger({ connectionString: stopped.url(), poolSize: 1, log: silentLog });
  await migrateLedger(ledger);
  await ledger.close();
  await stopped.stop('fast');
  const remove = async () => {
    for (const end of ends) await end();
  };
  return { stopped, remove };
}

let prepared: Cluster;

/** A cluster with a ledger of five available addresses in its database `postgres`. */
async function ledgerCluster(): Promise<{ cluster: Cluster; url: string }> {
  const cluster = await continueCluster(prepared);
  await queryOnce(cluster.url(), fill);
  return { cluster, url: cluster.url() };
}

/** No address is handed out there, and the error says why and what to do. */
async function expectMoved(url: string, words: string): Promise<void> {
  expect(await away(url)).toContain(words);
  const failure = queryOnce(url, `select ledger.take_address(60, 'customer-B')`);
  await expect(failure).rejects.toMatchObject({
    code: 'WL001',
    message: expect.stringContaining('the database has moved'),
    hint: expect.stringContaining('wallet-ledger recover'),
  });
  expect(await queryOnce(url, `select from ledger.addresses where status <> 'available'`)).toEqual(
    [],
  );
}

const filling = {
  WALLET_MAX_RPS: 'off',
  HTTP_PORT: '0',
  ADDRESS_POOLS: '60:5:10',
  FILL_POOLS_EVERY: '1s',
  POOL_SETTLE: '0s',
};

describe.skipIf(!toolsFolder)("with PostgreSQL's own tools", () => {
  beforeAll(async () => {
    const { stopped, remove } = await prepareLedger();
    prepared = stopped;
    return remove;
  });

  test('a restored dump hands nothing out: elsewhere, in place, of its schemas, of data alone', async () => {
    const { cluster, url } = await ledgerCluster();
    const dump = join(serverFolder(), 'dump');
    await runTool('pg_dump', ['-d', url, '-Fc', '-f', dump]);
    const other = await newCluster();
    await runTool('pg_restore', ['-d', other.url(), dump]);
    await expectMoved(other.url(), 'created again');
    await queryOnce(url, 'create database elsewhere');
    await runTool('pg_restore', ['-d', cluster.url('elsewhere'), dump]);
    await expectMoved(cluster.url('elsewhere'), 'another database');
    expect(await away(url)).toBeNull();

    const accept = () => runProgram(['recover', '--same'], { DATABASE_URL: url });
    await runTool('pg_restore', ['-d', url, '--clean', '--if-exists', dump]);
    await expectMoved(url, 'created again');
    expect(await accept()).toMatchObject({ code: 0 });
    expect(await away(url)).toBeNull();

    const schemas = ['ledger', 'engine', 'own'].flatMap((name) => ['-n', name]);
    await runTool('pg_restore', ['-d', url, '--clean', '--if-exists', ...schemas, dump]);
    await expectMoved(url, 'created again');
    expect(await accept()).toMatchObject({ code: 0 });

    // Everything is emptied and loaded without triggers: the home's own row tells.
    await runTool('pg_dump', ['-d', url, '-Fc', '-f', dump]);
    const tables = await queryOnce(
      url,
      `select string_agg(format('%I.%I', schemaname, tablename), ', ') as names from pg_tables where schemaname in ('ledger', 'engine')`,
    );
    await queryOnce(url, `truncate ${tables[0]?.['names']} cascade`);
    await runTool('pg_restore', [
      '-d',
      url,
      '--data-only',
      '--disable-triggers',
      '-n',
      'ledger',
      '-n',
      'engine',
      dump,
    ]);
    await expectMoved(url, 'written again');
  }, 180_000);

  test.each([
    ['with its triggers', []],
    ['without triggers', ['--disable-triggers']],
  ])(
    'data alone, loaded %s into a new database that was migrated, is not handed out',
    async (_, how) => {
      const { cluster, url } = await ledgerCluster();
      const dump = join(serverFolder(), 'dump');
      await runTool('pg_dump', ['-d', url, '-Fc', '-f', dump]);
      await queryOnce(cluster.url(), 'create database fresh');
      const fresh = cluster.url('fresh');
      expect(await runProgram(['migrate'], { DATABASE_URL: fresh })).toMatchObject({ code: 0 });
      // The tables that the migration has filled refuse their rows, so it does not end well.
      const load = ['-d', fresh, '--data-only', '-n', 'ledger', '-t', 'addresses', ...how, dump];
      await runTool('pg_restore', load);
      await expectMoved(fresh, 'loaded from another database');
    },
    120_000,
  );

  test.each([
    ['emptied', 'truncate ledger.addresses', 'was emptied'],
    ['deleted', 'delete from ledger.addresses', 'were deleted'],
  ])(
    'addresses that were %s and loaded from a dump are not handed out',
    async (_, empty, words) => {
      const { url } = await ledgerCluster();
      const dump = join(serverFolder(), 'dump');
      await runTool('pg_dump', ['-d', url, '-Fc', '-f', dump]);
      await queryOnce(url, empty);
      await runTool('pg_restore', [
        '-d',
        url,
        '--data-only',
        '--disable-triggers',
        '-n',
        'ledger',
        '-t',
        'addresses',
        dump,
      ]);
      await expectMoved(url, words);
    },
    120_000,
  );

  test('an older copy of the addresses that is put in place is not handed out again', async () => {
    const { url } = await ledgerCluster();
    await queryOnce(url, 'create table public.copy as select * from ledger.addresses');
    await queryOnce(url, `select ledger.take_address(60, 'customer')`);
    expect(await away(url)).toBeNull();
    await queryOnce(
      url,
      `update ledger.addresses a
          set status = c.status, assigned_to = c.assigned_to, assigned_at = c.assigned_at, assigned_no = c.assigned_no
         from public.copy c where (c.wallet, c.slip44, c.address_key) = (a.wallet, a.slip44, a.address_key)`,
    );
    await expectMoved(url, 'were made available again');
  }, 120_000);

  test('a promoted standby, a recovery to a point in time and a copy by template hand nothing out', async () => {
    const { cluster, url } = await ledgerCluster();
    const standby = await copyCluster(cluster, {
      signal: 'standby',
      settings: [`primary_conninfo = '${cluster.url()}'`],
    });
    await standby.start();
    // Analysts read there: it is no move while it follows.
    expect(await away(standby.url())).toBeNull();
    expect(
      await queryOnce(
        standby.url(),
        `select name from ledger.problems where name = 'database_moved'`,
      ),
    ).toEqual([]);
    const recovered = await copyCluster(cluster, {
      signal: 'recovery',
      settings: [
        `restore_command = 'cp "${cluster.data}/pg_wal/%f" "%p"'`,
        "recovery_target = 'immediate'",
        "recovery_target_action = 'promote'",
      ],
    });
    await recovered.start();
    const isOpen = async (url: string) =>
      (await queryOnce(url, 'select pg_is_in_recovery() as r'))[0]?.['r'] === false;
    await until(() => isOpen(recovered.url()));
    await expectMoved(recovered.url(), 'another timeline');
    await standby.promote();
    await expectMoved(standby.url(), 'another timeline');
    // A base backup has every mark of its home, unless it is started as the runbook says.
    const backup = await copyCluster(cluster, {
      signal: 'recovery',
      settings: [`restore_command = 'false'`],
    });
    await backup.start();
    await until(() => isOpen(backup.url()));
    await expectMoved(backup.url(), 'another timeline');
    await queryOnce(cluster.url('template1'), 'create database copied template postgres');
    await expectMoved(cluster.url('copied'), 'another database');
    expect(await away(url)).toBeNull();
  }, 180_000);

  test('restarts, crashes and the care of tables are no move', async () => {
    const { cluster, url } = await ledgerCluster();
    await cluster.stop('fast');
    await cluster.start();
    expect(await away(url)).toBeNull();
    await cluster.stop('immediate');
    await cluster.start();
    expect(await away(url)).toBeNull();
    for (const care of [
      'vacuum full',
      'vacuum (freeze, analyze)',
      'reindex database postgres',
      'cluster engine.home using home_pkey',
      'checkpoint',
    ])
      await queryOnce(url, care);
    await queryOnce(url, 'vacuum full engine.home');
    await cluster.stop('immediate');
    await cluster.start();
    expect(await away(url)).toBeNull();
    expect(await queryOnce(url, `select ledger.take_address(60, 'customer') as a`)).toEqual([
      { a: 'a1' },
    ]);
  }, 120_000);

  test('an address handed out after the backup goes to nobody else: the daemon sets aside and refills', async () => {
    const cluster = await continueCluster(prepared);
    const url = cluster.url();
    const sandbox = await startSandbox({ signer: 'params-hmac', settleMs: 0, transactions: 50 });
    onTestFinished(() => sandbox.close());
    const env = { ...sandboxSettings(sandbox), ...filling, DATABASE_URL: url };
    const take = async (reference: string) =>
      (await queryOnce(url, `select ledger.take_address(60, '${reference}') as a`))[0]?.['a'];
    expect(await runProgram(['sync'], env)).toMatchObject({ code: 0 });
    const before = await take('before');
    const dump = join(serverFolder(), 'dump');
    await runTool('pg_dump', ['-d', url, '-Fc', '-f', dump]);
    const [lost, named] = [await take('customer-A'), await take('customer-C')];
    await runTool('pg_restore', ['-d', url, '--clean', '--if-exists', dump]);

    const stopped = await runProgram(['pool', 'refill'], { ...env, ON_MOVE: 'stop' });
    expect([stopped.code, stopped.stderr]).toEqual([3, expect.stringContaining('has moved')]);
    expect(await runProgram(['recover'], env)).toMatchObject({ code: 3 });
    expect(
      (
        await queryOnce(url, `select severity from ledger.problems where name = 'database_moved'`)
      )[0],
    ).toEqual({ severity: 'critical' });
    const daemons = [startProgram(['start'], env), startProgram(['start'], env)];
    await until(async () => {
      const [level] = await queryOnce(
        url,
        'select available::int as n from ledger.pool_levels where slip44 = 60',
      );
      return level?.['n'] === 10 && (await away(url)) === null;
    }, 60_000);
    const fresh = await take('customer-B');
    expect([before, lost, named]).not.toContain(fresh);
    expect(await take('before')).toBe(before);
    expect(await queryOnce(url, 'select count(*)::int as n from engine.moves')).toEqual([{ n: 1 }]);
    expect(
      (
        await queryOnce(url, `select severity from ledger.problems where name = 'database_moved'`)
      )[0],
    ).toEqual({ severity: 'warning' });
    for (const daemon of daemons) daemon.process.kill('SIGTERM');
    await Promise.all(daemons.map((daemon) => daemon.ended));
  }, 180_000);

  test('a dump that is restored in place under a running daemon is one move, also for the daemon that did not heal it', async () => {
    const cluster = await continueCluster(prepared);
    const url = cluster.url();
    const sandbox = await startSandbox({ signer: 'params-hmac', settleMs: 0, transactions: 50 });
    onTestFinished(() => sandbox.close());
    const often = { ...filling, SYNC_TRANSACTIONS_EVERY: '1s' };
    const env = { ...sandboxSettings(sandbox), ...often, DATABASE_URL: url };
    const number = async (statement: string) =>
      Number((await queryOnce(url, `select (${statement}) as n`))[0]?.['n']);
    const isFilled = async () =>
      (await number('select available from ledger.pool_levels where slip44 = 60')) === 10;
    expect(await runProgram(['sync'], env)).toMatchObject({ code: 0 });
    const dump = join(serverFolder(), 'dump');
    await runTool('pg_dump', ['-d', url, '-Fc', '-f', dump]);
    const daemon = startProgram(['start'], env);
    await until(isFilled, 60_000);
    // As after some restarts of the server: a restored ledger goes on below the numbers that the daemon remembers.
    await queryOnce(
      url,
      `select setval('ledger.observations', nextval('ledger.observations') + 5000000)`,
    );
    const numbers = 'select last_value from ledger.observations';
    const before = await number(numbers);
    await until(async () => (await number(numbers)) > before + 3, 60_000);
    // The daemon hangs meanwhile, so that another process heals the move.
    daemon.process.kill('SIGSTOP');
    await queryOnce(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name <> ''`,
    );
    await runTool('pg_restore', ['-d', url, '--clean', '--if-exists', dump]);
    expect(await runProgram(['sync'], env)).toMatchObject({ code: 0 });
    expect(await away(url)).toBeNull();
    daemon.process.kill('SIGCONT');
    await until(isFilled, 60_000);
    const after = await number(numbers);
    await until(async () => (await number(numbers)) > after + 10, 60_000);
    expect(await away(url)).toBeNull();
    expect(await queryOnce(url, 'select what from engine.moves')).toEqual([
      { what: expect.stringContaining('created again') },
    ]);
    daemon.process.kill('SIGTERM');
    await daemon.ended;
  }, 180_000);

  test('after a crash, and on a standby that lagged, observation numbers and nonces are above all given out', async () => {
    const { cluster, url } = await ledgerCluster();
    const standby = await copyCluster(cluster, {
      signal: 'standby',
      settings: [`primary_conninfo = '${cluster.url()}'`],
    });
    await standby.start();
    type Numbers = { observation: number; nonce: number };
    // Above 1,000 requests a second the nonces, milliseconds, run ahead of the clock.
    const takeOn = async (of: string): Promise<Numbers> =>
      (
        await queryOnce(
          of,
          `select max(observation)::float8 as observation, max(nonce)::float8 as nonce
             from ledger.take_tickets(500, null, 'ms')`,
        )
      )[0] as Numbers;
    const isAbove = (numbers: Numbers, before: Numbers) =>
      numbers.observation - 499 > before.observation && numbers.nonce - 499 > before.nonce;
    let last = await takeOn(url);
    for (let crash = 0; crash < 3; crash += 1) {
      for (let call = 0; call < 20; call += 1) last = await takeOn(url);
      await cluster.stop('immediate');
      await cluster.start();
      const next = await takeOn(url);
      expect(isAbove(next, last)).toBe(true);
      last = next;
    }
    await cluster.stop('fast');
    await cluster.start();
    const next = await takeOn(url);
    expect(isAbove(next, last)).toBe(true);
    expect(next.observation).toBeLessThan(last.observation + 10_000);
    last = next;
    // It has all up to here, and none of what follows.
    const [wrote] = await queryOnce(url, 'select pg_current_wal_flush_lsn()::text as upto');
    await until(async () => {
      const [has] = await queryOnce(
        standby.url(),
        `select pg_last_wal_replay_lsn() >= '${wrote?.['upto']}' as all`,
      );
      return has?.['all'] === true;
    }, 60_000);
    await queryOnce(standby.url(), `alter system set primary_conninfo = ''`);
    await queryOnce(standby.url(), 'select pg_reload_conf()');
    await until(
      async () =>
        (
          await queryOnce(standby.url(), 'select count(*)::int as n from pg_stat_wal_receiver')
        )[0]?.['n'] === 0,
    );
    for (let call = 0; call < 8; call += 1) last = await takeOn(url);
    await standby.promote();
    expect(isAbove(await takeOn(standby.url()), last)).toBe(true);
  }, 180_000);
});
