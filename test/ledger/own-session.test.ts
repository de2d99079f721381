import { PostgresConnection } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { ownDatabaseUrl } from '../../src/config/link-parsers.ts';
import { silentLog } from '../../src/kernel/log.ts';
import { type Ledger, reachLedger } from '../../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { migrateQueue } from '../../src/queue/migrate-queue.ts';
import { postgresQueueOptions } from '../../src/queue/postgres-queue-options.ts';
import { openPooler } from '../support/stripping-pooler.ts';
import { withLedger } from '../support/with-ledger.ts';

const { connectionString, connect } = await withLedger();

const reach = (address: string) => {
  const ledger = connect(ownDatabaseUrl.parse(address));
  return reachLedger(ledger, 5_000, { log: silentLog }).then(() => ledger);
};
const withParameters = (parameters: Record<string, string>) => {
  const url = new URL(connectionString);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.toString();
};

test.each(['ignore', 'refuse'] as const)(
  'a pooler that would %s the options of a session is refused at once, with the remedy',
  async (does) => {
    await expect(reach(await openPooler(connectionString, does))).rejects.toMatchObject({
      code: 'settings',
      cure: expect.stringContaining('PgBouncer: name PostgreSQL itself'),
    });
  },
);

test('timeouts of a role or a database do not end a session or a long transaction', async () => {
  const { ledger, query } = await withLedger();
  const [known] = await query<{ name: string }>(
    `select name from pg_settings where name = 'transaction_timeout'`,
  );
  const timeouts = ['idle_session_timeout', ...(known ? [known.name] : [])];
  for (const name of timeouts) {
    await query(`do $$ begin
      execute format('alter database %I set ${name} = ''9s''', current_database()); end $$`);
  }
  const client = await ledger.patient();
  const told = await client.query(
    `select name, setting from pg_settings where name = any ($1) order by name`,
    [timeouts],
  );
  await client.end();
  expect(told.rows).toEqual(timeouts.map((name) => ({ name, setting: '0' })));
});

test('database settings for the format of values do not affect a session', async () => {
  const { query, connect: connectAnew } = await withLedger();
  const odd = {
    array_nulls: 'off',
    standard_conforming_strings: 'off',
    extra_float_digits: '-15',
    statement_timeout: '1ms',
  };
  for (const [name, value] of Object.entries(odd))
    await query(`do $$ begin
      execute format('alter database %I set ${name} = %L', current_database(), '${value}'); end $$`);
  const anew = connectAnew();
  const told = await anew.pool.query(
    `select current_setting('array_nulls') as nulls, current_setting('standard_conforming_strings') as strings,
            current_setting('extra_float_digits') as digits, current_setting('statement_timeout') as timeout`,
  );
  expect(told.rows).toEqual([{ nulls: 'on', strings: 'on', digits: '1', timeout: '1min' }]);
  const { db, release } = await anew.session();
  await db.execute('select pg_sleep(0.05)');
  release();
});

/** Settings that an administrator may give a role or a database, each different from PostgreSQL's default. */
const odd = {
  TimeZone: 'Asia/Tokyo',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'sql_standard',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  quote_all_identifiers: 'on',
  search_path: 'ledger, engine, public',
  array_nulls: 'off',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
  row_security: 'off',
  exit_on_error: 'on',
  check_function_bodies: 'off',
  default_transaction_isolation: 'repeatable read',
  default_transaction_deferrable: 'on',
};

async function makeOdd(query: (statement: string) => Promise<unknown>): Promise<void> {
  for (const [name, value] of Object.entries(odd)) {
    const list = value.split(', ').map((part) => `'${part}'`);
    const assigned = name === 'search_path' ? list.join(', ') : `'${value}'`;
    await query(`do $do$ begin
      execute format('alter database %I set ${name} = ', current_database()) || $$${assigned}$$; end $do$`);
  }
}

async function definitionsIn(of: Ledger): Promise<unknown[]> {
  const { rows } = await of.pool.query(
    `select c.oid::regclass::text as name, pg_get_viewdef(c.oid) as definition
       from pg_class c where c.relkind = 'v' and c.relnamespace::regnamespace::text in ('ledger', 'engine', 'own')
      union all
     select p.oid::regprocedure::text, pg_get_functiondef(p.oid)
       from pg_proc p where p.pronamespace::regnamespace::text in ('ledger', 'engine', 'own', 'queue')
      order by 1`,
  );
  return rows;
}

test('settings of a database do not affect the results of the migrations', async () => {
  const usual = await withLedger();
  await migrateQueue(usual.connectionString);
  const fresh = await withLedger({ isMigrated: false });
  await makeOdd(fresh.query);
  const anew = fresh.connect();
  await migrateLedger(anew);
  await migrateQueue(fresh.connectionString);
  expect(await definitionsIn(anew)).toEqual(await definitionsIn(usual.ledger));
}, 60_000);

test('settings of a database do not affect the sessions of the queue', async () => {
  const { connectionString: address, query } = await withLedger();
  await makeOdd(query);
  const { pool } = new PostgresConnection(postgresQueueOptions(address, 1));
  onTestFinished(() => pool.end());
  const told = await pool.query(
    `select current_setting('default_transaction_isolation') as isolation, current_setting('search_path') as path,
            null = null as equal`,
  );
  expect(told.rows).toEqual([{ isolation: 'read committed', path: '"queue"', equal: null }]);
});

test('options and a name in the database URL do not replace the wallet or the name of a session', async () => {
  const ledger = await reach(
    withParameters({
      options: '-c work_mem=7MB -c ledger.wallet=other',
      application_name: 'books',
    }),
  );
  const second = ledger.forWallet('second');
  const told = (each = ledger) =>
    each.pool.query(`select current_setting('work_mem') as memory, current_setting('jit') as jit,
      engine.wallet() as wallet, current_setting('application_name') as name`);
  const own = { memory: '7MB', jit: 'off', name: ledger.instance };
  expect((await told()).rows).toEqual([{ ...own, wallet: 'main' }]);
  expect((await told(second)).rows).toEqual([{ ...own, wallet: 'second' }]);
  const alone = await ledger.patient();
  expect((await alone.query('select engine.wallet() as wallet')).rows).toEqual([
    { wallet: 'main' },
  ]);
  await alone.end();
});
