import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { queryOnce } from '../../support/on-database.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { busiestWindow } from '../busiest-window.ts';
import { type Figure, percentile } from '../figures.ts';
import { runProduct, startProduct } from '../run-product.ts';
import { startDaemon } from '../running-daemon.ts';
import { type SandboxProcess, startSandboxProcess } from '../sandbox-process.ts';

const budget = 50;
const latencyMs = 100;
const listEveryMs = 1_000;
const detailsEveryMs = 5_000;
const windowMs = 10_000;
const pollMs = 5;
const giveUpMs = 60_000;
const settleMs = 10_000;
/** New rows per second, which need more details than the budget has requests. */
const floodPerSecond = 70;

/** Freshness and request budget that remain during a long backlog of details, an audit and a backfill. */
export const underLoadPart: BenchPart = {
  letters: 'u',
  title: 'freshness beside a backlog of details, an audit and a backfill',
  async run(bench) {
    const transactions = bench.isQuick ? 10_000 : 100_000;
    const database = await bench.database();
    const sandbox = await startSandboxProcess(bench, { transactions, latencyMs, settleMs: 0 });
    const env = { ...sandbox.env, DATABASE_URL: database, WALLET_MAX_RPS: String(budget) };
    const unbounded = { WALLET_MAX_RPS: 'off', WALLET_CONCURRENCY: '64' };
    await runProduct(['backfill', '--no-details'], { ...env, ...unbounded });
    const daemon = await startDaemon(bench, {
      ...env,
      SYNC_TRANSACTIONS_EVERY: `${listEveryMs}ms`,
      SYNC_DETAILS_EVERY: `${detailsEveryMs}ms`,
      AUDIT_EVERY: '2s',
    });
    const backfill = await startProduct(['backfill'], env);
    bench.onEnd(() => backfill.process.kill('SIGKILL'));
    const client = new Client({ connectionString: database });
    await client.connect();
    await delay(settleMs);
    await sandbox.takeArrivals();
    const delays = await measureArrivals(sandbox, client, bench.isQuick ? 10 : 60);
    const pace = paceOf((await sandbox.takeArrivals()).map(({ atMs }) => atMs));
    const flood = await floodCurrent(bench, sandbox, client);
    await assertBacklogIsLeft(database);
    await client.end();
    backfill.process.kill('SIGINT');
    await backfill.ended;
    await daemon.stop();
    await sandbox.close();
    await bench.dropDatabase(database);
    return toFigures(transactions, delays, pace, flood);
  },
};

type Delays = { seen: number[]; final: number[] };
type Pace = { perSecond: number; busiest: number };

async function measureArrivals(
  sandbox: SandboxProcess,
  client: Client,
  count: number,
): Promise<Delays> {
  const delays: Delays = { seen: [], final: [] };
  for (let index = 0; index < count; index += 1) {
    await delay(((index * 37) % count) * (listEveryMs / count));
    const orderNo = await sandbox.addTransaction({ type: 'deposit', state: 'confirming' });
    delays.seen.push(await until(client, orderNo, 'true'));
    await sandbox.setState(orderNo, 'success');
    delays.final.push(await until(client, orderNo, 'is_final and detail_synced_at >= changed_at'));
  }
  return delays;
}

/** Milliseconds until the ledger has the row, and the condition holds for it. */
async function until(client: Client, orderNo: string, condition: string): Promise<number> {
  const from = performance.now();
  const text = `select from ledger.transactions where order_no = $1 and ${condition}`;
  while (performance.now() < from + giveUpMs) {
    const { rowCount } = await client.query({ name: condition, text, values: [orderNo] });
    if (rowCount) return performance.now() - from;
    await delay(pollMs);
  }
  throw new Error(`${orderNo} did not come to: ${condition}`);
}

/** The backlog's share of all requests while new rows need more than all of them. */
async function floodCurrent(
  bench: Bench,
  sandbox: SandboxProcess,
  client: Client,
): Promise<{ share: number; pace: Pace }> {
  const stopAt = performance.now() + (bench.isQuick ? 1.2 : 4) * windowMs;
  const add = async () => {
    for (; performance.now() < stopAt; await delay(1_000))
      await sandbox.addTransactions(floodPerSecond, { type: 'deposit', state: 'success' });
  };
  const adding = add();
  await delay(3_000);
  await sandbox.takeArrivals();
  const before = await countBacklog(client);
  await adding;
  const fetched = (await countBacklog(client)) - before;
  const arrivals = (await sandbox.takeArrivals()).map(({ atMs }) => atMs);
  return { share: fetched / arrivals.length, pace: paceOf(arrivals) };
}

async function countBacklog(client: Client): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::int as count from ledger.transactions where is_backfilled and detail_synced_at is not null',
  );
  return rows[0]?.count ?? 0;
}

function paceOf(atMs: number[]): Pace {
  const sorted = atMs.sort((a, b) => a - b);
  const seconds = ((sorted.at(-1) ?? 0) - (sorted[0] ?? 0)) / 1_000;
  return { perSecond: (sorted.length - 1) / seconds, busiest: busiestWindow(sorted, windowMs) };
}

async function assertBacklogIsLeft(connectionString: string): Promise<void> {
  const rows = await queryOnce(connectionString, 'select from ledger.waiting_details limit 1');
  if (rows.length === 0) throw new Error('the backlog is used up: the figures mean nothing');
}

function toFigures(
  transactions: number,
  { seen, final }: Delays,
  pace: Pace,
  flood: { share: number; pace: Pace },
): Figure[] {
  const part = 'u';
  const beside = `beside a backlog of ${transactions.toLocaleString('en')} details`;
  const atMost = (what: string, value: number, most: number): Figure => ({
    part,
    what: `${beside}: ${what}`,
    unit: 'ms',
    samples: [value],
    target: { of: 'value', atMost: most },
  });
  return [
    atMost('arrival until visible, p99', percentile(seen, 0.99), listEveryMs + 300),
    atMost('final until final in the ledger, p99', percentile(final, 0.99), 2 * detailsEveryMs),
    {
      part,
      what: `${beside}: budget used`,
      unit: 'requests/s',
      samples: [pace.perSecond],
      floor: { what: 'WALLET_MAX_RPS', samples: [budget] },
      target: { of: 'ratio', atLeast: 0.97 },
      note: `a daemon with an audit every 2 s and a backfill; ${Math.round(percentile(seen, 0.5))} and ${Math.round(percentile(final, 0.5))} ms at the median`,
    },
    {
      part,
      what: `${beside}: most requests in 10 s`,
      unit: 'requests',
      samples: [Math.max(pace.busiest, flood.pace.busiest)],
      floor: { what: '10 s of the budget', samples: [(budget * windowMs) / 1_000] },
      target: { of: 'ratio', atMost: 1 },
    },
    {
      part,
      what: `the backlog's share of the budget under ${floodPerSecond} new rows a second`,
      unit: 'of all requests',
      samples: [flood.share],
      target: { of: 'value', atLeast: 0.09 },
    },
  ];
}
