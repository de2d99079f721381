/**
 * `npm run load -- [--seconds 60] [--rps 1000]`: loads a daemon's status pages while it reads a history for the first
 * time, with misbehaving clients among the good ones. Prints the figures; exits with 1 if a condition did not hold.
 */
import { parseArgs } from 'node:util';
import pg from 'pg';
import type { Bench } from '../bench/bench.ts';
import { openBench } from '../bench/open-bench.ts';
import { startProduct } from '../bench/run-product.ts';
import { startDaemon } from '../bench/running-daemon.ts';
import { startSandboxProcess } from '../bench/sandbox-process.ts';
import { until } from '../support/until.ts';
import { type BurdenFigures, burdenStatusPages, wantedOutcomes } from './burden-status-pages.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, rps: { type: 'string', default: '1000' } },
});
const seconds = bounded(values.seconds, 600);
const rps = bounded(values.rps, 5_000);
/** Each detail is a request, so this history takes longer than the load. */
const serviceRps = 200;
const transactions = (seconds + 10) * serviceRps;
const completeMs = 300_000;
const socketsMax = 400;
const memoryMaxMiB = 512;

function bounded(text: string, max: number): number {
  const value = Number(text);
  if (value >= 1 && value <= max) return value;
  throw new Error(`${text}: expected 1 to ${max}`);
}

const bench = await openBench(true);
try {
  const failures = await run(bench);
  for (const failure of failures) process.stdout.write(`NOT HELD: ${failure}\n`);
  process.exitCode = failures.length > 0 ? 1 : 0;
} finally {
  await bench.close();
}

async function run(opened: Bench): Promise<string[]> {
  const sandbox = await startSandboxProcess(opened, { transactions, settleMs: 0 });
  const connectionString = await opened.database();
  const env = {
    ...sandbox.env,
    DATABASE_URL: connectionString,
    WALLET_MAX_RPS: String(serviceRps),
    SYNC_DETAILS_EVERY: '1s',
  };
  const migrated = await (await startProduct(['migrate'], env)).ended;
  if (migrated.code !== 0) throw new Error(migrated.stderr);
  const pool = new pg.Pool({ connectionString, max: 1 });
  opened.onEnd(() => pool.end());
  const completed = async () =>
    Number(
      (
        await pool.query(
          'select count(*) as n from ledger.transactions t where not exists (select from ledger.waiting_details w where w.order_no = t.order_no)',
        )
      ).rows[0]?.n,
    );
  const daemon = await startDaemon(opened, env);
  await until(async () => (await fetch(`${daemon.url}/readyz`)).status === 200);
  opened.say(`${rps} requests a second for ${seconds} s, beside ${transactions} transactions`);
  const cpuBefore = daemon.cpuSeconds();
  const figures = await burdenStatusPages(daemon, {
    rps,
    seconds,
    listeners: 60,
    slowReaders: 50,
    halfOpen: 200,
  });
  const atTheEnd = await completed();
  tell(figures, daemon.cpuSeconds() - cpuBefore, atTheEnd);
  await until(async () => (await completed()) === transactions, completeMs);
  const { rows } = await pool.query('select 1 from ledger.streams where is_complete');
  process.stdout.write(`complete: ${rows.length === 2} with ${transactions} transactions\n`);
  await daemon.stop();
  return failuresOf(figures, rows.length === 2);
}

function tell(figures: BurdenFigures, cpuSeconds: number, completed: number): void {
  const { requests, halfOpen, before, most, after } = figures;
  const round = (value: number) => Math.round(value * 10) / 10;
  for (const line of [
    `requests: ${requests.sent} sent, ${requests.leftOut} left out; p50 ${round(requests.p50Ms)} ms, p99 ${round(requests.p99Ms)} ms, most ${round(requests.maxMs)} ms`,
    `outcomes: ${JSON.stringify(requests.outcomes)}`,
    `listeners: ${JSON.stringify(figures.listeners)}, ${round(figures.eventKiB)} KiB of events`,
    `slow readers left: ${figures.slowReadersLeft}`,
    `half requests: ${halfOpen.ended} ended by the server, the last after ${round(halfOpen.longest)} s, ${halfOpen.left} left`,
    `memory: ${round(before.memoryMiB)} MiB before, ${round(most.memoryMiB)} at most, ${round(after.memoryMiB)} at the end`,
    `sockets: ${before.sockets} before, ${most.sockets} at most, ${after.sockets} at the end`,
    `processor: ${round((cpuSeconds / seconds) * 100)} % of a core; details completed meanwhile: ${completed}`,
  ])
    process.stdout.write(`${line}\n`);
}

function failuresOf({ requests, listeners, halfOpen, most }: BurdenFigures, isComplete: boolean) {
  const stray = Object.keys(requests.outcomes).filter((one) => !wantedOutcomes.includes(one));
  const held: [string, boolean][] = [
    [`every request is answered with 200: ${stray.join()}`, stray.length === 0],
    ['the load was kept up', requests.leftOut < requests.sent / 100],
    ['50 listen, the others are told to come later', listeners[200] === 50],
    ['half requests are ended', seconds < 45 || halfOpen.left === 0],
    [`at most ${socketsMax} sockets`, most.sockets <= socketsMax],
    [`at most ${memoryMaxMiB} MiB`, most.memoryMiB <= memoryMaxMiB],
    ['the ledger is complete', isComplete],
  ];
  return held.filter(([, isHeld]) => !isHeld).map(([what]) => what);
}
