import { readFile } from 'node:fs/promises';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import { PgDialect, type PgSession } from 'drizzle-orm/pg-core';
import { expect, onTestFinished, test } from 'vitest';
import { checkDatabase } from '../../src/doctor/check-database.ts';
import { LedgerError } from '../../src/kernel/errors.ts';
import { type Log, silentLog } from '../../src/kernel/log.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { forNewLedger } from '../../src/ledger/connection/new-ledger-migrations.ts';
import { migrateBefore } from '../support/migrate-before.ts';
import { queryOnce } from '../support/on-database.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, connectionString, query } = await withLedger({ isMigrated: false });
const earlier = await withLedger({ isMigrated: false });
const contended = await withLedger({ isMigrated: false });

type Journal = { entries: { idx: number; when: number; tag: string }[] };
const journal: Journal = JSON.parse(await readFile('migrations/meta/_journal.json', 'utf8'));

test('the times of the migrations rise in their order, so that none is ever skipped', () => {
  const times = journal.entries.map((entry) => entry.when);
  expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
  expect(journal.entries.map((entry) => entry.idx)).toEqual([...times.keys()]);
});

test('the holder of a needed lock is logged at once, and named in the error if the lock is not free in time', async () => {
  const holder = await ledger.pool.connect();
  const warned: Record<string, unknown>[] = [];
  const log: Log = { ...silentLog, warn: (fields) => void warned.push(fields) };
  try {
    await holder.query(`set application_name = 'someone'`);
    const { rows } = await holder.query<{ pid: number }>(
      'select pg_backend_pid() as pid, pg_advisory_lock(7246001)',
    );
    const named = expect.stringMatching(
      new RegExp(`process ${rows[0]?.pid}, role .+, application someone, connected since 2`),
    );
    const failed = await migrateLedger(connect(), { log, waitMs: 2_000 }).catch(
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ code: 'database-unreachable', message: named });
    expect(warned).toEqual([{ holder: named }]);
  } finally {
    holder.release(true);
  }
});

test.each([
  ['latin1', "encoding 'LATIN1' locale_provider libc locale 'C'", 'the encoding LATIN1'],
  [
    'turkish',
    "encoding 'UTF8' locale_provider icu icu_locale 'tr-TR' locale 'C'",
    'the lower case of I is not i',
  ],
])(
  'a database that cannot store the texts of a service is refused before anything is created: %s',
  async (name, options, words) => {
    const url = new URL(connectionString);
    const database = `${url.pathname.slice(1)}_${name}`;
    await queryOnce(connectionString, `create database ${database} ${options} template template0`);
    onTestFinished(async () => {
      await queryOnce(connectionString, `drop database ${database} with (force)`);
    });
    url.pathname = `/${database}`;
    await expect(migrateLedger(connect(url.href))).rejects.toMatchObject({
      code: 'settings',
      message: expect.stringContaining(words),
      cure: expect.stringContaining('create database'),
    });
    expect(await queryOnce(url.href, `select to_regnamespace('ledger') as made`)).toEqual([
      { made: null },
    ]);
  },
);

test('[Q14] one of five processes that migrate a fresh database concurrently applies everything', async () => {
  const done = await Promise.all([1, 2, 3, 4, 5].map(() => migrateLedger(connect())));
  expect(done.map(({ applied }) => applied).sort((a, b) => b - a)).toEqual([
    journal.entries.length,
    0,
    0,
    0,
    0,
  ]);
});

test('a new ledger is created in many transactions, so that a small server has enough locks for each', async () => {
  expect(
    await query('select count(distinct xmin::text)::int from drizzle.__drizzle_migrations'),
  ).toEqual([{ count: journal.entries.length }]);
});

test('[D7 Q14] a migration that waits for an analyst blocks nobody else, and is applied once the analyst has finished', async () => {
  // The next one replaces a view that an analyst reads.
  const applied = await migrateBefore(earlier.ledger, 'analyst_speed');
  const reading = 'select count(*) from ledger.state_transitions';
  const analyst = await earlier.ledger.pool.connect();
  onTestFinished(() => analyst.release(true));
  await analyst.query('begin');
  await analyst.query(reading);
  const migrating = migrateLedger(earlier.connect());
  const isWaiting = `select 1 from pg_locks where not granted and relation = 'ledger.state_transitions'::regclass`;
  await until(async () => (await earlier.query(isWaiting)).length > 0);
  // Queues behind the migration, and waits until the migration gives way: the analyst reads all the time.
  await earlier.query(reading);
  await analyst.query('commit');
  expect(await migrating).toEqual({ applied: journal.entries.length - applied });
});

test('[Q14] a migration that loses a deadlock against an analyst is retried', async () => {
  // Alters the addresses first, then the transactions.
  const applied = await migrateBefore(contended.ledger, 'wallets');
  const analyst = await contended.ledger.pool.connect();
  onTestFinished(() => analyst.release(true));
  await analyst.query('begin');
  await analyst.query('select from ledger.transactions');
  const migrating = migrateLedger(contended.connect());
  const isWaiting = `select 1 from pg_locks where not granted and relation = 'ledger.transactions'::regclass`;
  await until(async () => (await contended.query(isWaiting)).length > 0);
  await analyst.query('select from ledger.addresses');
  await analyst.query('commit');
  expect(await migrating).toEqual({ applied: journal.entries.length - applied });
});

test('a new ledger equals one that every migration was applied to as written', async () => {
  const stepwise = await withLedger({ isMigrated: false });
  await migrate(stepwise.ledger.db, { migrationsFolder: 'migrations' });
  await stepwise.query('select engine.settle_rights(), engine.settle_barriers()');
  const made = await query(definitions);
  expect(made.length).toBeGreaterThan(1_500);
  expect(made).toEqual(await stepwise.query(definitions));
});

test('the interrupted migration of a new ledger is completed, with the views that it had left out', async () => {
  const halfMade = await withLedger({ isMigrated: false });
  const migrations = forNewLedger(readMigrationFiles({ migrationsFolder: 'migrations' }));
  const begun = migrations.slice(0, 75);
  const client = await halfMade.ledger.patient();
  await client.query('set check_function_bodies = off');
  const session = drizzle(client)._.session as unknown as PgSession;
  await new PgDialect().migrate(begun, session, { migrationsFolder: 'migrations' });
  await client.end();
  const left = migrations.length - begun.length;
  expect(await migrateLedger(halfMade.ledger)).toEqual({ applied: left });
});

test('a migration that finds a changed view reports it in few words, and blames no lost record', async () => {
  const { ledger: halfMade, query: ask, connect: open } = await withLedger({ isMigrated: false });
  await migrateBefore(halfMade, 'resumed_receivers');
  await ask(`do $$ begin execute 'create or replace view ledger.feed_problems as '
    || replace(pg_get_viewdef('ledger.feed_problems'::regclass), '00:10:00', '00:11:00'); end $$`);
  for (let run = 0; run < 2; run += 1) {
    const failed = await migrateLedger(open()).catch((error: unknown) => error);
    if (!(failed instanceof LedgerError)) throw failed;
    expect(failed.message).toBe(
      'the migration 0117_resumed_receivers fails, because the schema is not as the earlier ones left it: a definition is not the one that it changes',
    );
    expect(failed.cure).not.toMatch(/insert into|backup/);
  }
  const { findings } = await checkDatabase(halfMade, {
    clock: Date.now,
    poolSize: 1,
    hasQueue: false,
  });
  expect(findings).toContainEqual(
    expect.objectContaining({
      name: 'migrations',
      verdict: 'bad',
      seen: expect.stringMatching(/^the schema is incomplete: .* and \d+ migrations are missing$/),
    }),
  );
});

test('a second run of the migrations changes nothing', async () => {
  expect(await migrateLedger(ledger)).toEqual({ applied: 0 });
});

test('a role without the right to create objects passes if everything is migrated', async () => {
  const role = `reader_${process.pid}_${Date.now()}`;
  await ledger.pool.query(`
    create role ${role} login password 'reader';
    revoke create on schema public from public;
    grant usage on schema drizzle, ledger to ${role};
    grant select on drizzle.__drizzle_migrations to ${role};
    do $$ begin execute format('grant connect on database %I to ${role}', current_database()); end $$`);
  const url = new URL(connectionString);
  url.username = role;
  url.password = 'reader';
  try {
    const reader = connect(url.toString());
    expect(await migrateLedger(reader)).toEqual({ applied: 0 });
    await expect(reader.pool.query('create schema forbidden')).rejects.toThrow(/permission/);
  } finally {
    await ledger.pool.query(`drop owned by ${role}; drop role ${role}`);
  }
});

test('every table, view, column, sequence and function has a comment', async () => {
  const bare = await query<{ what: string }>(`
    select c.relname as what from pg_class c
     where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'v', 'm')
       and obj_description(c.oid, 'pg_class') is null
    union all
    select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'v', 'm')
       and a.attnum > 0 and not a.attisdropped and col_description(c.oid, a.attnum) is null
    union all
    select c.relname from pg_class c
     where c.relnamespace = 'ledger'::regnamespace and c.relkind = 'S'
       and obj_description(c.oid, 'pg_class') is null
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'i')
    union all
    select p.oid::regprocedure::text from pg_proc p
     where p.pronamespace = 'ledger'::regnamespace and obj_description(p.oid, 'pg_proc') is null
    union all
    select 'schema ledger' where obj_description('ledger'::regnamespace, 'pg_namespace') is null`);
  expect(bare.map(({ what }) => what)).toEqual([]);
});

test('a schema of a later version is refused', async () => {
  const later = Math.max(...journal.entries.map((entry) => entry.when)) + 1;
  await ledger.pool.query(
    `insert into drizzle.__drizzle_migrations (hash, created_at) values ('later', ${later})`,
  );
  const refused = await migrateLedger(ledger).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(LedgerError);
  expect(refused).toMatchObject({ code: 'schema-newer', exitCode: 5 });
});

/** Everything that a migration creates in the ledger's schemas: its kind, its name and its definition with rights. */
const definitions = `
  with spaces as (select oid from pg_namespace where nspname in ('ledger', 'engine', 'own')),
  relations as (select c.* from pg_class c join spaces on spaces.oid = c.relnamespace where c.relkind in ('r', 'v', 'm', 'S'))
  select c.relkind::text as kind, c.oid::regclass::text as name,
         concat_ws(' | ', case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) end, c.reloptions,
                   array(select unnest(c.relacl)::text order by 1), obj_description(c.oid)) as definition
    from relations c
  union all
  select 'column', c.oid::regclass || '.' || a.attname,
         concat_ws(' | ', format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
                   array(select unnest(a.attacl)::text order by 1), col_description(c.oid, a.attnum))
    from relations c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  union all
  select 'function', p.oid::regprocedure::text,
         concat_ws(' | ', case when p.prokind = 'a' then p.prosrc else pg_get_functiondef(p.oid) end,
                   array(select unnest(p.proacl)::text order by 1), obj_description(p.oid))
    from pg_proc p join spaces on spaces.oid = p.pronamespace
  union all
  select 'trigger', t.tgrelid::regclass || '.' || t.tgname, concat_ws(' | ', pg_get_triggerdef(t.oid), t.tgenabled)
    from pg_trigger t join relations c on c.oid = t.tgrelid where not t.tgisinternal
  union all
  select 'index', i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)
    from pg_index i join relations c on c.oid = i.indrelid
  union all
  select 'constraint', n.conrelid::regclass || '.' || n.conname, pg_get_constraintdef(n.oid)
    from pg_constraint n join relations c on c.oid = n.conrelid
  union all
  select 'policy', p.polrelid::regclass || '.' || p.polname,
         concat_ws(' | ', pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
    from pg_policy p join relations c on c.oid = p.polrelid
  order by 1, 2`;
