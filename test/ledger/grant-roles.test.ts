import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { LedgerError } from '../../src/kernel/errors.ts';
import {
  grantConsumer,
  grantIssuer,
  grantReader,
} from '../../src/ledger/connection/grant-roles.ts';
import { migrateQueue } from '../../src/queue/migrate-queue.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query, connectionString } = await withLedger();
await migrateQueue(connectionString);

const unique = `${process.pid}_${Date.now()}`;
const reader = `reader "${unique}"; drop`;
const issuer = `Issuer ${unique}`;
const owner = `owner_${unique}`;

afterAll(async () => {
  for (const role of [reader, issuer, owner]) {
    const { rows } = await ledger.pool.query('select from pg_roles where rolname = $1', [role]);
    const name = role.replaceAll('"', '""');
    if (rows.length > 0) await query(`drop owned by "${name}"; drop role "${name}"`);
  }
});

/** Runs the statement as the role; returns 'ok' or PostgreSQL's message. */
async function asRole(role: string, statement: string): Promise<string> {
  const client = await ledger.pool.connect();
  try {
    await client.query('begin');
    await client.query(`set local role "${role.replaceAll('"', '""')}"`);
    await client.query(statement);
    return 'ok';
  } catch (error) {
    return (error as Error).message;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

async function relations(schemas: string): Promise<{ name: string; column: string }[]> {
  return await query(`select c.oid::regclass::text as name, a.attname as column
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum = c.relnatts
   where c.relnamespace::regnamespace::text = any('{${schemas}}') and c.relkind in ('r', 'v') order by 1`);
}

const functions = [
  `select ledger.take_address(60, null)`,
  `select * from ledger.take_tickets(1, null, 'ms')`,
  `select ledger.pause_requests(1)`,
  `select engine.add_hints('{}')`,
];

test('[D10 S10] a reader can read every table and view, also later ones, and write none', async () => {
  await Promise.all([grantReader(ledger, reader), grantReader(connect(), reader)]);
  await query('create view ledger.later as select 1 as one');
  const readable = await relations('ledger');
  expect(readable.length).toBeGreaterThan(13);
  for (const { name, column } of readable) {
    expect([name, await asRole(reader, `select * from ${name} limit 1`)]).toEqual([name, 'ok']);
    for (const write of [
      `insert into ${name} (${column}) values (null)`,
      `update ${name} set ${column} = null`,
      `delete from ${name}`,
      `truncate ${name}`,
      `lock table ${name} in exclusive mode`,
    ]) {
      expect([write, await asRole(reader, write)]).toEqual([
        write,
        expect.stringMatching(
          /permission denied|must be owner|cannot (insert|update|delete)|is not a table/,
        ),
      ]);
    }
  }
  await query('drop view ledger.later');
});

test('[D10 S10] a reader has no access to the queue, the migrations, functions and sequences', async () => {
  for (const { name } of await relations('queue,drizzle')) {
    expect(await asRole(reader, `select * from ${name} limit 1`)).toMatch(/permission denied/);
  }
  for (const statement of [
    ...functions,
    `select nextval('ledger.observations')`,
    'create table ledger.mine (one int)',
    'create schema mine',
  ]) {
    expect(await asRole(reader, statement)).toMatch(/permission denied/);
  }
  expect(await query(`select rolcanlogin from pg_roles where rolname = '${reader}'`)).toEqual([
    { rolcanlogin: false },
  ]);
});

test('[S10] an issuer can take addresses, see the addresses that it took, and give hints, and nothing else', async () => {
  await grantIssuer(ledger, issuer);
  await grantIssuer(ledger, issuer);
  await query('insert into ledger.pools (slip44, threshold, target) values (60, 1, 2)');
  const [take = '', ...others] = functions;
  expect(await asRole(issuer, take)).toBe('ok');
  for (const call of [
    `ledger.take_address('main', 60, 'customer')`,
    `ledger.take_further_address(60, 'customer')`,
    `ledger.take_further_address('main', 60, 'customer')`,
    `ledger.hint()`,
    `ledger.hint('{"1","2"}')`,
  ]) {
    expect(await asRole(issuer, `select ${call}`)).toBe('ok');
    expect(await asRole(reader, `select ${call}`)).toMatch(/permission denied/);
  }
  for (const { name } of await relations('ledger,engine,queue,drizzle')) {
    if (name === 'ledger.addresses') continue;
    expect(await asRole(issuer, `select * from ${name} limit 1`)).toMatch(/permission denied/);
  }
  for (const statement of [...others, 'delete from ledger.addresses']) {
    expect(await asRole(issuer, statement)).toMatch(/permission denied/);
  }
});

test('an issuer sees only addresses that it took; readers see all, also if they are issuers', async () => {
  await query(`insert into ledger.addresses (slip44, address, status, form, first_seen_at)
    select 195, 'T' || n, 'available', 'plain', now() from generate_series(1, 4) as n`);
  const other = `other ${issuer}`;
  const rowsAs = async (role: string, statement: string) => {
    const client = await ledger.pool.connect();
    await client.query(`select set_config('role', $1, false)`, [role]);
    const { rows } = await client.query<{ assigned_to: string | null }>(statement);
    client.release(true);
    return rows.map((row) => row.assigned_to);
  };
  const seenBy = (role: string) =>
    rowsAs(role, 'select assigned_to from ledger.addresses where slip44 = 195 order by 1');
  await grantIssuer(ledger, other);
  try {
    await rowsAs(issuer, `select ledger.take_address(195, 'anna')`);
    await rowsAs(other, `select ledger.take_address(195, 'bert')`);
    expect(await seenBy(issuer)).toEqual(['anna']);
    expect(await seenBy(other)).toEqual(['bert']);
    expect(await seenBy(reader)).toEqual(['anna', 'bert', null, null]);
    await grantReader(ledger, other);
    expect(await seenBy(other)).toEqual(['anna', 'bert', null, null]);
  } finally {
    await query(`drop owned by "${other}"`);
    await query(`drop role "${other}"`);
  }
});

test('a role cannot create objects that replace those of take_address', async () => {
  await query(`grant temporary on database ${await databaseName()} to "${issuer}"`);
  const client = await ledger.pool.connect();
  await client.query(`set role "${issuer}"`);
  await client.query(`create temp table addresses (slip44 int, address text, status text)`);
  await client.query(`create function pg_temp.clock_timestamp() returns timestamptz language sql as
    $$ select 'infinity'::timestamptz $$`);
  await client.query(`set search_path = pg_temp, ledger`);
  expect((await client.query(`select ledger.take_address(60, 'mine') as taken`)).rows).toEqual([
    { taken: null },
  ]);
  client.release(true);
});

test('reserved, empty and overlong names are refused, and no right is granted', async () => {
  const [own] = await query<{ name: string }>('select current_user as name');
  const names = ['public', 'PUBLIC', 'none', 'pg_reader', 'pg_monitor', '', 'x'.repeat(64)];
  for (const name of [...names, own?.name ?? '']) {
    for (const grant of [grantReader, grantIssuer]) {
      const refused = await grant(ledger, name).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(LedgerError);
      expect(refused).toMatchObject({ code: 'usage', exitCode: 2 });
    }
  }
  const [row] = await query(
    `select has_function_privilege('public', 'ledger.take_address(integer, text)', 'execute') as may`,
  );
  expect(row).toEqual({ may: false });
});

test('a database role without the right to grant gets an error that names the missing right', async () => {
  await query(`create role ${owner} login password 'owner'; grant usage on schema ledger to ${owner};
    grant select on all tables in schema ledger to ${owner};
    grant execute on all functions in schema ledger to ${owner}`);
  await query(`grant connect on database ${await databaseName()} to ${owner}`);
  const url = new URL(connectionString);
  url.username = owner;
  url.password = 'owner';
  const weak = connect(url.toString());
  const attempts: [typeof grantReader, string][] = [
    [grantReader, issuer],
    [grantIssuer, reader],
    [grantIssuer, `new_${unique}`],
  ];
  for (const [grant, role] of attempts) {
    const refused = await grant(weak, role).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(LedgerError);
    expect(refused).toMatchObject({
      code: 'settings',
      message: expect.stringContaining(role),
      cure: expect.stringContaining('owns the schema ledger'),
    });
  }
  // A grant that already exists requires no right to make it.
  await grantIssuer(weak, issuer);
});

test('the owner of the ledger needs no grant, and granting to it is refused', async () => {
  const holder = `holder_${unique}`;
  await query(
    `create role ${holder}; create table ledger.held (one int); alter table ledger.held owner to ${holder}`,
  );
  try {
    for (const grant of [grantReader, grantIssuer])
      expect(await grant(ledger, holder).catch((error: unknown) => error)).toMatchObject({
        code: 'usage',
        message: `${holder} owns the ledger or its database already`,
      });
  } finally {
    await query(`drop owned by ${holder}; drop role ${holder}`);
  }
});

test('no function of the schemas can be called by PUBLIC, including functions of later migrations', async () => {
  await query(`create function ledger.later() returns int language sql stable as 'select 1';
    create function engine.later() returns int language sql as 'select 1';
    select engine.settle_rights()`);
  const open = await query(`select p.oid::regprocedure::text as name from pg_proc p
    where p.pronamespace in ('ledger'::regnamespace, 'engine'::regnamespace)
      and has_function_privilege('public', p.oid, 'execute')`);
  expect(open).toEqual([]);
  expect(await asRole(reader, 'select ledger.later()')).toBe('ok');
  expect(await asRole(reader, 'select engine.later()')).toMatch(/permission denied/);
  await query('drop function ledger.later(); drop function engine.later()');
});

test('functions with the rights of their owner resolve names in the system catalogue only', async () => {
  const open = await query(`select p.oid::regprocedure::text as name from pg_proc p
    where p.pronamespace in ('ledger'::regnamespace, 'engine'::regnamespace) and p.prosecdef
      and not coalesce('search_path=pg_catalog, pg_temp' = any(p.proconfig), false)`);
  expect(open).toEqual([]);
});

test('no schema, relation, column or sequence of the program or its queue is accessible to PUBLIC', async () => {
  const open = await query(`
    select n.nspname as name from pg_namespace n cross join lateral aclexplode(n.nspacl) a
     where n.nspname in ('ledger', 'engine', 'queue', 'drizzle') and a.grantee = 0
    union all
    select c.oid::regclass::text from pg_class c cross join lateral aclexplode(c.relacl) a
     where c.relnamespace::regnamespace::text in ('ledger', 'engine', 'queue', 'drizzle') and a.grantee = 0
    union all
    select t.attrelid::regclass::text from pg_attribute t cross join lateral aclexplode(t.attacl) a
     where a.grantee = 0 and (select c.relnamespace::regnamespace::text from pg_class c where c.oid = t.attrelid)
                             in ('ledger', 'engine', 'queue', 'drizzle')`);
  expect(open).toEqual([]);
});

test('a reader can also call the functions for people', async () => {
  for (const call of [
    'select * from ledger.balances_at(now())',
    'select * from ledger.transactions_at(now())',
    `select ledger.address_key('0xA')`,
  ])
    expect([call, await asRole(reader, call)]).toEqual([call, 'ok']);
});

test('a role that may read no table can neither connect nor create temporary tables', async () => {
  const [row] =
    await query(`select has_database_privilege('public', current_database(), 'connect') as connects,
    has_database_privilege('public', current_database(), 'temporary') as temporary`);
  expect(row).toEqual({ connects: false, temporary: false });
});

test('sessions of a granted role have limits, and limits that an administrator set stay', async () => {
  const login = `login_${unique}`;
  await query(
    `create role ${login} login password 'login'; alter role ${login} set lock_timeout = '7s'`,
  );
  try {
    expect(await grantReader(ledger, login)).toMatchObject({ isNew: false, forbidden: [] });
    const url = new URL(connectionString);
    url.username = login;
    url.password = 'login';
    const client = new Client({ connectionString: url.toString() });
    await client.connect();
    try {
      const { rows } = await client.query(`select current_setting('statement_timeout') as statement,
        current_setting('idle_in_transaction_session_timeout') as idle, current_setting('lock_timeout') as lock`);
      expect(rows).toEqual([{ statement: '5min', idle: '1min', lock: '7s' }]);
      await client.query('select * from ledger.problems');
    } finally {
      await client.end();
    }
  } finally {
    await query(`drop owned by ${login}; drop role ${login}`);
  }
});

test('a role with several grants has the longest of their limits, in any order of the grants', async () => {
  const grants = [grantReader, grantIssuer, grantConsumer];
  for (const order of [grants, grants.toReversed()]) {
    const role = `several_${unique}`;
    try {
      for (const grant of order) await grant(ledger, role);
      const set = await query<{ setting: string }>(
        `select unnest(setconfig) as setting from pg_db_role_setting
          where setrole = (select oid from pg_roles where rolname = '${role}') order by 1`,
      );
      expect(set.map(({ setting }) => setting)).toEqual([
        'idle_in_transaction_session_timeout=1min',
        'lock_timeout=30s',
        'statement_timeout=5min',
      ]);
    } finally {
      await query(`drop owned by ${role}; drop role ${role}`);
    }
  }
});

test('a role that the program creates has few connections; limits that the program may not set are named', async () => {
  const made = `made_${unique}`;
  const keeper = `keeper_${unique}`;
  try {
    expect(await grantIssuer(ledger, made)).toMatchObject({ isNew: true, forbidden: [] });
    expect(await query(`select rolconnlimit from pg_roles where rolname = '${made}'`)).toEqual([
      { rolconnlimit: 20 },
    ]);
    await query(`alter role ${made} in database ${await databaseName()} reset all;
      create role ${keeper} login password 'keeper'; grant usage on schema ledger to ${keeper} with grant option;
      grant connect on database ${await databaseName()} to ${keeper}`);
    for (const each of await query<{
      name: string;
    }>(`select oid::regprocedure::text as name from pg_proc
        where pronamespace = 'ledger'::regnamespace and (proname like 'take%address' or proname = 'hint')`))
      await query(`grant execute on function ${each.name} to ${keeper} with grant option`);
    const url = new URL(connectionString);
    url.username = keeper;
    url.password = 'keeper';
    const report = await grantIssuer(connect(url.toString()), made);
    expect(report.forbidden).toHaveLength(3);
    expect(report.forbidden[0]).toMatch(
      /^alter role made_\w+ in database \w+ set idle_in_transaction_session_timeout = '10s'$/,
    );
  } finally {
    await query(
      `drop owned by ${keeper} cascade; drop role ${keeper}; drop owned by ${made}; drop role ${made}`,
    );
  }
});

async function databaseName(): Promise<string> {
  const [row] = await query<{ name: string }>('select current_database() as name');
  return row?.name ?? '';
}

test('a transaction that takes an address is ended after an idle minute, and a shorter limit stays', async () => {
  const client = await ledger.pool.connect();
  try {
    for (const [set, expected] of [
      ['0', '1min'],
      ['1h', '1min'],
      ['3s', '3s'],
    ]) {
      await client.query('begin');
      await client.query(`set local idle_in_transaction_session_timeout = '${set}'`);
      await client.query(`select ledger.take_address(60, 'idle')`);
      const { rows } = await client.query('show idle_in_transaction_session_timeout');
      expect(rows).toEqual([{ idle_in_transaction_session_timeout: expected }]);
      await client.query('rollback');
    }
  } finally {
    client.release();
  }
});

test('a transaction that blocks addresses is named, also to roles that may not see when it began', async () => {
  await query(`insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
    values (60, '0xA1', 'available', 1, now())`);
  const client = await ledger.pool.connect();
  const looker = await ledger.pool.connect();
  const named = async () =>
    (
      await looker.query<{ what: string; cure: string }>(
        `select what, cure from ledger.problems where name = 'addresses_locked'`,
      )
    ).rows;
  const pass = (age: string) =>
    query(`insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated)
           values ('coins', now() - interval '${age}', now() - interval '${age}', 'done', 1, 0, 0, 0)`);
  try {
    await looker.query(`set role "${reader.replaceAll('"', '""')}"`);
    await pass('2 minutes');
    await client.query('begin');
    const { rows } = await client.query<{ pid: number; taken: string }>(
      `select pg_backend_pid() as pid, ledger.take_address(60, 'kept') as taken`,
    );
    expect(rows[0]?.taken).toBe('0xA1');
    await pass('1 second');
    expect(await named()).toEqual([]);
    // At least as old as a pass that ended more than a minute ago.
    await pass('2 minutes');
    expect(await named()).toEqual([
      {
        what: expect.stringContaining(`process ${rows[0]?.pid}`),
        cure: expect.stringContaining(`pg_terminate_backend(${rows[0]?.pid})`),
      },
    ]);
    await looker.query('reset role');
    expect(await named()).toEqual([]);
    await client.query('rollback');
  } finally {
    client.release(true);
    looker.release(true);
  }
});
