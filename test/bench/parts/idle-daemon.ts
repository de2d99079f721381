import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Bench, BenchPart } from '../bench.ts';
import type { Figure } from '../figures.ts';
import { type BenchedQueue, startQueueBackends } from '../queue-backends.ts';
import { runProduct } from '../run-product.ts';
import { startDaemon } from '../running-daemon.ts';
import { startSandboxProcess } from '../sandbox-process.ts';

/** Cost of an idle daemon: everything is synced, and nothing changes. */
export const idleDaemonPart: BenchPart = {
  letters: 'g',
  title: 'idle daemon',
  async run(bench) {
    const figures: Figure[] = [];
    for (const queue of await startQueueBackends(bench)) {
      figures.push(...toFigures(queue, 1, await measureIdle(bench, queue, ['main'])));
    }
    const [queue] = await startQueueBackends(bench);
    if (!queue) return figures;
    const wallets = Array.from({ length: manyWallets }, (_, place) => `wallet_${place}`);
    return [...figures, ...toFigures(queue, manyWallets, await measureIdle(bench, queue, wallets))];
  },
};

const manyWallets = 20;

type Idle = { seconds: number; cpuSeconds: number; statements: number; walBytes: number };

async function measureIdle(bench: Bench, queue: BenchedQueue, wallets: string[]): Promise<Idle> {
  const database = await bench.database();
  const transactions = wallets.length === 1 ? 3_000 : 1_000;
  const sandbox = await startSandboxProcess(bench, { transactions, wallets, settleMs: 0 });
  const env = {
    ...sandbox.env,
    ...queue.env,
    DATABASE_URL: database,
    ADDRESS_POOLS: '60:20:40,195:20:40',
  };
  for (const wallet of wallets) {
    const ofWallet = wallets.length === 1 ? [] : ['--wallet', wallet];
    await runProduct(['backfill', ...ofWallet], { ...env, WALLET_MAX_RPS: 'off' });
    await runProduct(['pool', 'refill', ...ofWallet], { ...env, WALLET_MAX_RPS: 'off' });
  }
  const daemon = await startDaemon(bench, env);
  // By then every job has run more than once, and the JIT compiler has compiled the repeated code.
  await delay(bench.isQuick ? 10_000 : 120_000);
  const client = new Client({ connectionString: database });
  await client.connect();
  await client.query('create extension if not exists pg_stat_statements');
  const before = await readCounters(client);
  const startedAt = performance.now();
  const cpuBefore = daemon.cpuSeconds();
  await delay(bench.isQuick ? 15_000 : 60_000);
  const cpuSeconds = daemon.cpuSeconds() - cpuBefore;
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await readCounters(client);
  await client.end();
  await daemon.stop();
  await sandbox.close();
  await bench.dropDatabase(database);
  return {
    seconds,
    cpuSeconds,
    // Minus the first statement of `readCounters`, which the second call counts.
    statements: after.statements - before.statements - 1,
    walBytes: after.walBytes - before.walBytes,
  };
}

async function readCounters(client: Client): Promise<{ statements: number; walBytes: number }> {
  const { rows } = await client.query<{ statements: number; wal_bytes: number }>(`
    select sum(calls)::float8 as statements,
           (pg_current_wal_insert_lsn() - '0/0')::float8 as wal_bytes
      from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database())`);
  return { statements: rows[0]?.statements ?? 0, walBytes: rows[0]?.wal_bytes ?? 0 };
}

function toFigures({ name }: BenchedQueue, wallets: number, idle: Idle): Figure[] {
  const of = wallets === 1 ? '' : ` of ${wallets} wallets`;
  const { seconds, cpuSeconds, statements, walBytes } = idle;
  const figure = (what: string, unit: string, value: number): Figure => ({
    part: 'g',
    what: `idle daemon${of}, queue in ${name}: ${what}`,
    unit,
    samples: [value],
  });
  return [
    {
      ...figure('processor', '% of a core', (cpuSeconds / seconds) * 100),
      target: { of: 'value', atMost: wallets === 1 ? 1 : 2 },
      note: `queue in ${name}: ${Math.round(seconds)} s at the default intervals, two pools, status page on and not read; statements by pg_stat_statements`,
    },
    {
      ...figure('statements', 'statements/s', statements / seconds),
      target: { of: 'value', atMost: wallets === 1 ? 15 : 15 + 2 * wallets },
    },
    figure('WAL', 'KiB/min', (walBytes / 1_024 / seconds) * 60),
  ];
}
