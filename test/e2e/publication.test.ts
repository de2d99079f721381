import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { type Published, subscribe, withLogicalCluster } from '../support/logical-cluster.ts';
import { queryOnce } from '../support/on-database.ts';
import { toolsFolder } from '../support/postgres-tools.ts';
import { runProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

async function migrate({ env }: Service, ...args: string[]) {
  const { code, stderr } = await runProgram(['migrate', ...args], env);
  return { code, stderr };
}

/** Rows of a table as text, the same on both sides while they are equal. */
function contents(url: string, table: string) {
  return queryOnce(url, `select t::text as row from ledger.${table} t order by 1`);
}

test.skipIf(!toolsFolder)(
  'a subscriber gets the rows of ledger and their changes, and tables that come later',
  async () => {
    const service = await withLogicalCluster(300);
    const { cluster, sandbox } = service;
    const first = await migrate(service, '--publication', 'books');
    expect(first).toEqual({ code: 0, stderr: expect.stringMatching(/published as books/) });
    const repeated = await migrate(service, '--publication', 'books');
    expect([repeated.code, first.stderr]).toEqual([0, expect.stringContaining(repeated.stderr)]);
    expect((await runProgram(['backfill'], service.env)).code).toBe(0);

    const copy = await subscribe(service);
    const tables = [
      'transactions',
      'transaction_changes',
      'balances',
      'accounts',
      'coverage',
      'events',
    ];
    const settle = () =>
      until(async () => {
        for (const table of tables)
          expect(await contents(copy, table)).toEqual(await contents(cluster.url(), table));
        return true;
      }, 60_000);
    await settle();

    sandbox.world.addTransactions(20, { type: 'deposit', state: 'success' });
    const [known] = sandbox.world.transactions('withdraw');
    sandbox.world.setState(known?.orderNo ?? '', 'reverted');
    expect((await runProgram(['verify', '--repair'], service.env)).code).toBe(0);
    await service.query(
      `update ledger.accounts set name = 'assets:renamed' where role = 'custody'`,
    );
    await settle();
    expect(await queryOnce(copy, `select from ledger.transactions`)).toHaveLength(320);

    const later =
      'create table ledger.later (id integer primary key); create table ledger.keyless (word text)';
    await service.query(later);
    await queryOnce(copy, later);
    const again = await migrate(service);
    expect(again).toEqual({ code: 0, stderr: expect.stringContaining('"publications":["books"]') });
    const published = await service.query(
      `select tablename from pg_publication_tables where pubname = 'books' and tablename in ('later', 'keyless')`,
    );
    expect(published).toHaveLength(2);
    await queryOnce(copy, 'alter subscription copy refresh publication');
    await service.query(
      `insert into ledger.later values (7); insert into ledger.keyless values ('a'), ('b')`,
    );
    await service.query(`update ledger.keyless set word = 'c' where word = 'b'`);
    tables.push('later', 'keyless');
    await settle();
  },
  300_000,
);

test.skipIf(!toolsFolder)(
  'the heartbeat of docs/operations.md moves the slot of a quiet database on',
  async () => {
    const service = await withLogicalCluster(50);
    expect(await migrate(service, '--publication', 'books')).toMatchObject({ code: 0 });
    await service.query(`select pg_create_logical_replication_slot('quiet', 'pgoutput')`);
    await service.query('create database other');
    const kept = async () => {
      const [slot] = await service.query(
        `select pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::int as bytes from pg_replication_slots where slot_name = 'quiet'`,
      );
      return Number(slot?.['bytes']);
    };
    /** Confirms what it has received, as a connector does; returns the number of messages. */
    const receive = async () => {
      const rows = await service.query(`
        select lsn::text from pg_logical_slot_peek_binary_changes('quiet', null, null, 'proto_version', '1',
                 'publication_names', 'books', 'messages', 'true')`);
      const last = rows.at(-1)?.['lsn'];
      if (last !== undefined)
        await service.query(`select pg_replication_slot_advance('quiet', '${String(last)}')`);
      return rows.length;
    };
    await queryOnce(
      cluster(service),
      'create table noise as select n, repeat(n::text, 20) as t from generate_series(1, 20000) as n',
    );
    expect(await receive()).toBe(0);
    expect(await kept()).toBeGreaterThan(1_000_000);
    const runbook = readFileSync('docs/operations.md', 'utf8');
    const [, heartbeat = ''] =
      /^```sql\n(select pg_logical_emit_message\(.*?)\n```$/ms.exec(runbook) ?? [];
    await service.query(heartbeat);
    expect(await receive()).toBeGreaterThan(0);
    expect(await kept()).toBeLessThan(100_000);
  },
  120_000,
);

function cluster({ cluster: own }: Published): string {
  return own.url('other');
}

test('a name that is taken, and a role without the right, are refused; without logical WAL it says what to set', async () => {
  const service = await withService({ transactions: 0 });
  const done = await migrate(service, '--publication', 'Own "name"');
  expect([done.code, done.stderr]).toEqual([0, expect.stringContaining('wal_level')]);
  await service.query('create publication taken');
  expect(await migrate(service, '--publication', 'taken')).toEqual({
    code: 2,
    stderr: expect.stringContaining('wallet-ledger did not create it'),
  });
  expect(await migrate(service, '--publication', '')).toMatchObject({ code: 2 });
  const role = `unable_${process.pid}_${Date.now()}`;
  await service.query(`
    create role ${role} login password 'unable';
    do $$ begin execute format('grant connect on database %I to ${role}', current_database()); end $$;
    grant usage on schema ledger, engine, drizzle, queue to ${role};
    grant select on all tables in schema ledger, engine, drizzle, queue to ${role}`);
  onTestFinished(async () => {
    await service.query(`drop owned by ${role}; drop role ${role}`);
  });
  const url = new URL(service.env['DATABASE_URL'] ?? '');
  url.username = role;
  url.password = 'unable';
  const unable = { ...service, env: { ...service.env, DATABASE_URL: url.toString() } };
  expect(await migrate(unable, '--publication', 'mine')).toEqual({
    code: 2,
    stderr: expect.stringMatching(
      /the publication mine cannot be made or altered: .*role owns the schema ledger/,
    ),
  });
  await service.query('create table ledger.later (id integer primary key)');
  const warned = await migrate(unable);
  expect([warned.code, warned.stderr]).toEqual([
    0,
    expect.stringContaining('publications lack tables'),
  ]);
}, 120_000);

test('a published ledger goes on writing: addresses are handed out, and passes end', async () => {
  const service = await withService({ transactions: 50 });
  const env = { ...service.env, ADDRESS_POOLS: '60:5:10' };
  expect(await migrate(service, '--publication', 'books')).toMatchObject({ code: 0 });
  const pass = await runProgram(['sync'], env);
  expect([pass.code, pass.stderr]).toEqual([0, expect.not.stringContaining('cannot')]);
  expect(await service.query(`select ledger.take_address(60, 'customer') as a`)).toEqual([
    { a: expect.stringMatching(/^0x/) },
  ]);
  // As a connector makes one by default, and as a server does that follows another one for an upgrade.
  await service.query('create publication everything for all tables');
  expect(await migrate(service)).toMatchObject({ code: 0 });
  service.sandbox.world.addTransactions(1_200, { type: 'deposit', state: 'success' });
  expect(await runProgram(['sync'], env)).toMatchObject({ code: 0 });
  await service.query('delete from engine.null_takes; delete from engine.total_changes');
  expect(await service.query(`select ledger.take_address(60, 'another') as a`)).toEqual([
    { a: expect.stringMatching(/^0x/) },
  ]);
}, 120_000);
