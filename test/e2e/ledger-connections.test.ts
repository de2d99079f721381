import { createServer } from 'node:net';
import { sql } from 'drizzle-orm';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { connectLedger } from '../../src/ledger/connection/connect-ledger.ts';
import { databaseError } from '../../src/ledger/connection/database-error.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { listen } from '../support/listen.ts';
import { recordLog } from '../support/record-log.ts';
import { startPostgres } from '../support/start-postgres.ts';
import { openTcpGate } from '../support/tcp-gate.ts';
import { listed } from '../support/transaction-rows.ts';

const database = await startPostgres({ isMigrated: true });
const { log, lines } = recordLog();
const ledger = connectLedger({ connectionString: database.connectionString, poolSize: 8, log });
await ledger.pool.query('create table public.pairs (id int primary key, n int)');
await ledger.pool.query('insert into public.pairs values (1, 0), (2, 0)');
afterAll(async () => {
  await ledger.close();
  await database.close();
});

const total = async () =>
  (await ledger.pool.query('select sum(n)::int as n from public.pairs')).rows[0]?.n;

test('[D4] of two transactions that lock each other out one is run again from the start, and both take effect once', async () => {
  const before = await total();
  let met = 0;
  let release = () => {};
  const both = new Promise<void>((resolve) => {
    release = resolve;
  });
  const add = (first: number, second: number) =>
    ledger.transaction(async (db) => {
      await db.execute(sql`update public.pairs set n = n + 1 where id = ${first}`);
      met += 1;
      if (met === 2) release();
      await both;
      await db.execute(sql`update public.pairs set n = n + 1 where id = ${second}`);
    });
  await Promise.all([add(1, 2), add(2, 1)]);
  expect(await total()).toBe(before + 4);
  expect(lines.map(({ message }) => message)).toContain(
    'transaction failed: conflict with another one; running it again',
  );
});

test('[D5] a transaction that cannot be put in order with others is run again, eight times at the most', async () => {
  const before = await total();
  let runs = 0;
  await ledger.transaction(async (db) => {
    await db.execute(sql`set transaction isolation level serializable`);
    await db.execute(sql`select * from public.pairs`);
    runs += 1;
    if (runs < 3) await ledger.pool.query('update public.pairs set n = n + 1 where id = 1');
    await db.execute(sql`update public.pairs set n = n + 1 where id = 1`);
  });
  expect([runs, (await total()) - before]).toEqual([3, 3]);
  let vain = 0;
  const hopeless = ledger.transaction(async (db) => {
    vain += 1;
    await db.execute(sql`do $$ begin raise exception 'never' using errcode = '40001'; end $$`);
  });
  await expect(hopeless).rejects.toThrow();
  expect(vain).toBe(8);
});

test('a patient connection has no timeouts, whatever the role says, and a session needs no place in the pool', async () => {
  const [{ role, name }] = (
    await ledger.pool.query('select current_user as role, current_database() as name')
  ).rows;
  await ledger.pool.query(`alter role "${role}" in database "${name}" set statement_timeout = 50`);
  onTestFinished(async () => {
    await ledger.pool.query(`alter role "${role}" in database "${name}" reset statement_timeout`);
  });
  const patient = await ledger.patient();
  await patient.query('select pg_sleep(0.2)');
  await patient.end();
  const { connectionString } = database;
  const narrow = connectLedger({ connectionString, poolSize: 1, log });
  onTestFinished(() => narrow.close());
  await narrow.transaction(async () => {
    const { db, release } = await narrow.session();
    await db.execute(sql`select 1`);
    release();
  });
});

test('[D1] a transaction whose connection is killed is run again from the start, on another one', async () => {
  const before = await total();
  let runs = 0;
  await ledger.transaction(async (db) => {
    runs += 1;
    await db.execute(sql`update public.pairs set n = n + 1 where id = 1`);
    const found = await db.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
    if (runs < 3)
      await ledger.pool.query('select pg_terminate_backend($1, 5000)', [found.rows[0]?.pid]);
    await db.execute(sql`update public.pairs set n = n + 1 where id = 2`);
  });
  expect([runs, (await total()) - before]).toEqual([3, 2]);
});

test('[D11] a batch of 10,000 rows, with more values than a statement may have parameters, is stored whole', async () => {
  const rows = Array.from({ length: 10_000 }, (_, index) =>
    listed({ orderNo: `order-${index}`, amount: `${index}.5`, symbol: 'BTC', state: 'success' }),
  );
  const stored = await ledger.transaction((db) => storeListedTransactions(db, 'deposit', rows));
  expect(stored).toEqual({ inserted: 10_000, updated: 0 });
  const { rows: sums } = await ledger.pool.query(
    'select count(*)::int as n, sum(amount)::text as sum from ledger.transactions',
  );
  expect(sums).toEqual([{ n: 10_000, sum: '50000000.0' }]);
}, 60_000);

test('a ledger that is cut closes at once, though no connection of it answers any more', async () => {
  const gate = await openTcpGate(database.connectionString);
  onTestFinished(() => gate.close());
  const silenced = connectLedger({ connectionString: gate.url, poolSize: 3, log });
  await silenced.pool.query('select 1');
  const [patient, liveness] = [await silenced.patient(), await silenced.openLiveness('alive')];
  gate.fallSilent();
  const waiting = [
    silenced.pool.query('select 1'),
    silenced.transaction((db) => db.execute(sql`select 1`)),
    patient.query('select 1'),
  ];
  const failed = Promise.all(waiting.map((each) => expect(each).rejects.toThrow()));
  silenced.cut();
  await Promise.all([failed, silenced.close()]);
  expect(liveness.isHeld()).toBe(false);
  await expect(silenced.pool.query('select 1')).rejects.toThrow(/after calling end/);
});

test('[D9] a connection without data times out, and the next statement uses another one', async () => {
  const gate = await openTcpGate(database.connectionString);
  onTestFinished(() => gate.close());
  const silenced = connectLedger({ connectionString: gate.url, poolSize: 1, log, answerMs: 1_000 });
  onTestFinished(() => silenced.close());
  await silenced.pool.query('select 1');
  gate.fallSilent();
  await expect(silenced.pool.query('select 1')).rejects.toThrow(/timeout/);
  expect((await silenced.pool.query('select 2 as n')).rows).toEqual([{ n: 2 }]);
  gate.fallSilent();
  await expect(silenced.transaction((db) => db.execute(sql`select 1`))).rejects.toThrow(/timeout/);
  expect((await silenced.pool.query('select 3 as n')).rows).toEqual([{ n: 3 }]);
}, 30_000);

test('[D9] of a server that accepts connections and says nothing, every kind of connection says that it is the server', async () => {
  const mute = createServer(() => undefined);
  onTestFinished(() => void mute.close());
  const url = new URL(database.connectionString);
  url.host = `127.0.0.1:${await listen(mute)}`;
  const silent = connectLedger({ connectionString: url.toString(), poolSize: 3, log });
  onTestFinished(() => silent.close());
  const connecting = [
    silent.pool.query('select 1'),
    silent.session(),
    silent.patient(),
    silent.openLiveness('anyone'),
  ].map((one) => one.then(String, databaseError));
  for (const error of await Promise.all(connecting)) {
    expect(error).toMatchObject({ code: 'database-unreachable' });
  }
}, 30_000);
