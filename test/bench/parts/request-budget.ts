import { setTimeout as delay } from 'node:timers/promises';
import { queryOnce } from '../../support/on-database.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { busiestWindow } from '../busiest-window.ts';
import type { Figure } from '../figures.ts';
import { runProduct } from '../run-product.ts';
import { onlyDetails, type RunningDaemon, startDaemon } from '../running-daemon.ts';
import { type Arrival, type SandboxProcess, startSandboxProcess } from '../sandbox-process.ts';

const windowMs = 10_000;
const latencyMs = 100;
const spreadMs = 60_000;

/** One backfill with a budget: measures that it is used up, kept, and never refused by the service. */
export const requestBudgetPart: BenchPart = {
  letters: 'c',
  title: 'request budget of one process',
  async run(bench) {
    const budget = 50;
    const runs: BudgetRun[] = [];
    for (let run = 0; run < bench.runs; run += 1) runs.push(await backfillOn(bench, budget));
    const toFigure = (what: string, unit: string, pick: (run: BudgetRun) => number): Figure => ({
      part: 'c',
      what,
      unit,
      samples: runs.map(pick),
    });
    return [
      {
        ...toFigure('backfill, details', 'requests/s', (run) => run.perSecond),
        floor: { what: 'WALLET_MAX_RPS', samples: [budget] },
        target: { of: 'ratio', atLeast: 0.97 },
        note: 'from the first detail asked for to the last; the service answers after 100 ms',
      },
      {
        ...toFigure('backfill, first request to last', 'requests/s', (run) => run.perSecondOfAll),
        floor: { what: 'WALLET_MAX_RPS', samples: [budget] },
        note: 'with what must wait for an answer: the first pages of a list, balances and coins',
      },
      {
        ...toFigure('backfill, most requests in 10 s', 'requests', (run) => run.busiest),
        ...windowBounds(budget),
      },
      {
        ...toFigure('backfill, 429 answers', 'answers', (run) => run.tooMany),
        target: { of: 'value', atMost: 0 },
        note: 'of a service that refuses above 50 requests/s (a bucket of one second)',
      },
    ];
  },
};

/** Several daemons on one database and one budget, and without any. */
export const sharedBudgetPart: BenchPart = {
  letters: 'j',
  title: 'one request budget over several daemons',
  async run(bench) {
    const budget = 100;
    const rows = bench.isQuick ? 4_000 : 32_000;
    const database = await bench.database();
    const sandbox = await startSandboxProcess(bench, {
      transactions: rows,
      latencyMs,
      settleMs: 0,
    });
    const env = { ...sandbox.env, DATABASE_URL: database, WALLET_CONCURRENCY: '8' };
    await runProduct(['backfill', '--no-details'], { ...env, WALLET_MAX_RPS: 'off' });
    const counts = bench.isQuick ? [4] : [1, 2, 4];
    const measure = async (maxRps: string) => {
      const runs: DaemonsRun[] = [];
      for (const count of counts) {
        runs.push(await runDaemons(bench, sandbox, { ...env, WALLET_MAX_RPS: maxRps }, count));
      }
      return runs;
    };
    const budgeted = await measure(String(budget));
    const free = bench.isQuick ? [] : await measure('off');
    await assertWorkIsLeft(database);
    await sandbox.close();
    await bench.dropDatabase(database);
    return [...budgetFigures(budget, budgeted), ...scalingFigures(free)];
  },
};

type BudgetRun = {
  /** While there is work that waits for nothing: details. */
  perSecond: number;
  perSecondOfAll: number;
  busiest: number;
  tooMany: number;
};

const detailPath = '/api/v1/transaction/info';

async function backfillOn(bench: Bench, budget: number): Promise<BudgetRun> {
  const database = await bench.database();
  const sandbox = await startSandboxProcess(bench, {
    transactions: bench.isQuick ? 550 : 1_500,
    latencyMs,
    rate: budget,
    settleMs: 0,
  });
  await runProduct(['backfill'], {
    ...sandbox.env,
    DATABASE_URL: database,
    WALLET_MAX_RPS: String(budget),
  });
  const arrivals = await sandbox.takeArrivals();
  const { tooManyRequests } = await sandbox.stats();
  await sandbox.close();
  await bench.dropDatabase(database);
  const all = paceOf(arrivals);
  return {
    perSecond: paceOf(arrivals.filter(({ path }) => path === detailPath)).perSecond,
    perSecondOfAll: all.perSecond,
    busiest: all.busiest,
    tooMany: tooManyRequests,
  };
}

type DaemonsRun = {
  count: number;
  perSecond: number;
  busiest: number;
  /** From the start of the last daemon until each had sent its first request. */
  spreadSeconds: number;
};

/** Counts the requests of some seconds in which all daemons are at work. */
async function runDaemons(
  bench: Bench,
  sandbox: SandboxProcess,
  env: Record<string, string>,
  count: number,
): Promise<DaemonsRun> {
  const daemons = await Promise.all(
    Array.from({ length: count }, () => startDaemon(bench, { ...env, ...onlyDetails })),
  );
  const startedAt = performance.now();
  await Promise.all(daemons.map(untilAtWork));
  const spreadSeconds = (performance.now() - startedAt) / 1_000;
  await sandbox.takeArrivals();
  await delay(bench.isQuick ? 1.1 * windowMs : 2 * windowMs);
  const arrivals = await sandbox.takeArrivals();
  await Promise.all(daemons.map((daemon) => daemon.stop()));
  return { count, ...paceOf(arrivals), spreadSeconds };
}

/** Daemons without work would have been measured as slow ones. */
async function assertWorkIsLeft(connectionString: string): Promise<void> {
  const rows = await queryOnce(connectionString, 'select from ledger.waiting_details limit 1');
  if (rows.length === 0) throw new Error('the backlog is used up: the figures mean nothing');
}

async function untilAtWork(daemon: RunningDaemon): Promise<void> {
  const giveUpAt = performance.now() + spreadMs;
  const sent = /service_requests_total\{[^}]*outcome="success"[^}]*\} [1-9]/;
  while (!sent.test(await (await fetch(`${daemon.url}/metrics`)).text())) {
    if (performance.now() > giveUpAt) throw new Error('a daemon got no share of the work');
    await delay(250);
  }
}

function paceOf(arrivals: Arrival[]) {
  const sorted = arrivals.map(({ atMs }) => atMs).sort((a, b) => a - b);
  const seconds = ((sorted.at(-1) ?? 0) - (sorted[0] ?? 0)) / 1_000;
  return { perSecond: (sorted.length - 1) / seconds, busiest: busiestWindow(sorted, windowMs) };
}

function windowBounds(budget: number): Pick<Figure, 'floor' | 'target' | 'note'> {
  return {
    floor: { what: '10 s of the budget', samples: [(budget * windowMs) / 1_000] },
    target: { of: 'ratio', atMost: 1 },
    note: 'counted where the head of a request has been read, in any 10 s',
  };
}

function budgetFigures(budget: number, runs: DaemonsRun[]): Figure[] {
  return runs.flatMap(({ count, perSecond, busiest, spreadSeconds }): Figure[] => {
    const isMost = count === Math.max(...runs.map((run) => run.count));
    const name = `${count} daemon${count > 1 ? 's' : ''}, WALLET_MAX_RPS=${budget}`;
    return [
      {
        part: 'j',
        what: `${name}: details`,
        unit: 'requests/s',
        samples: [perSecond],
        floor: { what: 'the budget', samples: [budget] },
        ...(isMost && { target: { of: 'ratio', atLeast: 0.95 } }),
        note: `${name}: every daemon was at work after ${spreadSeconds.toFixed(1)} s`,
      },
      {
        part: 'j',
        what: `${name}: most in 10 s`,
        unit: 'requests',
        samples: [busiest],
        ...windowBounds(budget),
      },
    ];
  });
}

function scalingFigures(runs: DaemonsRun[]): Figure[] {
  const [one] = runs;
  return runs.map(({ count, perSecond }) => ({
    part: 'j',
    what: `${count} daemon${count > 1 ? 's' : ''}, no budget: details`,
    unit: 'requests/s',
    samples: [perSecond],
    ...(one && { floor: { what: '1 daemon', samples: [one.perSecond] } }),
  }));
}
