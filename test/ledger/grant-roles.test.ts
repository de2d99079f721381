import { afterAll, expect, test } from 'vitest';
import { LedgerError } from '../../src/kernel/errors.ts';
import { grantIssuer, grantReader } from '../../src/ledger/grant-roles.ts';
import { migrateQueue } from '../../src/queue/migrate-queue.ts';
import { withLedger } from './with-ledger.ts';

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

/** What becomes of the statement when the role runs it: 'ok', or what PostgreSQL says. */
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
];

test('[D10 S10] a reader reads every table and view, later ones included, and writes none', async () => {
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

test('[D10 S10] a reader has no part in the queue, the migrations, the functions and the sequences', async () => {
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

test('[S10] an issuer takes addresses and can do nothing else', async () => {
  await grantIssuer(ledger, issuer);
  await grantIssuer(ledger, issuer);
  const [take = '', ...others] = functions;
  expect(await asRole(issuer, take)).toBe('ok');
  for (const { name } of await relations('ledger,queue,drizzle')) {
    expect(await asRole(issuer, `select * from ${name} limit 1`)).toMatch(/permission denied/);
  }
  for (const statement of [...others, 'delete from ledger.addresses']) {
    expect(await asRole(issuer, statement)).toMatch(/permission denied/);
  }
});

test('a role cannot put objects of its own in the way of take_address', async () => {
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

test('names that PostgreSQL keeps for itself, empty and endless ones are refused, and nobody gets a right', async () => {
  for (const name of ['public', 'none', 'pg_reader', '', 'x'.repeat(64)]) {
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

test('a database role that may not grant is told what it lacks', async () => {
  await query(`create role ${owner} login password 'owner'; grant usage on schema ledger to ${owner};
    grant select on all tables in schema ledger to ${owner};
    grant execute on all functions in schema ledger to ${owner}`);
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
  // What is granted already needs no right to grant it.
  await grantIssuer(weak, issuer);
});
