import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { syncTransactions } from '../../../src/sync/streams/sync-transactions.ts';
import { closeServer, listen } from '../../support/listen.ts';
import { onDatabase } from '../../support/on-database.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { type Figure, percentile } from '../figures.ts';
import { daemonPass, openVirtualWallet, type VirtualWallet } from '../open-virtual-wallet.ts';
import { runProduct } from '../run-product.ts';
import { startDaemon } from '../running-daemon.ts';
import { startSandboxProcess } from '../sandbox-process.ts';
import { startStaticService } from '../static-service.ts';
import { virtualHistory } from '../virtual-history.ts';

const feedToken = 'feed-of-the-bench';
const quietJobs = {
  SYNC_TRANSACTIONS_EVERY: 'off',
  SYNC_DETAILS_EVERY: 'off',
  SYNC_BALANCES_EVERY: 'off',
  SYNC_COINS_EVERY: 'off',
  SYNC_ADDRESSES_EVERY: 'off',
  FILL_POOLS_EVERY: 'off',
  AUDIT_EVERY: 'off',
};
const settleMs = 3_000;
const giveUpMs = 30_000;
const newRows = 1_000;
/** Triggers that write what happens to the outbox. */
const emitters = {
  'ledger.transactions': [
    'transactions_new_emitted',
    'transactions_changed_emitted',
    'transactions_wallet_emitted',
  ],
  'ledger.stream_proofs': ['stream_proofs_emitted'],
};

/** Delay from a commit to its event on the feed, and the cost of the feed for writers. */
export const feedPart: BenchPart = {
  letters: 'v',
  title: 'the change feed: from a commit to its readers, and its cost',
  async run(bench) {
    return [
      ...(await measureLatency(bench)),
      await measureLivePass(bench),
      await measureFirstWalk(bench),
    ];
  },
};

/** Moments (performance.now()) at which the data of each seq arrived. */
type Arrivals = Map<string, number>;

async function measureLatency(bench: Bench): Promise<Figure[]> {
  const webhook: Arrivals = new Map();
  const receiver = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    webhook.set((JSON.parse(body) as { key: string }).key, performance.now());
    response.writeHead(204).end();
  });
  const port = await listen(receiver);
  bench.onEnd(() => closeServer(receiver));
  const database = await bench.database();
  const sandbox = await startSandboxProcess(bench, { transactions: 2_000, settleMs: 0 });
  const env = { ...sandbox.env, DATABASE_URL: database, WALLET_MAX_RPS: 'off' };
  await runProduct(['backfill', '--no-details'], env);
  const daemon = await startDaemon(bench, {
    ...env,
    ...quietJobs,
    FEED_TOKEN: feedToken,
    FEED_WEBHOOKS: `bench=http://127.0.0.1:${port}/`,
    FEED_WEBHOOK_BENCH_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
  });
  const leaving = new AbortController();
  const stream = followStream(`${daemon.url}/feed/stream`, leaving.signal);
  await delay(settleMs);
  const { toStream, toWebhook } = await changeRows(bench, database, stream, webhook);
  leaving.abort();
  await daemon.stop();
  await closeServer(receiver);
  await sandbox.close();
  await bench.dropDatabase(database);
  return [
    ...delayFigures('commit until an SSE client has it', toStream, 50, 250),
    ...delayFigures('commit until an idle webhook receiver has it', toWebhook, 100, 500),
  ];
}

/** Changes rows one by one; returns the milliseconds from the begin of each statement to the arrival of its event. */
async function changeRows(bench: Bench, database: string, stream: Arrivals, webhook: Arrivals) {
  const toStream: number[] = [];
  const toWebhook: number[] = [];
  const client = new Client({ connectionString: database });
  await client.connect();
  const { rows } = await client.query<{ key: string }>(
    `select order_no as key from ledger.transactions order by order_no limit ${bench.isQuick ? 20 : 200}`,
  );
  for (const { key } of rows) {
    const from = performance.now();
    await client.query({
      name: 'change',
      text: `update ledger.transactions set state = 'reviewed', changed_at = now() where order_no = $1`,
      values: [key],
    });
    toStream.push((await arrival(stream, key)) - from);
    toWebhook.push((await arrival(webhook, key)) - from);
    await delay(50);
  }
  await client.end();
  return { toStream, toWebhook };
}

async function arrival(arrivals: Arrivals, key: string): Promise<number> {
  const giveUpAt = performance.now() + giveUpMs;
  for (;;) {
    const at = arrivals.get(key);
    if (at !== undefined) return at;
    if (performance.now() > giveUpAt) throw new Error(`no event of ${key} arrived`);
    await delay(2);
  }
}

function followStream(url: string, signal: AbortSignal): Arrivals {
  const arrivals: Arrivals = new Map();
  const read = async () => {
    const headers = { Authorization: `Bearer ${feedToken}` };
    const { body } = await fetch(url, { headers, signal });
    if (!body) throw new Error('the feed has no body');
    let rest = '';
    for await (const part of body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const key = /^data: .*"key":"([^"]*)"/.exec(line)?.[1];
        if (key !== undefined) arrivals.set(key, performance.now());
      }
    }
  };
  void read().catch(() => undefined);
  return arrivals;
}

function delayFigures(what: string, delays: number[], p50: number, p99: number): Figure[] {
  const figure = (name: string, share: number, atMost: number): Figure => ({
    part: 'v',
    what: `${what}: ${name}`,
    unit: 'ms',
    samples: [percentile(delays, share)],
    target: { of: 'value', atMost },
  });
  return [figure('p50', 0.5, p50), figure('p99', 0.99, p99)];
}

async function measureLivePass(bench: Bench): Promise<Figure> {
  const open = () => openVirtualWallet(bench, virtualHistory({ deposit: 5_000, withdraw: 5_000 }));
  const [told, silent] = [await open(), await open()];
  await silence(silent.connectionString);
  const passes = bench.isQuick ? 3 : 15;
  const rates = { told: [] as number[], silent: [] as number[] };
  for (const wallet of [told, silent]) await pace(wallet);
  for (let pass = 0; pass < passes; pass += 1) {
    rates.told.push(await pace(told));
    rates.silent.push(await pace(silent));
  }
  for (const wallet of [told, silent]) await wallet.close();
  return {
    part: 'v',
    what: `a live pass with ${newRows.toLocaleString('en')} new rows`,
    unit: 'rows/s',
    samples: rates.told,
    floor: { what: 'without the triggers of the feed', samples: rates.silent },
    target: { of: 'ratio', atLeast: 0.9 },
  };
}

async function pace({ service, context }: VirtualWallet): Promise<number> {
  service.append('deposit', newRows / 2);
  service.append('withdraw', newRows / 2);
  const startedAt = performance.now();
  const report = await syncTransactions(context, daemonPass());
  if (!report.isComplete) throw new Error('a pass over a settled history ended incomplete');
  return newRows / ((performance.now() - startedAt) / 1_000);
}

async function measureFirstWalk(bench: Bench): Promise<Figure> {
  const rows = bench.isQuick ? 20_000 : 200_000;
  const service = await startStaticService(rows);
  bench.onEnd(service.close);
  const walk = async (isSilent: boolean) => {
    const database = await bench.database();
    const env = { ...service.env, DATABASE_URL: database };
    await runProduct(['migrate'], env);
    if (isSilent) await silence(database);
    const { seconds } = await runProduct(['backfill', '--no-details'], env);
    await bench.dropDatabase(database);
    return rows / seconds;
  };
  const rates = { told: [] as number[], silent: [] as number[] };
  for (let run = 0; run < bench.runs; run += 1) {
    rates.told.push(await walk(false));
    rates.silent.push(await walk(true));
  }
  await service.close();
  return {
    part: 'v',
    what: `a first walk over ${rows.toLocaleString('en')} rows`,
    unit: 'rows/s',
    samples: rates.told,
    floor: { what: 'without the triggers of the feed', samples: rates.silent },
    target: { of: 'ratio', atLeast: 0.97 },
  };
}

async function silence(database: string): Promise<void> {
  await onDatabase(database, async (client) => {
    for (const [table, triggers] of Object.entries(emitters))
      for (const trigger of triggers)
        await client.query(`alter table ${table} disable trigger ${trigger}`);
  });
}
