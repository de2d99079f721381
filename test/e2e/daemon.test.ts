import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { rowsOfLedger, rowsOfService } from '../support/compare-rows.ts';
import { startProgram } from '../support/run-cli.ts';
import { startRedis } from '../support/start-redis.ts';
import { until } from '../support/until.ts';
import { withService } from '../support/with-service.ts';

/** The port in the log line `listening`. */
function portOf(line: string): number {
  return (JSON.parse(line) as { port: number }).port;
}

test('[Q12] two daemons on one database: every arrival within 2 s at the median, nothing doubled, both end with 0', async () => {
  const { sandbox, env, query } = await withService({
    transactions: 1_000,
    arrivalsPerSecond: 20,
    settleMs: 3_000,
  });
  const daemons = [0, 1].map(() =>
    startProgram(['start'], { ...env, SYNC_TRANSACTIONS_EVERY: '1s', SYNC_DETAILS_EVERY: '1s' }),
  );
  await Promise.all(daemons.map((daemon) => daemon.line('"listening"')));
  await until(
    async () => (await query('select 1 from ledger.streams where is_complete')).length === 2,
  );
  const startedAt = Date.now();
  await until(async () => {
    const [row] = await query(
      `select count(*)::int as n from ledger.transactions where occurred_at > to_timestamp(${startedAt / 1_000})`,
    );
    return Number(row?.['n']) >= 150;
  }, 30_000);
  const [freshness] = await query(`
    select percentile_cont(0.5) within group (order by extract(epoch from first_seen_at - occurred_at)) as median
      from ledger.transactions where occurred_at > to_timestamp(${startedAt / 1_000})`);
  expect(Number(freshness?.['median'])).toBeLessThan(2);
  for (const daemon of daemons) daemon.process.kill('SIGTERM');
  const ends = await Promise.all(daemons.map((daemon) => daemon.ended));
  expect(ends.map(({ code }) => code)).toEqual([0, 0]);
  const listed = new Set(rowsOfService(sandbox).map((row) => row['orderNo']));
  expect((await rowsOfLedger(query)).filter((row) => !listed.has(row['orderNo']))).toEqual([]);
}, 90_000);

test('a daemon brings an empty ledger up to the service, details included, and says when it is ready', async () => {
  const { sandbox, env, query } = await withService({ transactions: 800 });
  const daemon = startProgram(['start'], {
    ...env,
    SYNC_TRANSACTIONS_EVERY: '1s',
    SYNC_DETAILS_EVERY: '1s',
  });
  const port = portOf(await daemon.line('"listening"'));
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  expect((await get('/healthz')).status).toBe(200);
  await until(async () => (await get('/readyz')).status === 200);
  await until(async () => {
    const [row] = await query(
      'select count(*)::int as done from ledger.transactions t where not exists (select from ledger.waiting_details w where w.order_no = t.order_no)',
    );
    return Number(row?.['done']) === 800;
  });
  expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
  expect(await (await get('/')).text()).toContain('800');
  expect(await (await get('/metrics')).text()).toMatch(
    /wallet_ledger_service_requests_total\{[^}]+\} \d+/,
  );
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 60_000);

test('with the pools of docker-compose.yml and a sandbox as it starts one, nothing needs a person', async () => {
  const compose = readFileSync('docker-compose.yml', 'utf8');
  const [, pools = ''] = /ADDRESS_POOLS: "(.*)"/.exec(compose) ?? [];
  const { env, query } = await withService({
    transactions: 200,
    arrivalsPerSecond: 30,
    paysKnownOnly: compose.includes('--known-only'),
  });
  const often = { SYNC_TRANSACTIONS_EVERY: '1s', SYNC_DETAILS_EVERY: '1s', WALLET_MAX_RPS: 'off' };
  const daemon = startProgram(['start'], { ...env, ...often, ADDRESS_POOLS: pools });
  await daemon.line('"listening"');
  const available = "select distinct slip44 from ledger.addresses where status = 'available'";
  await until(async () => {
    const [row] = await query('select count(*)::int as n from ledger.unexpected_deposits');
    const filled = await query(available);
    return Number(row?.['n']) >= 150 && filled.length === pools.split(',').length;
  }, 60_000);
  expect(
    await query('select order_no from ledger.unexpected_deposits where is_suspicious'),
  ).toEqual([]);
  expect(await query('select name from ledger.problems')).toEqual([]);
  daemon.process.kill('SIGTERM');
}, 90_000);

test('[Q3] a daemon killed outright leaves nothing that another one does not finish', async () => {
  const { sandbox, env, query } = await withService({ transactions: 3_000 });
  const settings = { ...env, SYNC_TRANSACTIONS_EVERY: '1s', SYNC_DETAILS_EVERY: '1s' };
  const first = startProgram(['start'], settings);
  await until(async () => {
    const rows = await query(
      `select 1 from pg_tables where schemaname = 'ledger' and tablename = 'transactions'`,
    );
    if (rows.length === 0) return false;
    const [row] = await query(
      'select count(*)::int as n from ledger.transactions where detail_synced_at is not null',
    );
    return Number(row?.['n']) > 100;
  });
  first.process.kill('SIGKILL');
  await first.ended;
  const second = startProgram(['start'], settings);
  await until(async () => {
    const [row] = await query(
      'select count(*)::int as done from ledger.transactions t where not exists (select from ledger.waiting_details w where w.order_no = t.order_no)',
    );
    return Number(row?.['done']) === 3_000;
    // The rows and jobs that the killed one held come back when their leases end.
  }, 150_000);
  expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
  second.process.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
}, 240_000);

test('[Q4] on Redis the daemon works the same, and a flushed Redis costs it nothing but a moment', async (context) => {
  const redis = await startRedis();
  if (!redis) return context.skip('no Redis at hand');
  onTestFinished(() => redis.close());
  const { sandbox, env, query } = await withService({ transactions: 300 });
  const daemon = startProgram(['start'], {
    ...env,
    REDIS_URL: redis.url,
    SYNC_TRANSACTIONS_EVERY: '1s',
    SYNC_DETAILS_EVERY: '1s',
  });
  const isInStep = async () => {
    const [row] = await query(
      'select count(*)::int as done from ledger.transactions t where not exists (select from ledger.waiting_details w where w.order_no = t.order_no)',
    );
    return Number(row?.['done']) === sandbox.world.transactions().length;
  };
  await until(isInStep);
  if (redis.isPrivate) await flush(redis.url);
  sandbox.world.addTransactions(5, { type: 'deposit' });
  await until(isInStep, 60_000);
  expect(await rowsOfLedger(query)).toEqual(rowsOfService(sandbox));
  daemon.process.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
}, 90_000);

async function flush(url: string): Promise<void> {
  const client = new Redis(url);
  await client.flushall();
  client.disconnect();
}
