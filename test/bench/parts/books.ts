import { readFlows } from '../../../src/ledger/reports/read-flows.ts';
import { readStatus } from '../../../src/ledger/reports/read-status.ts';
import { reconcileBalances } from '../../../src/sync/snapshots/reconcile-balances.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { type Figure, median, type Target } from '../figures.ts';
import { type BookedWallet, openBookedWallet, recentRows } from '../open-booked-wallet.ts';
import { runProduct } from '../run-product.ts';

/** Rows of the ledger that is exported. */
const exportedRows = 1_000_000;
const newDeposits = 20;
const repeats = 5;
const flat: Target = { of: 'ratio', atMost: 1.3 };

type Question = { what: string; ask(wallet: BookedWallet): Promise<unknown> };

/** Reads every column, because PostgreSQL skips the work for unused columns. */
const all = (from: string) => `select count(v) from (select * from ${from}) as v`;
const asked = (what: string, from: string): Question => ({
  what,
  ask: ({ client }) => client.query(all(from)),
});

const month = `ledger.account_statement('USDT', current_date - 35, current_date - 5)`;

/** Queries that a daemon runs every minute, and the most frequent ones: their cost must not grow with the history. */
const questions: Question[] = [
  { what: 'balances job, behind 20 new deposits: sums, assets, judgement', ask: reconcile },
  asked('ledger.reconciliation', 'ledger.reconciliation'),
  asked('ledger.asset_reconciliation', 'ledger.asset_reconciliation'),
  { what: 'status', ask: ({ ledger }) => readStatus(ledger.db, []) },
  {
    what: 'status page: status and flows',
    ask: ({ ledger }) => Promise.all([readStatus(ledger.db, []), readFlows(ledger.db)]),
  },
  asked('account_statement of a month', month),
];

const wholeMs = 50;
const whole = ['totals', 'daily_totals', 'daily_fees', 'daily_flows', 'trial_balance_at(now())'];

/** (p) Cost of the books for different lengths of the history, of views over everything, and of an export. */
export const booksPart: BenchPart = {
  letters: 'p',
  title: 'books against the length of the history, and their export',
  async run(bench) {
    const rows = bench.isQuick ? 300_000 : 10_000_000;
    const small = await openBookedWallet(bench, recentRows);
    const large = await openBookedWallet(bench, rows);
    const figures = await compare(bench, small, large, rows);
    for (const relation of whole)
      figures.push(await wholeFigure(bench, large, `ledger.${relation}`));
    await close(small);
    if (!bench.isQuick) await close(large);
    const exported = bench.isQuick ? large : await openBookedWallet(bench, exportedRows);
    figures.push(...(await exportFigures(bench, exported, bench.isQuick ? rows : exportedRows)));
    await close(exported);
    return figures;
  },
};

async function close({ client, close: closeWallet }: BookedWallet): Promise<void> {
  await client.end();
  await closeWallet();
}

/** Both lengths alternate, so that other load on the machine affects both. */
async function compare(
  bench: Bench,
  small: BookedWallet,
  large: BookedWallet,
  rows: number,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { what, ask } of questions) {
    await ask(small);
    await ask(large);
    const samples: number[] = [];
    const floor: number[] = [];
    for (let run = 0; run < bench.runs; run += 1) {
      floor.push(await msOf(() => ask(small)));
      samples.push(await msOf(() => ask(large)));
    }
    figures.push({
      part: 'p',
      what: `${what}, at ${rows.toLocaleString('en')} transactions`,
      unit: 'ms',
      samples,
      floor: { what: `at ${recentRows.toLocaleString('en')}`, samples: floor },
      target: flat,
    });
  }
  return figures;
}

async function wholeFigure(bench: Bench, wallet: BookedWallet, relation: string): Promise<Figure> {
  const ask = () => wallet.client.query(all(relation));
  await ask();
  const samples: number[] = [];
  for (let run = 0; run < bench.runs; run += 1) samples.push(await msOf(ask));
  const target: Target = { of: 'value', atMost: wholeMs };
  return { part: 'p', what: `${relation}, whole`, unit: 'ms', samples, target };
}

/** Median of several repetitions. */
async function msOf(work: () => Promise<unknown>): Promise<number> {
  const ms: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const startedAt = performance.now();
    await work();
    ms.push(performance.now() - startedAt);
  }
  return median(ms);
}

let arrivals = 0;

/** Deposits of a coin on two chains arrive, and the daemon compares as after a reading of the balances. */
async function reconcile({ ledger }: BookedWallet): Promise<void> {
  arrivals += 1;
  await ledger.pool.query(
    `insert into own.transactions (order_no, stream, symbol, amount, type, state, to_address, is_final, is_success,
                                   occurred_at, detail_synced_at)
     select 'new-' || $1 || '-' || n, 'deposit', 'USDT', 1, 'deposit', 'success', '0x' || md5(n::text) || '00000000', true,
            true, now(), now()
       from generate_series(1, ${newDeposits}) as n`,
    [arrivals],
  );
  const askedAt = performance.now();
  await ledger.transaction((db) => reconcileBalances(ledger, db, askedAt));
}

async function exportFigures(bench: Bench, wallet: BookedWallet, rows: number): Promise<Figure[]> {
  const rates: number[] = [];
  const peaks: number[] = [];
  for (let run = 0; run < bench.runs; run += 1) {
    const { seconds, peakMiB } = await runProduct(
      ['export', '--format', 'csv', '--out', 'books.csv'],
      { DATABASE_URL: wallet.connectionString, WALLET_BASE_URL: wallet.service.baseUrl },
    );
    rates.push(rows / seconds);
    peaks.push(peakMiB);
  }
  const what = 'export as CSV';
  const rate: Target = { of: 'value', atLeast: 50_000 };
  const memory: Target = { of: 'value', atMost: 250 };
  return [
    { part: 'p', what, unit: 'transactions/s', samples: rates, target: rate },
    { part: 'p', what: `${what}: peak memory`, unit: 'MiB', samples: peaks, target: memory },
  ];
}
