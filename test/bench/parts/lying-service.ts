import { efforts } from '../../../src/sync/list/doubt.ts';
import { readList } from '../../../src/sync/list/read-list.ts';
import { ListModel } from '../../sync/list-model.ts';
import { type Lies, noLies, type TotalLie } from '../../sync/service-lies.ts';
import type { BenchPart } from '../bench.ts';
import type { Figure } from '../figures.ts';

const pages = 100;
const pageSize = 10;
const passes = 200;
/** A lying service costs at most this multiple of the list requests of an honest one. */
export const ratioMax = 2;
/** By then a service that became honest has shown every row. */
const honestPasses = 20;

/** Lies of a service in each pass, counted from 0. */
type Liar = { what: string; lies: (pass: number) => Lies };

const withTotal = (what: string, lie: (pass: number) => TotalLie): Liar => ({
  what,
  lies: (pass) => ({ ...noLies, total: lie(pass) }),
});

export const honest = withTotal('an honest total', () => ({ kind: 'honest' }));

export const liars: Liar[] = [
  honest,
  withTotal('a total 40 s behind the list', () => ({ kind: 'lags', ms: 40_000 })),
  withTotal('a total 1 s ahead of the list', () => ({ kind: 'runs-ahead', ms: 1_000 })),
  withTotal('a total 40 s ahead of the list', () => ({ kind: 'runs-ahead', ms: 40_000 })),
  withTotal('a total that jumps between −2 and +2', (pass) => ({
    kind: 'off',
    rows: ((pass * 7) % 5) - 2,
  })),
  withTotal('a total off by up to 20 rows, anew in each answer', () => ({
    kind: 'jitters',
    rows: 20,
  })),
  withTotal('a total that falls back by one in every other pass', (pass) => ({
    kind: 'off',
    rows: -(pass % 2),
  })),
  withTotal('a total cached for 45 s', () => ({ kind: 'cached', ms: 45_000 })),
  withTotal('a total capped at seven tenths', () => ({
    kind: 'capped',
    rows: 0.7 * pages * pageSize,
  })),
  withTotal('no total', () => ({ kind: 'absent' })),
  {
    what: 'two replicas, one of them 30 s behind',
    lies: () => ({ ...noLies, replica: { ms: 30_000, share: 0.5 } }),
  },
  withTotal('a total that is always one too high', () => ({ kind: 'off', rows: 1 })),
  { what: 'one row shown and counted twice', lies: () => ({ ...noLies, shownAgain: 27 }) },
];

/** Rows that arrive at the service at the begin of each pass. */
type Life = { what: string; arrivals: (pass: number) => number };

const lives: Life[] = [
  { what: 'nothing new', arrivals: () => 0 },
  { what: 'one row a pass', arrivals: () => 1 },
  { what: '25 rows every 10th pass', arrivals: (pass) => (pass % 10 === 9 ? 25 : 0) },
];

/** (l) Cost of a service with a false list compared with an honest one: list requests of the pure model. */
export const lyingService: BenchPart = {
  letters: 'l',
  title: 'list requests under a service that lies',
  async run(bench) {
    const floors = await costs(honest);
    const figures: Figure[] = [];
    for (const liar of liars) {
      bench.say(`  ${liar.what}`);
      figures.push(toFigure(liar, await costs(liar), floors));
    }
    return figures;
  },
};

/** List requests of 200 passes in each life; the first reading counts too. */
export function costs(liar: Liar): Promise<number[]> {
  return Promise.all(lives.map((life) => requestsOf(liar, life)));
}

/** The figure of the life in which the lie is most expensive. */
function toFigure({ what }: Liar, requests: number[], floors: number[]): Figure {
  const ratios = requests.map((value, index) => value / (floors[index] ?? Number.NaN));
  const dearest = ratios.indexOf(Math.max(...ratios));
  return {
    part: 'l',
    what: `${what}: ${passes} passes over ${pages} pages, ${lives[dearest]?.what}`,
    unit: 'list requests',
    samples: [requests[dearest] ?? Number.NaN],
    floor: { what: 'honest', samples: [floors[dearest] ?? Number.NaN] },
    target: { of: 'ratio', atMost: ratioMax },
  };
}

/** Includes the first reading. Throws if a row is missing after the service became honest. */
async function requestsOf(liar: Liar, life: Life): Promise<number> {
  const model = new ListModel('newest-first', pageSize);
  model.world.requestMs = 200;
  model.arrive(pages * pageSize);
  // Long before the first pass, so that no lie concerns these rows.
  model.world.time += 86_400_000;
  for (let pass = 0; pass < passes; pass += 1) {
    model.lies = liar.lies(pass);
    const state = model.beginPass();
    model.arrive(life.arrivals(pass));
    await readList(model.port(), state, efforts.daemon);
  }
  const { requests } = model;
  model.lies = noLies;
  for (let pass = 0; pass < honestPasses; pass += 1)
    await readList(model.port(), model.beginPass(), efforts.daemon);
  const missing = model.rows.filter(({ key }) => !model.ledger.has(key)).length;
  if (missing > 0) throw new Error(`${missing} rows are missing: ${liar.what}, ${life.what}`);
  return requests;
}
