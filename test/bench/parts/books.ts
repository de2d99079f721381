import { Client } from 'pg';
import { readFlows } from '../../../src/ledger/reports/read-flows.ts';
import { readStatus } from '../../../src/ledger/reports/read-status.ts';
import { reconcileBalances } from '../../../src/sync/snapshots/reconcile-balances.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { type Figure, median, type Target } from '../figures.ts';
import { openVirtualWallet, type VirtualWallet } from '../open-virtual-wallet.ts';
import { runProduct } from '../run-product.ts';
import type { VirtualHistory } from '../virtual-history.ts';

const dayMs = 86_400_000;
/** Rows and days of the latest time, which both histories have in common. */
const recentRows = 10_000;
const recentDays = 40;
const addresses = 20_000;
/** Rows of the ledger that is exported. */
const exportedRows = 1_000_000;
const newDeposits = 20;
const repeats = 5;
const flat: Target = { of: 'ratio', atMost: 1.3 };

type Question = { what: string; ask(wallet: Opened): Promise<unknown> };
type Opened = VirtualWallet & { client: Client };

/** Every column is read: PostgreSQL leaves out the work for columns that nobody asks for. */
const all = (from: string) => `select count(v) from (select * from ${from}) as v`;
const asked = (what: string, from: string): Question => ({
  what,
  ask: ({ client }) => client.query(all(from)),
});

const month = `ledger.account_statement('USDT', current_date - 35, current_date - 5)`;

/** What a daemon does once a minute, and what is looked at most: its cost must not grow with the history. */
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

/** (p) Books against the length of the history, views over everything, and an export. */
export const booksPart: BenchPart = {
  letters: 'p',
  title: 'books against the length of the history, and their export',
  async run(bench) {
    const rows = bench.isQuick ? 300_000 : 10_000_000;
    const small = await openOfRows(bench, recentRows);
    const large = await openOfRows(bench, rows);
    const figures = await compare(bench, small, large, rows);
    for (const relation of whole)
      figures.push(await wholeFigure(bench, large, `ledger.${relation}`));
    await close(small);
    if (!bench.isQuick) await close(large);
    const exported = bench.isQuick ? large : await openOfRows(bench, exportedRows);
    figures.push(...(await exportFigures(bench, exported)));
    await close(exported);
    return figures;
  },
};

async function close({ client, close: closeWallet }: Opened): Promise<void> {
  await client.end();
  await closeWallet();
}

/** Both lengths in turn, so that what else the machine does falls on both. */
async function compare(
  bench: Bench,
  small: Opened,
  large: Opened,
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

async function wholeFigure(bench: Bench, wallet: Opened, relation: string): Promise<Figure> {
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

/** Deposits of a coin on two chains come, and the daemon compares as after a reading of the balances. */
async function reconcile({ ledger }: Opened): Promise<void> {
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

async function openOfRows(bench: Bench, rows: number): Promise<Opened> {
  const older = rows - recentRows;
  const spanMs = 3 * 365 * dayMs;
  const stepMs = Math.floor((2 * (spanMs - recentDays * dayMs)) / Math.max(older, 1));
  const history: VirtualHistory = {
    counts: { deposit: older / 2, withdraw: older / 2 },
    startMs: Date.now() - spanMs,
    stepMs,
  };
  const wallet = await openVirtualWallet(bench, history);
  const client = new Client({ connectionString: wallet.connectionString });
  await client.connect();
  bench.onEnd(() => client.end().catch(() => undefined));
  for (const statement of lifeOf()) await client.query(statement);
  await client.query('vacuum (analyze)');
  await client.query('checkpoint');
  return { ...wallet, client };
}

/** The latest time, which is the same however long the history is; USDT is on two chains. */
function lifeOf(): string[] {
  return [
    `insert into ledger.addresses (slip44, address, status, assigned_to, assigned_at, first_seen_at)
     select case n % 2 when 0 then 60 else 195 end, '0x' || md5(n::text) || '00000000', 'assigned', 'customer-' || n,
            now() - interval '3 years', now() - interval '3 years'
       from generate_series(0, ${addresses - 1}) as n`,
    `insert into ledger.balances (slip44, symbol, contract_address, chain_name, balance, frozen, decimals, observed_at,
                                  changed_at, observation)
     select v.slip44, v.symbol, v.contract, 'Chain', 1000, 0, 18, now(), now(), 1
       from (values (0, 'BTC', ''), (60, 'ETH', ''), (195, 'TRX', ''), (60, 'USDT', '0xda'), (195, 'USDT', 'TR7'))
              as v (slip44, symbol, contract)`,
    `insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
     select b.slip44, b.symbol, b.contract_address, n, 0, now() - n * interval '1 day'
       from ledger.balances b cross join generate_series(1, ${recentDays - 1}) as n`,
    // As wide as the rows before them, so that they do not fill the gaps of old pages.
    `insert into ledger.transactions (order_no, stream, request_id, symbol, tx_hash, from_address, to_address, amount, type,
                                      state, occurred_at, confirm_num, fee, fee_symbol, is_final, is_success, is_backfilled,
                                      first_seen_at, changed_at, detail_synced_at)
     select 'R' || lpad(n::text, 12, '0'), s.stream, case s.stream when 'withdraw' then 'request-' || (1000000 + n) end,
            (array['BTC', 'ETH', 'TRX', 'USDT'])[n / 2 % 4 + 1], '0x' || d.digest || d.digest, '0x' || d.digest || '00000000',
            '0x' || md5((n % ${addresses})::text) || '00000000', 1 + n % 997 + (n % 10000) * 0.0001, s.stream, 'success', o.at,
            12, case s.stream when 'withdraw' then 0.0021 else 0 end, 'ETH', true, true, true, o.at, o.at, o.at
       from generate_series(1, ${recentRows}) as n
      cross join lateral (select case n % 2 when 0 then 'deposit' else 'withdraw' end) as s (stream)
      cross join lateral (select md5(n::text)) as d (digest)
      cross join lateral (select now() - interval '${recentDays} days' * (1 - n / ${recentRows + 1}.0)) as o (at)`,
  ];
}

async function exportFigures(bench: Bench, wallet: Opened): Promise<Figure[]> {
  const rates: number[] = [];
  const peaks: number[] = [];
  for (let run = 0; run < bench.runs; run += 1) {
    const { stderr, seconds, peakMiB } = await runProduct(
      ['export', '--format', 'csv', '--out', 'books.csv'],
      { DATABASE_URL: wallet.connectionString, WALLET_BASE_URL: wallet.service.baseUrl },
    );
    const postings = Number(/exported ([\d,]+) postings/.exec(stderr)?.[1]?.replaceAll(',', ''));
    rates.push(postings / seconds);
    peaks.push(peakMiB);
  }
  const what = 'export as CSV';
  const rate: Target = { of: 'value', atLeast: 50_000 };
  const memory: Target = { of: 'value', atMost: 250 };
  return [
    { part: 'p', what, unit: 'rows/s', samples: rates, target: rate },
    { part: 'p', what: `${what}: peak memory`, unit: 'MiB', samples: peaks, target: memory },
  ];
}
