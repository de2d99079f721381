import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { allJobs } from '../../jobs/all-jobs.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { silentLog } from '../../src/kernel/log.ts';
import { connectLedger, type Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { pruneEvents } from '../../src/ledger/feed/event-store.ts';
import { recordRun } from '../../src/ledger/reports/sync-run-store.ts';
import { createTicketSource } from '../../src/ledger/ticket-source.ts';
import { reclassifyByStates } from '../../src/ledger/transactions/final-states.ts';
import { createSigner } from '../../src/service/signing/create-signer.ts';
import { createWalletClient } from '../../src/service/wallet-client.ts';
import { runProduct } from '../bench/run-product.ts';
import { startDaemon } from '../bench/running-daemon.ts';
import { startEmbeddedServer } from '../support/embedded-server.ts';
import { startListingService } from '../support/listing-service.ts';
import { numberEvents } from '../support/number-events.ts';
import { queryOnce } from '../support/on-database.ts';
import { toolsOver } from '../support/tools-over.ts';
import { createYearWorld, stepMs, stepsPerDay, type Year } from './year-world.ts';

type Sizes = Map<string, { rows: number; bytes: number }>;
type Measured = { sizes: Sizes; databaseMiB: number; metricsMs: number; statusMs: number };

const dayMs = 86_400_000;
const monthDays = 30;
/** Passes that send a request per day, with the default intervals. */
const passesPerDay = 15_000;
const growthMax = 1.3;
const looks = 9;
/** Pages show a status of up to 5 s ago. */
const lookEveryMs = 5_500;
const leastBytes = 2 * 1024 * 1024;
const leastMs = 5;
const secret = '6d59626f7ffffa64f8a6b36e9fcc9551b54a1dfebb973606d24578adecebfbaf';
const retention = { runsMs: 30 * dayMs, resolvedMs: 365 * dayMs };
/**
 * A pass deletes at most 1,000 rows that are older than the retention; this number of passes deletes those of a day.
 */
const deletingPasses = Math.ceil(passesPerDay / 1_000);
/** Tables with a row for each fact, kept for ever or for a year. */
const growing = new Set([
  ...['transactions', 'transaction_changes', 'balance_changes', 'reconciliation_runs', 'addresses'],
  ...['daily_sums', 'coverage', 'coin_changes', 'stream_proofs'],
]);

/** Plays a year in a fresh database; returns the tables and figures with unwanted growth. */
export async function liveOneYear(year: Year, folder: string): Promise<string[]> {
  const startMs = Date.now() - year.days * dayMs;
  const setClock = (atMs: number) => {
    const offset = atMs - (performance.timeOrigin + performance.now());
    writeFileSync(join(folder, 'clock-offset'), `${offset < 0 ? '' : '+'}${offset / 1_000}\n`);
  };
  setClock(startMs);
  const clockEnv = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => /^(LD_PRELOAD|.*FAKE)/.test(name)),
  ) as Record<string, string>;
  const server = await startEmbeddedServer(
    ['fsync=off', 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_wal_size=4GB'],
    clockEnv,
  );
  const service = await startListingService();
  const ledger = connectLedger({ connectionString: server.url, poolSize: 8, log: silentLog });
  try {
    await migrateLedger(ledger);
    await reclassifyByStates(ledger, {
      final: new Set(['success']),
      success: new Set(['success']),
    });
    const world = createYearWorld(year, startMs, service);
    const context = await contextOver(ledger, service.baseUrl);
    const { signal } = new AbortController();
    const env = {
      ...clockEnv,
      DATABASE_URL: server.url,
      WALLET_BASE_URL: service.baseUrl,
      WALLET_API_KEY: 'year',
      WALLET_API_SECRET: secret,
      WALLET_SIGNER: 'params-hmac',
      WALLET_MAX_RPS: 'off',
      WALLET_FINAL_STATES: 'success',
    };
    let afterMonth: Measured | null = null;
    for (let step = 1; step <= year.days * stepsPerDay; step += 1) {
      const atMs = startMs + step * stepMs;
      setClock(atMs);
      world.growUntil(step);
      service.asked.length = 0;
      for (const job of allJobs) await job.run(context, signal);
      await numberEvents(ledger.db);
      if (step % stepsPerDay !== 0) continue;
      await addPasses(ledger);
      while (await pruneEvents(ledger.db));
      // Autovacuum gives up a worker that has not started after a minute; with this clock that is every worker.
      await queryOnce(server.url, 'vacuum (analyze)');
      const day = step / stepsPerDay;
      if (day % 30 === 0) process.stderr.write(`day ${day}\n`);
      if (day === monthDays) afterMonth = await measure(ledger, env);
    }
    const atEnd = await measure(ledger, env);
    if (!afterMonth) throw new Error(`a year of fewer than ${monthDays} days`);
    return [...describe(afterMonth, atEnd), ...(await missing(ledger, world.count()))];
  } finally {
    await ledger.close();
    await service.close();
    await server.close();
  }
}

async function contextOver(ledger: Ledger, baseUrl: string) {
  const client = createWalletClient({
    baseUrl,
    signer: await createSigner({ signer: 'params-hmac', apiKey: 'year', apiSecret: secret }),
    tickets: createTicketSource(ledger, { maxRps: null, nonceUnit: 'ms' }),
    paramNames: { page: 'pageNo', size: 'pageSize', chain: 'slip44', type: 'type' },
    concurrency: 8,
    timeoutMs: 30_000,
    log: silentLog,
    clock: systemClock,
    random: Math.random,
  });
  return toolsOver(
    { ledger, client },
    {
      auditShare: 1 / (7 * stepsPerDay),
      chains: [60],
      retention,
    },
  );
}

/** The remaining passes of the day, which found nothing. */
async function addPasses(ledger: Ledger): Promise<void> {
  await ledger.pool.query(
    `insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated)
     select 'transactions', n.at, n.at, 'done', 2, 200, 0, 0
       from generate_series(now() - interval '1 day', now(), interval '1 day' / $1) as n (at)`,
    [passesPerDay],
  );
  const pass = { durationMs: 0, requests: 0, rowsSeen: 0, rowsInserted: 0, rowsUpdated: 0 };
  for (let deleted = 0; deleted < deletingPasses; deleted += 1)
    await recordRun(ledger.db, { ...pass, job: 'coins', outcome: 'done', error: null }, retention);
}

async function measure(ledger: Ledger, env: Record<string, string>): Promise<Measured> {
  await ledger.pool.query('checkpoint');
  const statusTimes: number[] = [];
  const metricsTimes: number[] = [];
  const closers: (() => unknown)[] = [];
  const daemon = await startDaemon({ onEnd: (closer: () => unknown) => closers.push(closer) }, env);
  try {
    for (let look = 0; look < looks; look += 1) {
      await delay(lookEveryMs);
      const before = performance.now();
      const metrics = await fetch(`${daemon.url}/metrics`);
      if (!(await metrics.text()).includes('wallet_ledger_up 1'))
        throw new Error('/metrics: not up');
      metricsTimes.push(performance.now() - before);
    }
    for (let look = 0; look < looks; look += 1)
      statusTimes.push((await runProduct(['status', '--json'], env)).seconds * 1_000);
  } finally {
    for (const close of closers) await close();
  }
  const { rows } = await ledger.pool.query<{ name: string; rows: string; bytes: string }>(
    `select c.relname as name, pg_total_relation_size(c.oid) as bytes,
            (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %s', c.oid::regclass), true, true, '')))[1]::text as rows
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('ledger', 'own', 'engine') and c.relkind = 'r'`,
  );
  const [size] = (await ledger.pool.query('select pg_database_size(current_database()) as bytes'))
    .rows;
  return {
    sizes: new Map(
      rows.map((row) => [row.name, { rows: Number(row.rows), bytes: Number(row.bytes) }]),
    ),
    databaseMiB: Math.round(Number(size.bytes) / 1024 / 1024),
    metricsMs: median(metricsTimes),
    statusMs: median(statusTimes),
  };
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

/** Prints both measurements; returns the figures that have grown beyond the kept rows. */
function describe(month: Measured, end: Measured): string[] {
  const findings: string[] = [];
  const line = (name: string, before: number, after: number, unit: string) =>
    process.stdout.write(`${name}: ${before} ${unit} after a month, ${after} ${unit} at the end\n`);
  line('database', month.databaseMiB, end.databaseMiB, 'MiB');
  for (const name of ['metricsMs', 'statusMs'] as const) {
    line(name, Math.round(month[name]), Math.round(end[name]), 'ms');
    if (end[name] > growthMax * month[name] && end[name] - month[name] > leastMs)
      findings.push(name);
  }
  for (const [name, after] of end.sizes) {
    if (after.bytes < leastBytes) continue;
    const before = month.sizes.get(name) ?? { rows: 0, bytes: 0 };
    line(name, before.rows, after.rows, 'rows');
    line(name, before.bytes, after.bytes, 'bytes');
    const hasMoreRows = after.rows > growthMax * before.rows;
    const allowed = hasMoreRows ? (growthMax * after.rows) / before.rows : growthMax;
    if (hasMoreRows && !growing.has(name)) findings.push(`rows of ${name}`);
    else if (after.bytes > allowed * before.bytes) findings.push(`bytes of ${name}`);
  }
  return findings;
}

/** A year in which nothing was stored would show no growth. */
async function missing(ledger: Ledger, count: number): Promise<string[]> {
  const { rows } = await ledger.pool.query(
    `select (select count(*) from ledger.transactions where is_final)::int as final,
            (select count(*) from ledger.streams where not is_complete and name in ('deposit', 'withdraw'))::int as unproven,
            (select count(*) from ledger.reconciliation where not is_explained)::int as unexplained`,
  );
  const { final, unproven, unexplained } = rows[0];
  process.stdout.write(`${count} transactions, ${final} final; ${unproven} lists not proven\n`);
  return final >= count * 0.99 && unproven === 0 && unexplained === 0
    ? []
    : [`a ledger that is not whole: ${JSON.stringify(rows[0])}`];
}
