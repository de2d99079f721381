import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { until } from '../support/until.ts';
import { type Service, withService } from '../support/with-service.ts';

const pool = { ADDRESS_POOLS: '60:100:150', POOL_SETTLE: '200ms' };

async function withPool() {
  const service = await withService({ transactions: 0, addressesPerChain: 20 });
  const env = { ...service.env, ...pool };
  // The list of the chain is known, so that the next step is the request.
  expect((await runProgram(['sync', 'addresses'], env)).code).toBe(0);
  // As the pass before has shown it.
  await service.query(
    `insert into ledger.pools (slip44, threshold, target, chain_filter, chain_param, chain_filter_at)
     values (60, 100, 150, 'works', 'slip44', now())`,
  );
  return { ...service, env };
}

/** Locks a table of the ledger until released: every writer of the table waits there. */
async function holdTable(service: Service, table: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: String(service.env['DATABASE_URL']) });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`begin; lock table ledger.${table} in access exclusive mode`);
  return async () => void (await client.query('rollback'));
}

/** Asserts that every generated address is in the pool or existed before; returns how many were generated. */
async function expectNothingLost({ sandbox, query }: Service): Promise<number> {
  const rows = await query(
    `select status, count(*)::int as n from ledger.addresses group by status order by status`,
  );
  const generated = sandbox.world.generated(60);
  expect(rows).toEqual([
    { status: 'available', n: generated },
    { status: 'foreign', n: 20 },
  ]);
  return generated;
}

const isSent = (query: Service['query']) => async () =>
  (await query(`select 1 from ledger.address_requests where state = 'sent'`)).length === 1;

test('[A2] after a kill between the answer and its storage no address is lost or generated again', async () => {
  const service = await withPool();
  const { sandbox, env, query } = service;
  // Storing an address searches for its deposits.
  const letGo = await holdTable(service, 'transactions');
  const program = startProgram(['pool', 'refill', '60'], env);
  await until(async () => sandbox.world.generated(60) === 150);
  await until(async () => (await waiting(query)).length > 0);
  program.process.kill('SIGKILL');
  await program.ended;
  await letGo();
  expect((await runProgram(['pool', 'refill', '60'], env)).code).toBe(0);
  expect(await expectNothingLost(service)).toBe(150);
  expect(sandbox.stats.requests['/v1/wallet/address']).toBe(1);
});

function names(query: Service['query']) {
  return query(`select distinct application_name from pg_stat_activity
    where datname = current_database() and application_name like 'wallet-ledger%'`);
}

function waiting(query: Service['query']) {
  return query(`select 1 from pg_stat_activity where datname = current_database()
    and wait_event_type = 'Lock' and query like '%engine.recount_use%'`);
}

test('[A3] after a kill between plan and request the request is closed without an address', async () => {
  const service = await withPool();
  const { sandbox, env, query } = service;
  const letGo = await holdTable(service, 'request_tickets');
  const program = startProgram(['pool', 'refill', '60'], env);
  await until(isSent(query));
  program.process.kill('SIGKILL');
  await program.ended;
  await letGo();
  expect(sandbox.stats.requests['/v1/wallet/address']).toBe(0);
  expect((await runProgram(['pool', 'refill', '60'], env)).code).toBe(0);
  expect(await expectNothingLost(service)).toBe(150);
  expect(await query('select state, received from ledger.address_requests order by id')).toEqual([
    { state: 'done', received: 0 },
    // Half as many after a lost answer.
    { state: 'done', received: 75 },
    { state: 'done', received: 75 },
  ]);
});

test('[A7] a process that hangs before it sends its request blocks the others, and sends it when it continues', async () => {
  const service = await withPool();
  const { sandbox, env, query } = service;
  const letGo = await holdTable(service, 'request_tickets');
  const stopped = startProgram(['pool', 'refill', '60'], env);
  await until(isSent(query));
  stopped.process.kill('SIGSTOP');
  await letGo();
  const other = startProgram(['pool', 'refill', '60'], env);
  // Its own name, and that of the stopped process next to the name with which it sends.
  await until(async () => (await names(query)).length === 3);
  expect(sandbox.world.generated(60)).toBe(0);
  stopped.process.kill('SIGCONT');
  expect((await stopped.ended).code).toBe(0);
  expect((await other.ended).code).toBe(0);
  expect(await expectNothingLost(service)).toBe(150);
  expect(sandbox.stats.requests['/v1/wallet/address']).toBe(1);
});
