import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { fraction } from '../../../src/sandbox/seeded-hash.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { type Figure, percentile } from '../figures.ts';
import { type BenchedQueue, startQueueBackends } from '../queue-backends.ts';
import { runProduct } from '../run-product.ts';
import { startDaemon } from '../running-daemon.ts';
import { type SandboxProcess, startSandboxProcess } from '../sandbox-process.ts';

const everyMs = 1_000;
const pollMs = 5;
const settleMs = 5_000;
const giveUpMs = 30_000;
const seed = 7;
/** Shares no divisor with the numbers of arrivals, so that each place is used once. */
const placeStep = 37;

/** Time from the creation of a transaction until the ledger shows it. */
export const freshnessPart: BenchPart = {
  letters: 'f',
  title: 'freshness of single arrivals',
  async run(bench) {
    const figures: Figure[] = [];
    for (const queue of await startQueueBackends(bench)) {
      figures.push(...toFigures(queue, await measureDelays(bench, queue)));
    }
    return figures;
  },
};

const troubles: Record<string, object> = {
  'whose service hangs': { rate: 1, kinds: ['hang'] },
  'whose key is refused': { rate: 1, kinds: ['unauthorized'] },
  'whose service lies': { rate: 0, totalError: 3 },
  'whose service is 100 times slower': { rate: 0, totalError: 0, slowdown: 100 },
};

/** Time until the ledger shows the transactions of a wallet while another wallet has trouble. */
export const besideTroublePart: BenchPart = {
  letters: 'q',
  title: 'freshness beside a wallet in trouble',
  async run(bench) {
    const figures: Figure[] = [];
    for (const [trouble, faults] of Object.entries(troubles)) {
      const [queue] = await startQueueBackends(bench);
      if (!queue) continue;
      const delays = await measureDelays(bench, queue, faults);
      const [, p99] = toFigures(queue, delays);
      if (p99) figures.push({ ...p99, part: 'q', what: `beside a wallet ${trouble}: p99` });
    }
    return figures;
  },
};

async function measureDelays(
  bench: Bench,
  queue: BenchedQueue,
  faultsBeside: object | null = null,
): Promise<number[]> {
  const database = await bench.database();
  const wallets = faultsBeside ? ['sound', 'troubled'] : ['main'];
  const sandbox = await startSandboxProcess(bench, { transactions: 2_000, wallets });
  const env = { ...sandbox.env, DATABASE_URL: database, WALLET_MAX_RPS: '50' };
  for (const wallet of wallets) {
    const named = faultsBeside ? ['--wallet', wallet] : [];
    await runProduct(['backfill', '--no-details', ...named], { ...env, WALLET_MAX_RPS: 'off' });
  }
  if (faultsBeside) await sandbox.setFaults('troubled', faultsBeside);
  const daemon = await startDaemon(bench, {
    ...env,
    ...queue.env,
    SYNC_TRANSACTIONS_EVERY: `${everyMs}ms`,
    SYNC_DETAILS_EVERY: 'off',
  });
  const client = new Client({ connectionString: database });
  await client.connect();
  await delay(settleMs);
  const delays: number[] = [];
  const arrivals = bench.isQuick ? 10 : 60;
  for (let index = 0; index < arrivals; index += 1) {
    await delay(pauseMs(index, arrivals));
    delays.push(await delayOfOne(sandbox, client));
  }
  await client.end();
  await daemon.stop();
  await sandbox.close();
  await bench.dropDatabase(database);
  return delays;
}

/**
 * Returns a random pause before the next arrival, from each equal part of the interval in turn. The previous arrival
 * was seen at the end of a pass, so the pause makes every distance from the next pass equally likely. Few arrivals are
 * then enough.
 */
function pauseMs(index: number, count: number): number {
  const place = (index * placeStep) % count;
  return ((place + fraction(seed, 0, index)) / count) * everyMs;
}

/** Milliseconds from the service's confirmation of the row to the first read that finds it. */
async function delayOfOne(sandbox: SandboxProcess, client: Client): Promise<number> {
  const orderNo = await sandbox.addTransaction();
  const arrivedAt = performance.now();
  while (performance.now() < arrivedAt + giveUpMs) {
    const { rowCount } = await client.query({
      name: 'arrived',
      text: 'select from ledger.transactions where order_no = $1',
      values: [orderNo],
    });
    if (rowCount) return performance.now() - arrivedAt;
    await delay(pollMs);
  }
  throw new Error(`${orderNo} did not reach the ledger`);
}

function toFigures({ name }: BenchedQueue, delays: number[]): Figure[] {
  const figure = (what: string, value: number, atMost: number): Figure => ({
    part: 'f',
    what: `arrival until visible, queue in ${name}: ${what}`,
    unit: 'ms',
    samples: [value],
    target: { of: 'value', atMost },
  });
  return [
    {
      ...figure('p50', percentile(delays, 0.5), 600),
      note: `queue in ${name}: ${delays.length} arrivals, SYNC_TRANSACTIONS_EVERY=1s, ${Math.round(Math.min(...delays))} to ${Math.round(Math.max(...delays))} ms`,
    },
    figure('p99', percentile(delays, 0.99), 1_300),
  ];
}
