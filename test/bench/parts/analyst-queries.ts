import { Client } from 'pg';
import { readStatus } from '../../../src/ledger/reports/read-status.ts';
import { readCookbookQueries } from '../../support/cookbook-queries.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { type Figure, percentile } from '../figures.ts';
import { fillLife, poolSlip44 } from '../fill-life.ts';
import { openVirtualWallet, type VirtualWallet } from '../open-virtual-wallet.ts';
import { virtualHistory } from '../virtual-history.ts';

type TimedQuery = { name: string; sql: string; atMostMs: number };

const boundedMs = 200;
const wholeMs = 2_000;

/** Reads every column, because PostgreSQL skips the work for unused columns. */
const all = (from: string) => `select count(v) from (select * from ${from}) as v`;

/** Place for further queries of analysts. */
const queries: TimedQuery[] = [
  {
    name: 'daily_flows of 30 days',
    sql: all('ledger.daily_flows where day >= current_date - 30'),
    atMostMs: boundedMs,
  },
  { name: 'pending_transactions', sql: all('ledger.pending_transactions'), atMostMs: boundedMs },
  { name: 'pool_levels', sql: all('ledger.pool_levels'), atMostMs: boundedMs },
  { name: 'sync_health', sql: all('ledger.sync_health'), atMostMs: boundedMs },
  {
    name: 'balance_history of one coin, 30 days',
    sql: all(
      `ledger.balance_history where slip44 = 60 and symbol = 'COIN1' and contract_address = ''
          and valid_from >= now() - interval '30 days'`,
    ),
    atMostMs: boundedMs,
  },
  {
    name: 'balances_at 30 days ago',
    sql: all(`ledger.balances_at(now() - interval '30 days')`),
    atMostMs: boundedMs,
  },
  { name: 'daily_flows, whole', sql: all('ledger.daily_flows'), atMostMs: wholeMs },
  { name: 'reconciliation, whole', sql: all('ledger.reconciliation'), atMostMs: wholeMs },
  { name: 'state_transitions, whole', sql: all('ledger.state_transitions'), atMostMs: wholeMs },
  { name: 'balance_history, whole', sql: all('ledger.balance_history'), atMostMs: wholeMs },
  {
    name: 'transactions_at 30 days ago, sums by state',
    sql: `select state, is_final, count(*), sum(amount)
            from ledger.transactions_at(now() - interval '30 days') group by 1, 2`,
    atMostMs: wholeMs,
  },
  {
    name: 'transactions_at a year ago, sums by state',
    sql: `select state, is_final, count(*), sum(amount)
            from ledger.transactions_at(now() - interval '1 year') group by 1, 2`,
    atMostMs: wholeMs,
  },
  ...readCookbookQueries().map(({ name, sql }) => ({
    name: `cookbook: ${name}`,
    sql,
    atMostMs: wholeMs,
  })),
];

const takenAddresses = 5_000;

/** (i) Time of the queries that analysts run, and of those that the program runs for them. */
export const analystQueries: BenchPart = {
  letters: 'i',
  title: 'views, functions and status over a long history',
  async run(bench) {
    const rows = bench.isQuick ? 100_000 : 1_000_000;
    const wallet = await openVirtualWallet(
      bench,
      virtualHistory({ deposit: rows / 2, withdraw: rows / 2 }),
    );
    await fillLife(wallet.ledger.pool, rows);
    const client = new Client({ connectionString: wallet.connectionString });
    await client.connect();
    bench.onEnd(() => client.end().catch(() => undefined));
    const at = `at ${rows.toLocaleString('en')} transactions`;
    const figures = [...(await takeAddresses(bench, client))];
    for (const { name, sql, atMostMs } of queries) {
      const samples = await timed(bench, () => client.query(sql));
      figures.push(msFigure(`${name}, ${at}`, samples, atMostMs));
    }
    figures.push(msFigure(`status, ${at}`, await timed(bench, () => statusOf(wallet)), boundedMs));
    await client.end();
    await wallet.close();
    return figures;
  },
};

function statusOf({ ledger }: VirtualWallet): Promise<unknown> {
  return readStatus(ledger.db, [{ slip44: poolSlip44, threshold: 100, target: 1_000 }]);
}

/** One run to warm up, then the measured ones. */
async function timed(bench: Bench, work: () => Promise<unknown>): Promise<number[]> {
  await work();
  const samples: number[] = [];
  for (let run = 0; run < bench.runs; run += 1) {
    const startedAt = performance.now();
    await work();
    samples.push(performance.now() - startedAt);
  }
  return samples;
}

function msFigure(what: string, samples: number[], atMost: number): Figure {
  return { part: 'i', what, unit: 'ms', samples, target: { of: 'value', atMost } };
}

async function takeAddresses(bench: Bench, client: Client): Promise<Figure[]> {
  const rates: number[] = [];
  const middles: number[] = [];
  const slowest: number[] = [];
  for (let run = 0; run < bench.runs; run += 1) {
    const ms: number[] = [];
    const startedAt = performance.now();
    for (let taken = 0; taken < takenAddresses / bench.runs; taken += 1) {
      const before = performance.now();
      await client.query({
        name: 'take',
        text: 'select ledger.take_address($1, $2)',
        values: [poolSlip44, `customer-${run}-${taken}`],
      });
      ms.push(performance.now() - before);
    }
    rates.push((ms.length * 1_000) / (performance.now() - startedAt));
    middles.push(percentile(ms, 0.5));
    slowest.push(percentile(ms, 0.99));
  }
  const what = 'take_address on one connection';
  return [
    { part: 'i', what, unit: 'calls/s', samples: rates },
    { part: 'i', what: `${what}: p50`, unit: 'ms', samples: middles },
    { part: 'i', what: `${what}: p99`, unit: 'ms', samples: slowest },
  ];
}
