import { expect, test } from 'vitest';
import { ownDatabaseUrl } from '../../src/config/link-parsers.ts';
import { silentLog } from '../../src/kernel/log.ts';
import { reachLedger } from '../../src/ledger/connection/connect-ledger.ts';
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
  'a pooler that would %s the options of a session is refused at once, with what to do',
  async (does) => {
    await expect(reach(await openPooler(connectionString, does))).rejects.toMatchObject({
      code: 'settings',
      cure: expect.stringContaining('PgBouncer: name PostgreSQL itself'),
    });
  },
);

test('timeouts of a role or a database end no session and no long transaction', async () => {
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

test('settings of a database that change how values are written and read change no session', async () => {
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

test('options and a name in the address take neither the wallet nor the name of a session away', async () => {
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
