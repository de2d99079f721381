import { onDatabase } from '../../support/on-database.ts';
import type { Bench, BenchPart } from '../bench.ts';
import { type Figure, median } from '../figures.ts';
import { bareBackfill } from '../floors/bare-backfill.ts';
import { copyTransactions } from '../floors/copy-transactions.ts';
import { type ProductRun, runProduct } from '../run-product.ts';
import { type StaticService, startStaticService } from '../static-service.ts';

const pageSize = 100;
const largePageSize = 500;
const concurrency = 8;

export const backfillList: BenchPart = {
  letters: 'ah',
  title: 'backfill of the list, and its memory',
  async run(bench) {
    const rows = bench.isQuick ? 100_000 : 1_000_000;
    const { full, copy, bare, large } = await measureRates(bench, rows);
    return [...rateFigures(bench, rows, full, copy, bare, large), ...memoryFigures(bench, full)];
  },
};

type Rates = { full: ProductRun[]; copy: number[]; bare: number[]; large: ProductRun };

async function measureRates(bench: Bench, rows: number): Promise<Rates> {
  const service = await startStaticService(rows);
  bench.onEnd(service.close);
  const full: ProductRun[] = [];
  const copy: number[] = [];
  const bare: number[] = [];
  for (let run = 1; run <= bench.runs; run += 1) {
    const database = await bench.database();
    full.push(await backfill(service, database, rows, pageSize));
    bench.say(`  run ${run}: ${format(rows, full.at(-1)?.seconds)} by the program`);
    copy.push(await onEmptyLedger(bench, service, (empty) => copyTransactions(database, empty)));
    bench.say(`  run ${run}: ${format(rows, copy.at(-1))} by COPY`);
    await bench.dropDatabase(database);
    bare.push(
      await onEmptyLedger(bench, service, (empty) =>
        bareBackfill(service.baseUrl, empty, { pageSize, concurrency }),
      ),
    );
    bench.say(`  run ${run}: ${format(rows, bare.at(-1))} by a bare loop`);
  }
  const database = await bench.database();
  const large = await backfill(service, database, rows, largePageSize);
  await bench.dropDatabase(database);
  await service.close();
  return { full, copy, bare, large };
}

async function backfill(
  service: StaticService,
  database: string,
  rows: number,
  size: number,
): Promise<ProductRun> {
  const run = await runProduct(['backfill', '--no-details'], {
    ...service.env,
    DATABASE_URL: database,
    WALLET_PAGE_SIZE: String(size),
    WALLET_CONCURRENCY: String(concurrency),
  });
  await onDatabase(database, async (client) => {
    const found = await client.query('select count(*)::int as count from ledger.transactions');
    const count = found.rows[0]?.count;
    if (count !== rows) throw new Error(`the backfill stored ${count} rows of ${rows}`);
    await client.query('checkpoint');
  });
  return run;
}

async function onEmptyLedger<T>(
  bench: Bench,
  service: StaticService,
  work: (connectionString: string) => Promise<T>,
): Promise<T> {
  const database = await bench.database();
  await runProduct(['migrate'], { ...service.env, DATABASE_URL: database });
  const result = await work(database);
  await bench.dropDatabase(database);
  return result;
}

function rateFigures(
  bench: Bench,
  rows: number,
  full: ProductRun[],
  copy: number[],
  bare: number[],
  large: ProductRun,
): Figure[] {
  const part = 'a';
  const unit = 'rows/s';
  const samples = full.map(({ seconds }) => rows / seconds);
  const of = (what: string, seconds: number[]) => ({
    what,
    samples: seconds.map((each) => rows / each),
  });
  const what = `backfill of ${rows.toLocaleString('en')} list rows`;
  /**
   * Returns no target for a quick bench: the start of the process is a third of a short backfill, so its rate says
   * little.
   */
  const atLeast = (ratio: number): Pick<Figure, 'target'> =>
    bench.isQuick ? {} : { target: { of: 'ratio', atLeast: ratio } };
  return [
    {
      part,
      what: `${what}, against COPY`,
      unit,
      samples,
      floor: of('COPY into the same table', copy),
      ...atLeast(0.3),
      note: 'rows divided by the whole time of the process, its start, migration and end included',
    },
    {
      part,
      what: `${what}, end to end`,
      unit,
      samples,
      floor: of('bare fetch and insert', bare),
      ...atLeast(0.6),
    },
    { part, what: `${what}, pages of ${largePageSize}`, unit, samples: [rows / large.seconds] },
  ];
}

function memoryFigures(bench: Bench, full: ProductRun[]): Figure[] {
  const part = 'h';
  const unit = 'MiB';
  const peak: Figure = {
    part,
    what: 'peak memory of that process',
    unit,
    samples: full.map(({ peakMiB }) => peakMiB),
    target: { of: 'value', atMost: 250 },
  };
  if (bench.isQuick) return [peak];
  const within = (from: number, to: number) =>
    full.map(({ residentMiB: { length }, residentMiB }) =>
      median(residentMiB.slice(from * length, to * length)),
    );
  return [
    peak,
    {
      part,
      what: 'its memory in the last third of the rows',
      unit,
      samples: within(0.7, 0.95),
      floor: { what: 'after the first 100,000', samples: within(0.15, 0.35) },
      target: { of: 'ratio', atMost: 1.1 },
    },
  ];
}

function format(rows: number, seconds = Number.NaN): string {
  return `${Math.round(rows / seconds).toLocaleString('en')} rows/s`;
}
