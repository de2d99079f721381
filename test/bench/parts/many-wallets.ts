import { setTimeout as delay } from 'node:timers/promises';
import { queryOnce } from '../../support/on-database.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { busiestWindow } from '../busiest-window.ts';
import type { Figure } from '../figures.ts';
import { runProduct } from '../run-product.ts';
import { onlyDetails, startDaemon } from '../running-daemon.ts';
import { type SandboxProcess, startSandboxProcess } from '../sandbox-process.ts';

/** Requests per second of each wallet; together far below the capacity of one process. */
const budget = 5;
const windowMs = 10_000;
const latencyMs = 100;
const startMs = 20_000;

/** Budgets of many wallets that all have work: each is used up, and none is exceeded. */
export const manyWalletsPart: BenchPart = {
  letters: 'w',
  title: 'budgets of many wallets, all of them busy',
  async run(bench) {
    const [count, transactions] = bench.isQuick ? [5, 2_000] : [20, 50_000];
    const wallets = Array.from({ length: count }, (_, place) => `wallet_${place}`);
    const database = await bench.database();
    const sandbox = await startSandboxProcess(bench, {
      transactions,
      wallets,
      latencyMs,
      settleMs: 0,
    });
    const env = { ...sandbox.env, DATABASE_URL: database, WALLET_CONCURRENCY: '64' };
    for (const wallet of wallets) {
      const walk = ['backfill', '--no-details', '--wallet', wallet];
      await runProduct(walk, { ...env, WALLET_MAX_RPS: 'off' });
    }
    const figures: Figure[] = [];
    for (const daemons of bench.isQuick ? [1] : [1, 3]) {
      const paces = await measureDaemons(bench, sandbox, env, daemons);
      if (paces.length !== count) throw new Error(`only ${paces.length} wallets were at work`);
      figures.push(...toFigures(`${count} × ${transactions.toLocaleString('en')}`, daemons, paces));
    }
    const left = await queryOnce(
      database,
      'select count(distinct wallet)::int as wallets from ledger.waiting_details',
    );
    if (left[0]?.['wallets'] !== count) throw new Error('a backlog is used up');
    await sandbox.close();
    await bench.dropDatabase(database);
    return figures;
  },
};

type Pace = { perSecond: number; busiest: number };

async function measureDaemons(
  bench: Bench,
  sandbox: SandboxProcess,
  env: Record<string, string>,
  count: number,
): Promise<Pace[]> {
  const settings = { ...env, ...onlyDetails, WALLET_MAX_RPS: String(budget) };
  const daemons = await Promise.all(
    Array.from({ length: count }, () => startDaemon(bench, settings)),
  );
  await delay(startMs);
  await sandbox.takeArrivals();
  await delay(bench.isQuick ? 2 * windowMs : 4 * windowMs);
  const arrivals = await sandbox.takeArrivals();
  await Promise.all(daemons.map((daemon) => daemon.stop()));
  const byKey = new Map<string, number[]>();
  for (const { key, atMs } of arrivals) byKey.set(key, [...(byKey.get(key) ?? []), atMs]);
  return [...byKey.values()].map((moments) => paceOf(moments.sort((a, b) => a - b)));
}

function paceOf(sorted: number[]): Pace {
  const seconds = ((sorted.at(-1) ?? 0) - (sorted[0] ?? 0)) / 1_000;
  return { perSecond: (sorted.length - 1) / seconds, busiest: busiestWindow(sorted, windowMs) };
}

function toFigures(what: string, daemons: number, paces: Pace[]): Figure[] {
  const name = `${what} transactions, ${daemons} daemon${daemons > 1 ? 's' : ''}`;
  return [
    {
      part: 'w',
      what: `${name}: the slowest wallet`,
      unit: 'requests/s',
      samples: [Math.min(...paces.map(({ perSecond }) => perSecond))],
      floor: { what: 'its budget', samples: [budget] },
      target: { of: 'ratio', atLeast: 0.97 },
    },
    {
      part: 'w',
      what: `${name}: most requests of a wallet in 10 s`,
      unit: 'requests',
      samples: [Math.max(...paces.map(({ busiest }) => busiest))],
      floor: { what: '10 s of its budget', samples: [(budget * windowMs) / 1_000] },
      target: { of: 'ratio', atMost: 1 },
    },
  ];
}
