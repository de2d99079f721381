import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runProgram } from '../support/run-cli.ts';
import { withService } from '../support/with-service.ts';

const quiet = { LOG_LEVEL: 'silent' };
const tables = `select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
                 where n.nspname in ('ledger', 'engine', 'own', 'queue') and c.relkind = 'r'`;

test.each([
  ['ledger', 'create schema ledger; create table ledger.transactions (id int, amount int)'],
  ['ledger', 'create schema ledger; create table ledger.foo (a int)'],
  ['engine', 'create schema engine; create view engine.foo as select 1 as a'],
  ['queue', 'create schema queue; create table queue.foo (a int)'],
])(
  'a schema %s of another program is refused with 2, and nothing is created: %s',
  async (schema, setUp) => {
    const { env, query } = await withService({ transactions: 1 }, { isMigrated: false });
    await query(setUp);
    const before = await query(tables);
    const looking = schema === 'queue' ? [] : [['status'], ['pool', 'take', '60']];
    for (const command of [['migrate'], ['start'], ['sync'], ...looking]) {
      const { code, stderr } = await runProgram(command, { ...env, ...quiet });
      expect([command, code, stderr]).toEqual([
        command,
        2,
        expect.stringMatching(
          /^wallet-ledger: the database has a schema of another program: it holds (ledger|engine|queue)\.\w+; .*another database.*\n$/,
        ),
      ]);
    }
    const doctor = await runProgram(['doctor'], env);
    expect(doctor.code).toBe(2);
    expect(doctor.stdout).toMatch(
      /^BAD +migrations: the database has a schema of another program/m,
    );
    expect(await query(tables)).toEqual(before);
  },
  120_000,
);

test('a table of migrations of another program is refused with 2', async () => {
  const { env, query } = await withService({ transactions: 1 }, { isMigrated: false });
  await query(`create schema drizzle;
    create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint);
    insert into drizzle.__drizzle_migrations (hash, created_at) values ('a', 1)`);
  for (const command of ['migrate', 'status']) {
    const { code, stderr } = await runProgram([command], { ...env, ...quiet });
    expect([code, stderr]).toEqual([2, expect.stringContaining('belongs to another program')]);
  }
});

test('empty schemas that an administrator has made are filled', async () => {
  const { env, query } = await withService({ transactions: 1 }, { isMigrated: false });
  await query('create schema ledger; create schema engine; create schema queue');
  expect((await runProgram(['status'], env)).code).toBe(5);
  expect(await runProgram(['migrate'], env)).toMatchObject({ code: 0 });
  expect(await runProgram(['sync', 'coins'], env)).toMatchObject({ code: 0 });
});

/** When the last migration was made that cannot be applied twice; later ones only write functions and views anew. */
const lastUnrepeatable = JSON.parse(readFileSync('migrations/meta/_journal.json', 'utf8'))
  .entries.filter(({ tag }: { tag: string }) =>
    /ADD COLUMN|CREATE (TABLE|INDEX|FUNCTION)|ASSERT/.test(
      readFileSync(`migrations/${tag}.sql`, 'utf8'),
    ),
  )
  .at(-1).when;

test.each([
  [
    'the last rows',
    `delete from drizzle.__drizzle_migrations where created_at >= ${lastUnrepeatable}`,
  ],
  ['a row in the middle', 'delete from drizzle.__drizzle_migrations where id = 7'],
])(
  'a table of migrations that lacks %s is named, with the row to write, which cures it',
  async (_what, damage) => {
    const { env, query } = await withService({ transactions: 1 });
    await query(damage);
    const { code, stderr } = await runProgram(['sync', 'coins'], { ...env, ...quiet });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^wallet-ledger: the table drizzle\.__drizzle_migrations.* is damaged: .*; restore that table/,
      ),
    ]);
    expect(stderr).not.toContain('another program');
    const [statement = ''] = /insert into drizzle.*\)/.exec(stderr) ?? [];
    await query(statement);
    expect(await runProgram(['sync', 'coins'], env)).toMatchObject({ code: 0 });
  },
  120_000,
);

test('tables that a restore over them has left without their keys are named before anything is read or said', async () => {
  const { env, query } = await withService({ transactions: 1 });
  await query('alter table ledger.streams drop constraint streams_wallet_name_pk');
  for (const command of ['migrate', 'status', 'sync']) {
    const { code, stdout, stderr } = await runProgram([command], { ...env, ...quiet });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/ledger\.streams have no primary key.*; restore all of the dump/);
  }
  const { stdout } = await runProgram(['doctor'], { ...env, ...quiet });
  expect(stdout).toMatch(/migrations: ledger\.streams have no primary key/);
}, 60_000);

test('a schema whose table of migrations is gone is that of wallet-ledger', async () => {
  const { env, query } = await withService({ transactions: 1 });
  await query('drop schema drizzle cascade');
  for (const command of ['migrate', 'status']) {
    const { code, stderr } = await runProgram([command], { ...env, ...quiet });
    expect([code, stderr]).toEqual([1, expect.stringContaining('is missing or empty')]);
    expect(stderr).not.toContain('another program');
  }
});
