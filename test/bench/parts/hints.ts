import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { fraction } from '../../../src/sandbox/seeded-hash.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { type Figure, median, percentile } from '../figures.ts';
import { runProduct } from '../run-product.ts';
import { type RunningDaemon, startDaemon } from '../running-daemon.ts';
import { type SandboxProcess, startSandboxProcess } from '../sandbox-process.ts';
import type { Flood, FloodAnswer } from '../send-hints.ts';

const hintToken = 'hints-of-the-bench';
const everySeconds = 60;
const pollMs = 5;
const giveUpMs = 30_000;
const floodRps = 10_000;
const sampleMs = 500;
const seed = 11;
const sender = fileURLToPath(new URL('../send-hints.ts', import.meta.url));

/** Time from a hint until the ledger shows the row, and the cost of forged hints. */
export const hintsPart: BenchPart = {
  letters: 'o',
  title: 'hints at an interval of 60 s, and a flood of forged ones',
  async run(bench) {
    const database = await bench.database();
    const sandbox = await startSandboxProcess(bench, { transactions: 2_000 });
    const env = { ...sandbox.env, DATABASE_URL: database, WALLET_MAX_RPS: '50' };
    await runProduct(['backfill', '--no-details'], { ...env, WALLET_MAX_RPS: 'off' });
    const daemon = await startDaemon(bench, {
      ...env,
      HINT_TOKEN: hintToken,
      SYNC_TRANSACTIONS_EVERY: `${everySeconds}s`,
      SYNC_DETAILS_EVERY: 'off',
    });
    const client = new Client({ connectionString: database });
    await client.connect();
    await delay(5_000);
    const hintUrl = `${daemon.url}/hint/${hintToken}`;
    const delays = await measureDelays(bench, { sandbox, client, hintUrl });
    const flood = await measureFlood(bench, { sandbox, daemon, hintUrl });
    await client.end();
    await daemon.stop();
    await sandbox.close();
    await bench.dropDatabase(database);
    return [...delayFigures(delays), ...floodFigures(flood)];
  },
};

async function measureDelays(
  bench: Bench,
  wallet: { sandbox: SandboxProcess; client: Client; hintUrl: string },
): Promise<number[]> {
  const delays: number[] = [];
  const count = bench.isQuick ? 12 : 100;
  for (let index = 0; index < count; index += 1) {
    // Longer than the minimum of one second between reads, at any phase of the daemon's intervals.
    await delay(1_200 + 300 * fraction(seed, 0, index));
    delays.push(await delayOfOne(wallet));
  }
  return delays;
}

/** Milliseconds from the hint to the first read that finds the row. */
async function delayOfOne(wallet: {
  sandbox: SandboxProcess;
  client: Client;
  hintUrl: string;
}): Promise<number> {
  const orderNo = await wallet.sandbox.addTransaction();
  const hintedAt = performance.now();
  await fetch(wallet.hintUrl, { method: 'POST', body: JSON.stringify({ orderNo }) });
  while (performance.now() < hintedAt + giveUpMs) {
    const { rowCount } = await wallet.client.query({
      name: 'hinted',
      text: 'select from ledger.transactions where order_no = $1',
      values: [orderNo],
    });
    if (rowCount) return performance.now() - hintedAt;
    await delay(pollMs);
  }
  throw new Error(`${orderNo} did not reach the ledger`);
}

type FloodFigures = FloodAnswer & {
  seconds: number;
  /** Requests for the list that was requested more often. */
  listRequests: number;
  details: number;
  residentMiB: number[];
};

async function measureFlood(
  bench: Bench,
  { sandbox, daemon, hintUrl }: { sandbox: SandboxProcess; daemon: RunningDaemon; hintUrl: string },
): Promise<FloodFigures> {
  const seconds = bench.isQuick ? 15 : 60;
  const before = await sandbox.stats();
  const residentMiB: number[] = [];
  const sampling = setInterval(() => residentMiB.push(residentOf(daemon.pid)), sampleMs);
  const answer = await send({ url: hintUrl, rps: floodRps, seconds });
  clearInterval(sampling);
  const after = await sandbox.stats();
  const asked = (list: 'deposit' | 'withdraw') =>
    after.listRequests[list] - before.listRequests[list];
  const info = '/v1/transaction/info';
  return {
    ...answer,
    seconds,
    listRequests: Math.max(asked('deposit'), asked('withdraw')),
    details: after.requests[info] - before.requests[info],
    residentMiB,
  };
}

async function send(flood: Flood): Promise<FloodAnswer> {
  const child = fork(sender, [JSON.stringify(flood)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [answer] = await once(child, 'message');
  return answer as FloodAnswer;
}

function residentOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
}

function figureOf(what: string, unit: string, value: number): Figure {
  return { part: 'o', what, unit, samples: [value] };
}

function delayFigures(delays: number[]): Figure[] {
  const note = `${delays.length} hints over HTTP, 1.2 to 1.5 s apart, SYNC_TRANSACTIONS_EVERY=60s, ${Math.round(Math.min(...delays))} to ${Math.round(Math.max(...delays))} ms`;
  return [
    {
      ...figureOf('hint until visible: p50', 'ms', percentile(delays, 0.5)),
      target: { of: 'value', atMost: 150 },
      note,
    },
    {
      ...figureOf('hint until visible: p99', 'ms', percentile(delays, 0.99)),
      target: { of: 'value', atMost: 800 },
    },
  ];
}

function floodFigures(flood: FloodFigures): Figure[] {
  const { accepted, others, maxMs, seconds, listRequests, details, residentMiB } = flood;
  const third = Math.floor(residentMiB.length / 3);
  // The regular passes of the daemon do not count as cost of hints.
  const ownPasses = Math.ceil(seconds / everySeconds);
  return [
    {
      ...figureOf('forged hints that were answered', 'hints/s', accepted / seconds),
      note: `${floodRps} a second were due for ${seconds} s; ${others} other answers, the latest after ${Math.round(maxMs)} ms; ${details} detail requests`,
    },
    {
      ...figureOf(
        'list requests per list, beyond one a minute',
        'requests/s',
        (listRequests - ownPasses) / seconds,
      ),
      target: { of: 'value', atMost: 1 },
    },
    {
      ...figureOf(
        'memory in the last third of the flood',
        'MiB',
        median(residentMiB.slice(-third)),
      ),
      floor: {
        what: 'in its second third',
        samples: [median(residentMiB.slice(third, 2 * third))],
      },
      target: { of: 'ratio', atMost: 1.1 },
      note: `memory of the daemon: ${Math.round(Math.min(...residentMiB))} to ${Math.round(Math.max(...residentMiB))} MiB`,
    },
  ];
}
