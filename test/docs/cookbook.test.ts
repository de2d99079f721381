import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { grantReader } from '../../src/ledger/connection/grant-roles.ts';
import { migrateQueue } from '../../src/queue/migrate-queue.ts';
import { type CookbookQuery, readCookbookQueries } from '../support/cookbook-queries.ts';
import type { Wallet } from '../support/with-wallet.ts';
import { liveInLedger } from './lived-in-ledger.ts';

const queries = readCookbookQueries();

test('the cookbook answers at least 24 questions, each with one query', () => {
  const names = queries.map(({ name }) => name);
  expect(names.length).toBeGreaterThanOrEqual(24);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !name.endsWith('?'))).toEqual([]);
});

test('a reader gets an answer to every question of the cookbook, and can write nothing', async () => {
  const wallet = await liveInLedger();
  await migrateQueue(wallet.connectionString);
  const analyst = await connectAsReader(wallet);
  const empty: string[] = [];
  for (const { name, rows } of await answers(analyst, queries)) {
    if (rows === 0) empty.push(name);
  }
  expect(empty).toEqual([]);
  for (const write of [...(await writes(wallet)), ...otherDoings]) {
    const refusal = await analyst.query(write).then(
      () => 'allowed',
      (error: Error) => error.message,
    );
    expect([write, refusal]).toEqual([
      write,
      expect.stringMatching(
        /permission denied|must be owner|cannot (insert|update|delete)|is not a table/,
      ),
    ]);
  }
}, 90_000);

test('the states of another wallet change no answer of the cookbook', async () => {
  const wallet = await liveInLedger();
  const client = new Client({ connectionString: wallet.connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  // Within one transaction now() stays the same.
  await client.query('begin');
  const askAll = async () => {
    const found: [string, unknown[]][] = [];
    for (const { name, sql } of queries) found.push([name, (await client.query(sql)).rows]);
    return found;
  };
  const before = await askAll();
  await client.query(`insert into ledger.final_states (wallet, state, is_success)
    select 'another', state, is_success from ledger.final_states`);
  for (const [at, [name, rows]] of (await askAll()).entries())
    expect([name, rows]).toEqual([name, before[at]?.[1]]);
}, 90_000);

const otherDoings = [
  `select ledger.take_address(60, 'mine')`,
  `select * from ledger.take_tickets(1, null, 'ms')`,
  `select nextval('ledger.observations')`,
  'create table ledger.mine (one integer)',
  'create schema mine',
  'select * from queue.job',
  'delete from queue.job',
  'select * from drizzle.__drizzle_migrations',
];

async function answers(analyst: Client, asked: CookbookQuery[]) {
  const found: { name: string; rows: number }[] = [];
  for (const { name, sql } of asked) {
    const { rows } = await analyst.query(sql).catch((error: Error) => {
      throw new Error(`${name}: ${error.message}`, { cause: error });
    });
    found.push({ name, rows: rows.length });
  }
  return found;
}

/** Every kind of write to every table and view. */
async function writes({ ledger }: Wallet): Promise<string[]> {
  const { rows } = await ledger.pool.query<{ name: string; column: string }>(
    `select c.oid::regclass::text as name, a.attname as column
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum = c.relnatts
      where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'v') order by 1`,
  );
  return rows.flatMap(({ name, column }) => [
    `insert into ${name} (${column}) values (null)`,
    `update ${name} set ${column} = null`,
    `delete from ${name}`,
    `truncate ${name}`,
  ]);
}

/** One connection of a role that an administrator made, and `migrate --reader` granted its rights. */
async function connectAsReader({ ledger, connectionString }: Wallet): Promise<Client> {
  const role = `analyst_${process.pid}_${Date.now()}`;
  await ledger.pool.query(`create role ${role} login password 'analyst'`);
  onTestFinished(async () => {
    await ledger.pool.query(`drop owned by ${role}; drop role ${role}`);
  });
  await grantReader(ledger, role);
  const url = new URL(connectionString);
  url.username = role;
  url.password = 'analyst';
  const client = new Client({ connectionString: url.toString() });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
