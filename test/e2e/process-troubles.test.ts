import { Redis } from 'ioredis';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { rowsOfLedger, rowsOfService } from '../support/compare-rows.ts';
import { freePort } from '../support/free-port.ts';
import { runProgram, startProgram } from '../support/run-cli.ts';
import { startRedis } from '../support/start-redis.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

const often = { SYNC_TRANSACTIONS_EVERY: '1s', SYNC_DETAILS_EVERY: '1s' };
const completed =
  'select count(*)::int as n from ledger.transactions t where not exists (select from ledger.waiting_details w where w.order_no = t.order_no)';

test('[Q1 Q2] a process that hung while another one continued does not overwrite what the other one wrote', async () => {
  const { sandbox, env, query } = await withService({ transactions: 200, latencyMs: 1_000 });
  expect((await runProgram(['migrate'], env)).code).toBe(0);
  const asked = () => sandbox.stats.requests['/v1/wallet/balance'];
  const first = startProgram(['sync', 'balances'], env);
  // Counted when the answer is made: from here on it is on its way.
  await until(async () => asked() === 1);
  first.process.kill('SIGSTOP');
  sandbox.world.addTransactions(30, { type: 'deposit' });
  expect(await runProgram(['sync', 'balances'], env)).toMatchObject({ code: 0 });
  const amounts =
    'select slip44, symbol, contract_address, balance::text from ledger.balances order by 1, 2, 3';
  const latest = await query(amounts);
  expect(latest.length).toBeGreaterThan(0);
  first.process.kill('SIGCONT');
  expect(await first.ended).toMatchObject({ code: 0 });
  expect(await query(amounts)).toEqual(latest);
}, 60_000);

test('[Q4] a Redis that is flushed in the middle of the first reading costs nothing but a moment (on Redis)', async (context) => {
  const redis = await startRedis();
  if (!redis?.isPrivate) return context.skip('no Redis of the test’s own at hand');
  onTestFinished(() => redis.close());
  const { sandbox, env, query } = await withService({ transactions: 2_000, latencyMs: 20 });
  const daemon = startProgram(['start'], { ...env, ...often, REDIS_URL: redis.url });
  const count = async () => Number((await query(completed))[0]?.['n']);
  await daemon.line('"listening"');
  await until(async () => (await count()) > 50, 60_000);
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  await client.flushall();
  expect(await count()).toBeLessThan(2_000);
  await until(async () => (await count()) === 2_000, 240_000);
  expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 360_000);

test('[Q7] a daemon whose database, or whose Redis, is down at its start ends with 5 and says which', async () => {
  const { env } = await withService({ transactions: 10 });
  const port = await freePort();
  const [database, redis] = await Promise.all([
    runProgram(['start'], { ...env, DATABASE_URL: `postgres://me@127.0.0.1:${port}/ledger` }),
    runProgram(['start'], { ...env, REDIS_URL: `redis://127.0.0.1:${port}` }),
  ]);
  expect([database.code, redis.code]).toEqual([5, 5]);
  for (const { stderr } of [database, redis]) expect(stderr).toContain(String(port));
}, 60_000);

test('[Q12] two daemons and a backfill keep to one budget and never use a nonce twice', async () => {
  const { sandbox, env, query } = await withService(
    { transactions: 150, rate: 24 },
    { isMigrated: false },
  );
  const settings = { ...env, ...often, WALLET_MAX_RPS: '20' };
  const daemons = [0, 1].map(() => startProgram(['start'], settings));
  await Promise.all(daemons.map((daemon) => daemon.line('"listening"')));
  const backfill = await runProgram(['backfill'], settings);
  expect(backfill.code).toBe(0);
  expect(sandbox.stats).toMatchObject({ tooManyRequests: 0, noncesReused: 0 });
  expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
  for (const daemon of daemons) daemon.process.kill('SIGTERM');
  expect(await Promise.all(daemons.map(async ({ ended }) => (await ended).code))).toEqual([0, 0]);
}, 90_000);

test('[Q14] a migrator that is killed half-way leaves nothing behind, and the next one applies everything', async () => {
  const { env, query } = await withService({ transactions: 10 }, { isMigrated: false });
  const blocker = new pg.Client({ connectionString: env['DATABASE_URL'] });
  await blocker.connect();
  onTestFinished(() => blocker.end());
  // The migration waits where it creates the schema, for this transaction to end.
  await blocker.query('begin; create schema ledger');
  const killed = startProgram(['migrate'], env);
  const waiting = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and application_name like 'wallet-ledger%'`;
  await until(async () => (await query(waiting)).length > 0);
  killed.process.kill('SIGKILL');
  await killed.ended;
  await blocker.query('rollback');
  await until(async () => (await query(waiting)).length === 0);
  expect(await query(`select 1 from pg_namespace where nspname = 'ledger'`)).toEqual([]);
  const five = await Promise.all([1, 2, 3, 4, 5].map(() => runProgram(['migrate'], env)));
  expect(five.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  const applied = five.filter(({ stderr }) => stderr.includes('schema brought up to date'));
  expect(applied).toHaveLength(1);
}, 90_000);

test('[Q15] a daemon whose service hangs stops with 0 and keeps what it has; the next command finishes it', async () => {
  const { sandbox, env, query } = await withService({ transactions: 600, hangMs: 60_000 });
  const stopping = startProgram(['start'], { ...env, ...often });
  await stopping.line('"listening"');
  await until(async () => Number((await query(completed))[0]?.['n']) > 20, 60_000);
  sandbox.faults.rate = 1;
  sandbox.faults.kinds = ['hang'];
  await until(async () => sandbox.stats.faults.hang > 0);
  stopping.process.kill('SIGTERM');
  expect(await stopping.ended).toMatchObject({ code: 0, signal: null });
  const kept = Number((await query(completed))[0]?.['n']);
  expect(kept).toBeGreaterThan(20);
  sandbox.faults.rate = 0;
  expect((await runProgram(['backfill'], env)).code).toBe(0);
  expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
}, 120_000);
