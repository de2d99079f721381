import { afterAll, expect, test } from 'vitest';
import {
  grantConsumer,
  grantIssuer,
  grantReader,
} from '../../src/ledger/connection/grant-roles.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger();
const unique = `${process.pid}_${Date.now()}`;
const [ofMain, ofOther, ofAll, member, consumer, issuer] = [
  'main',
  'w2',
  'all',
  'member',
  'consumer',
  'issuer',
].map((name) => `reader_${name}_${unique}`) as [string, string, string, string, string, string];

afterAll(async () => {
  for (const role of [member, ofMain, ofOther, ofAll, consumer, issuer]) {
    await query(`drop owned by ${role}`);
    await query(`drop role ${role}`);
  }
});

async function asRole<T>(role: string, statement: string): Promise<T[]> {
  const client = await ledger.pool.connect();
  try {
    await client.query('begin');
    await client.query(`set local role ${role}`);
    return (await client.query(statement)).rows;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** Relations of the schema ledger with the wallet of their rows. */
async function relationsWithWallet(): Promise<string[]> {
  const rows = await query<{ name: string }>(`
    select c.oid::regclass::text as name
      from pg_class c join pg_attribute w on w.attrelid = c.oid and w.attname = 'wallet'
     where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'v') order by 1`);
  return rows.map(({ name }) => name);
}

/** Gives every table of ledger a row of each wallet, without its triggers and rules. */
async function fillEveryTable(): Promise<void> {
  const columns = await query<{
    name: string;
    column: string;
    type: string;
    check: string | null;
  }>(`
    select c.oid::regclass::text as name, a.attname as column, format_type(a.atttypid, null) as type
      from pg_class c join pg_attribute w on w.attrelid = c.oid and w.attname = 'wallet'
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attnotnull
           and a.attgenerated = '' and a.attidentity = '' and not a.atthasdef and a.attname <> 'wallet'
     where c.relnamespace = 'ledger'::regnamespace and c.relkind = 'r'`);
  const values: Record<string, string> = {
    text: "'a'",
    bigint: '1',
    integer: '1',
    smallint: '1',
    numeric: '1',
    boolean: 'true',
    date: "'2026-01-01'",
    uuid: 'gen_random_uuid()',
    jsonb: "'{}'",
    'text[]': "'{}'",
  };
  const special: Record<string, string> = {
    'ledger.address_requests.state': "'done'",
    'ledger.addresses.status': "'assigned'",
    'ledger.transactions.stream': "'deposit'",
  };
  for (const name of await relationsWithWallet()) {
    const [{ isTable } = { isTable: false }] = await query<{ isTable: boolean }>(
      `select relkind = 'r' as "isTable" from pg_class where oid = '${name}'::regclass`,
    );
    if (!isTable) continue;
    const own = columns.filter((column) => column.name === name);
    for (const [index, wallet] of ['main', 'w2'].entries()) {
      const given = own.map(
        ({ column, type }) =>
          special[`${name}.${column}`] ??
          (column === 'seq' ? String(index + 1_000) : (values[type] ?? 'now()')),
      );
      await query(`insert into ${name} (${['wallet', ...own.map(({ column }) => column)].join(', ')})
        values (${[`'${wallet}'`, ...given].join(', ')}) on conflict do nothing`);
    }
  }
}

test('a role of one wallet sees no row of another through any relation of the ledger', async () => {
  await fillEveryTable();
  await grantReader(ledger, ofMain, 'main');
  await grantReader(ledger, ofOther, 'w2');
  await grantReader(ledger, ofAll);
  await query(`create role ${member} in role ${ofOther}`);
  const relations = await relationsWithWallet();
  expect(relations.length).toBeGreaterThan(35);
  const walletsSeenBy = async (role: string, relation: string) =>
    (
      await asRole<{ wallet: string }>(role, `select distinct wallet from ${relation} order by 1`)
    ).map(({ wallet }) => wallet);
  for (const relation of relations) {
    const all = await query<{ wallet: string }>(`select distinct wallet from ${relation}`);
    const names = all.map(({ wallet }) => wallet).sort();
    const seen = {
      main: await walletsSeenBy(ofMain, relation),
      w2: await walletsSeenBy(ofOther, relation),
      member: await walletsSeenBy(member, relation),
      all: await walletsSeenBy(ofAll, relation),
    };
    const only = (wallet: string) => names.filter((name) => name === wallet);
    expect({ relation, ...seen }).toEqual({
      relation,
      main: only('main'),
      w2: only('w2'),
      member: only('w2'),
      all: names,
    });
  }
});

test('a role of one wallet learns nothing of another by conditions that fail on a hidden value', async () => {
  await grantReader(ledger, ofMain, 'main');
  const columns = await query<{ relation: string; column: string; type: string }>(`
    select c.oid::regclass::text as relation, quote_ident(a.attname) as column, format_type(a.atttypid, null) as type
      from pg_class c join pg_attribute w on w.attrelid = c.oid and w.attname = 'wallet'
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'v')
       and format_type(a.atttypid, null) in ('text', 'numeric') order by 1, 2`);
  expect(columns.length).toBeGreaterThan(200);
  const told: string[] = [];
  for (const { relation, column, type } of columns) {
    const failing = type === 'text' ? `${column}::int = 0` : `1 / (${column} - ${column}) > 0`;
    // A visible row fails as well, so the condition excludes those.
    const statement = `select 1 from ${relation} where wallet <> 'main' and wallet is not null and ${failing}`;
    await asRole(ofMain, statement).catch((error) => told.push(`${relation}.${column}: ${error}`));
  }
  expect(told).toEqual([]);
});

test('views have a security barrier only while a role sees only one wallet', async () => {
  const barred = () =>
    query(`select from pg_class where relnamespace = 'ledger'::regnamespace and relkind = 'v'
                                  and reloptions @> '{security_barrier=true}'`);
  await grantReader(ledger, ofMain, 'main');
  expect((await barred()).length).toBeGreaterThan(20);
  await grantReader(ledger, ofMain);
  await grantReader(ledger, ofOther);
  expect(await barred()).toEqual([]);
});

test('a consumer reads the feed of all wallets although there are issuers and readers of one wallet', async () => {
  await grantConsumer(ledger, consumer);
  await grantIssuer(ledger, issuer);
  await grantReader(ledger, ofMain, 'main');
  await query(`insert into ledger.events (seq, wallet, recorded_at, kind, key, data)
    values (2001, 'main', now(), 'k', 'k', '{}'), (2002, 'w2', now(), 'k', 'k', '{}')`);
  const seen = await asRole(
    consumer,
    'select wallet, ledger.events_head() is not null as has_head from ledger.events where seq > 2000 order by seq',
  );
  expect(seen).toEqual([
    { wallet: 'main', has_head: true },
    { wallet: 'w2', has_head: true },
  ]);
});

test('every relation of the ledger names the wallet of its rows, except those without a wallet', async () => {
  const rows = await query<{ name: string }>(`
    select c.relname as name from pg_class c
     where c.relnamespace = 'ledger'::regnamespace and c.relkind in ('r', 'v')
       and not exists (select from pg_attribute w where w.attrelid = c.oid and w.attname = 'wallet')
     order by 1`);
  expect(rows.map(({ name }) => name)).toEqual([
    'accounts',
    'contract',
    'feed_consumers',
    'feed_problems',
  ]);
});

test('a restricted role sees all wallets again after a grant without a wallet', async () => {
  await grantReader(ledger, ofMain);
  const seen = await asRole<{ wallet: string }>(
    ofMain,
    'select distinct wallet from ledger.transactions order by 1',
  );
  expect(seen.map(({ wallet }) => wallet)).toEqual(['main', 'w2']);
  await grantReader(ledger, ofMain, 'main');
});

test('a reader of one wallet cannot read rows of others through the schemas of the program', async () => {
  for (const statement of [
    `select wallet from (select set_config('ledger.wallet', 'w2', true)) as s,
            lateral (select * from own.transactions where s is not null) as t`,
    'select * from engine.daily_sums',
    "select 'w2' as wallet from engine.problems_of('w2')",
    'delete from engine.reader_wallets',
  ]) {
    const outcome = await asRole<{ wallet?: string }>(ofMain, statement).catch(
      (error: Error) => error.message,
    );
    if (typeof outcome === 'string') expect(outcome).toMatch(/permission denied/);
    else expect(outcome.filter(({ wallet }) => wallet === 'w2')).toEqual([]);
  }
});
