import { syncTransactions } from '../../../src/sync/streams/sync-transactions.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { type Figure, median, type Target } from '../figures.ts';
import { daemonPass, openVirtualWallet, type VirtualWallet } from '../open-virtual-wallet.ts';
import { readRowsWritten, readWalBytes, readWalRecords } from '../read-counters.ts';
import { virtualHistory } from '../virtual-history.ts';

/** Cost of one pass. */
type Cost = { requests: number; queries: number; ms: number; walBytes: number; walRecords: number };

const quietPasses = 100;
const newRows = 1_000;
const flat: Target = { of: 'ratio', atMost: 1.3 };

/** (d) A pass with no new row and (e) one with 1,000 new rows must not depend on the length of the history. */
export const quietTick: BenchPart = {
  letters: 'de',
  title: 'a pass with nothing new, and with 1,000 new rows, against the length of the history',
  async run(bench) {
    const [smallest, ...larger] = bench.isQuick
      ? [10_000, 300_000]
      : [10_000, 1_000_000, 10_000_000];
    const small = await openOfRows(bench, smallest);
    const figures: Figure[] = [];
    for (const rows of larger) {
      const large = await openOfRows(bench, rows);
      figures.push(...(await compare(bench, small, large, countText(smallest), countText(rows))));
      await large.close();
    }
    await small.close();
    return figures;
  },
};

function openOfRows(bench: Bench, rows: number): Promise<VirtualWallet> {
  return openVirtualWallet(bench, virtualHistory({ deposit: rows / 2, withdraw: rows / 2 }));
}

/** Both lengths alternate, so that other load on the machine affects both. */
async function compare(
  bench: Bench,
  small: VirtualWallet,
  large: VirtualWallet,
  smallText: string,
  largeText: string,
): Promise<Figure[]> {
  for (const wallet of [small, large]) await passOf(wallet);
  const writtenBefore = await readRowsWritten(large.connectionString);
  const quiet = { small: [] as Cost[], large: [] as Cost[] };
  for (let run = 0; run < bench.runs; run += 1) {
    quiet.small.push(await costOfQuietPasses(small));
    quiet.large.push(await costOfQuietPasses(large));
  }
  const written = (await readRowsWritten(large.connectionString)) - writtenBefore;
  const growing = { small: [] as Cost[], large: [] as Cost[] };
  for (let run = 0; run < bench.runs; run += 1) {
    growing.small.push(await costOfNewRows(small));
    growing.large.push(await costOfNewRows(large));
  }
  return [
    {
      part: 'd',
      what: `quiet pass over ${largeText} rows: list requests`,
      unit: 'requests',
      samples: quiet.large.map((cost) => cost.requests),
      target: { of: 'value', atMost: 2 },
    },
    {
      part: 'd',
      what: `quiet pass over ${largeText} rows: data rows written`,
      unit: 'rows',
      samples: [written / (bench.runs * quietPasses)],
      target: { of: 'value', atMost: 0 },
    },
    ...flatFigures('d', `quiet pass over ${largeText} rows`, smallText, quiet),
    {
      part: 'e',
      what: `${newRows} new rows on ${largeText}: list requests`,
      unit: 'requests',
      samples: growing.large.map((cost) => cost.requests),
      floor: { what: `on ${smallText}`, samples: growing.small.map((cost) => cost.requests) },
      target: flat,
    },
    ...flatFigures('e', `${newRows} new rows on ${largeText}`, smallText, growing),
  ];
}

function flatFigures(
  part: string,
  what: string,
  smallText: string,
  costs: { small: Cost[]; large: Cost[] },
): Figure[] {
  const figure = (
    name: string,
    unit: string,
    value: (cost: Cost) => number,
    target?: Target,
  ): Figure => ({
    part,
    what: `${what}: ${name}`,
    unit,
    samples: costs.large.map(value),
    floor: { what: `${smallText} rows`, samples: costs.small.map(value) },
    ...(target && { target }),
  });
  return [
    figure('SQL messages', 'queries', (cost) => cost.queries, flat),
    figure('time', 'ms', (cost) => cost.ms, { of: 'ratio', atMost: 1.5 }),
    figure('WAL records', 'records', (cost) => cost.walRecords, flat),
    figure(
      part === 'd' ? 'WAL' : 'WAL behind a checkpoint',
      'KiB',
      (cost) => cost.walBytes / 1_024,
      part === 'd' ? flat : undefined,
    ),
  ];
}

/** Means over many passes; of the time the median. */
async function costOfQuietPasses(wallet: VirtualWallet): Promise<Cost> {
  const ms: number[] = [];
  await wallet.ledger.pool.query('checkpoint');
  await passOf(wallet);
  const spent = await costOf(wallet, async () => {
    for (let pass = 0; pass < quietPasses; pass += 1) {
      const startedAt = performance.now();
      await passOf(wallet);
      ms.push(performance.now() - startedAt);
    }
  });
  return {
    requests: spent.requests / quietPasses,
    queries: spent.queries / quietPasses,
    ms: median(ms),
    walBytes: spent.walBytes / quietPasses,
    walRecords: spent.walRecords / quietPasses,
  };
}

/** Right after a checkpoint, when each page costs a full page of WAL: the worst case of a busy server. */
async function costOfNewRows(wallet: VirtualWallet): Promise<Cost> {
  await wallet.ledger.pool.query('checkpoint');
  wallet.service.append('deposit', newRows / 2);
  wallet.service.append('withdraw', newRows / 2);
  return costOf(wallet, () => passOf(wallet));
}

async function costOf(wallet: VirtualWallet, work: () => Promise<void>): Promise<Cost> {
  const { service, connectionString } = wallet;
  const recordsBefore = await readWalRecords(connectionString);
  await wallet.ledger.pool.query('select');
  const walBefore = await readWalBytes(connectionString);
  const requestsBefore = service.requests();
  const queriesBefore = wallet.queries();
  const startedAt = performance.now();
  await work();
  const ms = performance.now() - startedAt;
  const queries = wallet.queries() - queriesBefore;
  const walBytes = (await readWalBytes(connectionString)) - walBefore;
  const walRecords = (await readWalRecords(connectionString)) - recordsBefore;
  return { ms, queries, requests: service.requests() - requestsBefore, walBytes, walRecords };
}

async function passOf({ context }: VirtualWallet): Promise<void> {
  const report = await syncTransactions(context, daemonPass());
  if (!report.isComplete) throw new Error('a pass over a settled history ended incomplete');
}

function countText(rows: number): string {
  return rows.toLocaleString('en');
}
