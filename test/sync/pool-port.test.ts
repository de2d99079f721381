import fc from 'fast-check';
import { expect, test } from 'vitest';
import { storeListedAddresses } from '../../src/ledger/addresses/address-store.ts';
import type { PoolRow, PoolWrite } from '../../src/ledger/addresses/pool-requests.ts';
import { mirrorPools, takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { healHome } from '../../src/ledger/home-store.ts';
import { leaseStream } from '../../src/ledger/lists/lease-store.ts';
import { saveStream } from '../../src/ledger/lists/stream-state-store.ts';
import { openPoolPort, type PoolPort } from '../../src/sync/pools/pool-port.ts';
import type { SyncContext } from '../../src/sync/sync-context.ts';
import { toolsOver } from '../support/tools-over.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';
import { MemoryPools, type PoolTransactions } from './memory-pools.ts';

const { ledger, query, clear } = await withLedger();
const noClient = {} as SyncContext['client'];

/** Codes that no chain has, so addresses of any form are valid. */
const chains = [990_001, 990_002] as const;
const minuteMs = 60_000;
const callers = [0, 1] as const;

/** One call of the port, or a concurrent event. `request`: index from the newest request. */
type Plan = {
  kind: 'plan';
  slip44: number;
  caller: number;
  write: PoolWrite['kind'] | null;
  num: number;
};
type Closing =
  | { kind: 'answer'; caller: number; request: number; addresses: number[] }
  | { kind: Closes; caller: number; request: number };
type Closes = 'lose' | 'fail' | 'list-read' | 'resolve';
type Op =
  | Plan
  | Closing
  | { kind: 'begin' | 'error'; slip44: number }
  | { kind: 'filter'; slip44: number; filter: 'works' | 'shared' }
  | { kind: 'list' | 'listed'; slip44: number; addresses: number[] }
  | { kind: 'take'; slip44: number; count: number }
  | { kind: 'pass'; minutes: number }
  | { kind: 'end'; caller: number };

const slip44 = fc.constantFrom(chains[0], chains[0], chains[0], chains[1]);
const caller = fc.constantFrom(...callers);
const request = fc.constantFrom(0, 0, 0, 0, 1);
/** Few numbers, so that answers and lists meet. */
const numbers = Array.from({ length: 10 }, (_, n) => n);
const addresses = fc.shuffledSubarray(numbers, { maxLength: 3 });
const write = fc.constantFrom('open', 'open', 'lose', 'error', null);
const kind = <K extends string>(...kinds: [K, ...K[]]) => fc.constantFrom<K>(...kinds);
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: kind('plan'),
      slip44,
      caller,
      write,
      num: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind('answer'), caller, request, addresses }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: kind('lose', 'fail', 'list-read', 'resolve'), caller, request }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind('begin', 'error'), slip44 }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: kind('filter'),
      slip44,
      filter: fc.constantFrom('works', 'works', 'shared'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: kind('list', 'list', 'listed'), slip44, addresses }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind('take'), slip44, count: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind('pass'), minutes: fc.constantFrom(1, 30, 1_430, 1_445) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind('end'), caller }) },
);

type Request = { id: number; slip44: number; num: number; state: string };

/** One of the two implementations: the pools in PostgreSQL, or those in memory. */
type Side = {
  ports: (PoolTransactions & Pick<PoolPort, 'end'>)[];
  requests(): Promise<Request[]>;
  list(slip44: number, shown: string[]): Promise<number>;
  take(slip44: number, count: number): Promise<number>;
  pass(ms: number): Promise<void>;
  /** Returns the stored state without times, and without the handed out addresses: each side may choose others. */
  state(): Promise<unknown>;
};

const textOf = (n: number) => `address-${String(n).padStart(4, '0')}`;

/** The answer of one side, in a common form. */
async function play(side: Side, one: Op): Promise<unknown> {
  if (one.kind === 'pass') return await side.pass(one.minutes * minuteMs);
  if (one.kind === 'take') return await side.take(one.slip44, one.count);
  if (one.kind === 'list') return await side.list(one.slip44, one.addresses.map(textOf));
  const port = side.ports['caller' in one ? one.caller : 0];
  if (!port) throw new Error('there is no such caller');
  if (one.kind === 'end') return await port.end();
  if (one.kind === 'plan') return await plan(port, one);
  if ('request' in one) {
    const request = (await side.requests()).at(-1 - one.request);
    return request && (await close(port, one, request));
  }
  if (one.kind === 'listed') return await port.isAnyListed(one.slip44, one.addresses.map(textOf));
  if (one.kind === 'begin') return await port.forceFilling(one.slip44);
  if (one.kind === 'error') return await port.noteError(one.slip44, 'the operator is to look');
  if (one.kind !== 'filter') throw new Error(`the port has no ${one.kind}`);
  return await port.noteChainFilter(one.slip44, one.filter);
}

async function plan(port: PoolTransactions, { slip44: chain, write: wanted, num }: Plan) {
  const planned = await port.plan(chain, (pool) => ({ pool, write: writeOf(pool, wanted, num) }));
  if (!planned) return undefined;
  // The pools in memory know no age of a list.
  const { open, nextTryInMs, siblings, ...facts } = planned.decision.pool;
  const minutesOf = (ageMs: number | null) =>
    ageMs === null ? null : Math.floor(ageMs / minuteMs);
  return {
    ...facts,
    nextTryIn: nextTryInMs > 0 ? Math.ceil(nextTryInMs / minuteMs) : 0,
    open: open && {
      ...open,
      id: 0,
      ageMs: minutesOf(open.ageMs),
      listReadAgeMs: minutesOf(open.listReadAgeMs),
    },
    unread: siblings.unread,
    isOpened: planned.openedId !== null,
    inDoubt: await port.chainsInDoubt(),
  };
}

function writeOf(
  { open }: PoolRow,
  wanted: PoolWrite['kind'] | null,
  num: number,
): PoolWrite | null {
  if (wanted === 'error') return { kind: 'error', error: 'it is blocked' };
  if (wanted === 'open' && !open) return { kind: 'open', num };
  return wanted === 'lose' && open ? { kind: 'lose', id: open.id, error: 'gone', numMax: 2 } : null;
}

async function close(port: PoolTransactions, one: Closing, request: Request): Promise<unknown> {
  const { id } = request;
  const error = 'it went wrong';
  if (one.kind === 'answer') return await answer(port, one, request);
  if (one.kind === 'lose') return await port.markRequestUnknown(id, { error, numMax: 1 });
  if (one.kind === 'fail')
    return await port.failRequest(id, { error, refusals: 3, delayMs: 15 * minuteMs, numMax: 1 });
  if (one.kind === 'list-read') return await port.noteListRead(id);
  return await port.resolveRequest(id, { refusals: 4, delayMs: 15 * minuteMs });
}

async function answer(
  port: PoolTransactions,
  one: Extract<Closing, { kind: 'answer' }>,
  { id, slip44: chain, num, state }: Request,
): Promise<unknown> {
  // A refused request has no answer.
  if (state === 'failed') return undefined;
  const ifNoneJoins = { refusals: 2, delayMs: 30 * minuteMs };
  const answered = { addresses: one.addresses.map(textOf), rejects: [] };
  return await port.storeAnswer({ id, slip44: chain, num, ...answered, ifNoneJoins });
}

async function openPostgres(): Promise<Side> {
  await clear();
  await mirrorPools(
    ledger,
    chains.map((chain) => ({ slip44: chain, threshold: 3, target: 6 })),
  );
  // A pass reads a list before it asks for the chain's first addresses.
  for (const chain of chains)
    await query(`insert into ledger.streams (name) values ('addresses:${chain}')`);
  await query(`select engine.disturb_home('a dump was put back')`);
  await ledger.transaction(healHome);
  return {
    ports: callers.map(() => {
      let name = '';
      const announcing: Ledger = {
        ...ledger,
        openLiveness: (shown) => {
          name = shown;
          return ledger.openLiveness(shown);
        },
      };
      const context = toolsOver({ ledger: announcing, client: noClient }, { chains: [...chains] });
      const port = openPoolPort(context);
      const seen = () => query(`select from pg_stat_activity where application_name = '${name}'`);
      const end = async () => {
        await port.end();
        // The server notices a little later.
        await until(async () => name === '' || (await seen()).length === 0);
      };
      return { ...port, end };
    }),
    requests: () =>
      query<Request>(
        'select id::int as id, slip44, num, state from ledger.address_requests order by id',
      ),
    async list(chain, shown) {
      const { inserted } = await ledger.transaction((db) => storeListedAddresses(db, chain, shown));
      const name = `addresses:${chain}`;
      await leaseStream(ledger.db, name, 'the reader');
      await saveStream(ledger.db, name, 'the reader', 0, {
        listOrder: null,
        pageSize: null,
        serviceTotal: shown.length,
        totalObservation: 0,
        isBacked: true,
        acceptedDifference: 0,
        doubt: null,
        hasWalked: true,
        checkpoint: {},
      });
      return inserted;
    },
    async take(chain, count) {
      let taken = 0;
      for (let n = 0; n < count; n += 1)
        taken += Number((await takeAddress(ledger.db, chain, null)) !== null);
      return taken;
    },
    async pass(ms) {
      const earlier = (table: string, ...columns: string[]) =>
        query(
          `update ledger.${table} set ${columns
            .map((column) => `${column} = ${column} - ${ms} * interval '1 millisecond'`)
            .join()}`,
        );
      await earlier('address_requests', 'requested_at', 'list_read_at', 'lost_at');
      await earlier('addresses', 'first_seen_at');
      await earlier('pools', 'next_try_at', 'chain_filter_at');
    },
    state: async () => ({
      addresses: await query(`
        select slip44, address, status <> 'foreign' as "isOurs", listed_as <> '{}' as "isListed",
               (select count(*)::int from ledger.address_requests r where r.id <= generated_by) as "generatedBy"
          from ledger.addresses order by slip44, address`),
      requests: await query(
        'select slip44, num, state, received, answer from ledger.address_requests order by id',
      ),
      pools: await query(`
        select is_filling as "isFilling", num_max as "numMax", refusals, losses, last_error as "lastError"
          from ledger.pools order by slip44`),
    }),
  };
}

function openMemory(): Side {
  let now = 0;
  const shown = new Set<string>();
  const pools = new MemoryPools(
    () => now,
    (owner) => shown.has(owner),
  );
  for (const chain of chains) pools.addPool(chain, 3, 6);
  pools.hasMoved = true;
  const run = async <T>(work: () => T): Promise<T> => {
    now += 1;
    return work();
  };
  let names = 0;
  const ports = callers.map(() => {
    let name: string | null = null;
    const hold = () => {
      names += name === null ? 1 : 0;
      name ??= `caller ${names}`;
      shown.add(name);
      return name;
    };
    const end = () =>
      run(() => {
        if (name !== null) shown.delete(name);
        name = null;
      });
    return { ...pools.transactions({ held: () => name, hold }, run), end };
  });
  const entries = () => chains.map((chain) => ({ slip44: chain, ...pools.chain(chain) }));
  return {
    ports,
    requests: async () => pools.requests,
    list: (chain, listed) =>
      run(() => {
        const inserted = pools.storeListed(chain, listed);
        const { addresses: kept } = pools.chain(chain);
        const counts = { serviceTotal: listed.length, countAtLastPass: kept.size };
        pools.chain(chain).list = { isBacked: true, ...counts };
        return inserted;
      }),
    take: (chain, count) => run(() => pools.assign(chain, count)),
    pass: (ms) =>
      run(() => {
        now += ms;
      }),
    state: async () => ({
      addresses: entries().flatMap(({ slip44: chain, addresses: kept }) =>
        [...kept]
          .map(([address, { status, isListed, generatedBy }]) => ({
            slip44: chain,
            address,
            isOurs: status !== 'foreign',
            isListed,
            generatedBy: generatedBy ?? 0,
          }))
          .sort((a, b) => (a.address < b.address ? -1 : 1)),
      ),
      requests: pools.requests.map(({ slip44: chain, num, state, received, answer }) => ({
        ...{ slip44: chain, num, state, received, answer },
      })),
      pools: entries().map(({ pool: { isFilling, numMax, refusals, losses, lastError } }) => ({
        ...{ isFilling, numMax, refusals, losses, lastError },
      })),
    }),
  };
}

/** An address that two chains list is handed out on both at once, which the pools in memory do not model. */
async function isOutside(one: Op, memory: Side): Promise<boolean> {
  return (
    one.kind === 'take' &&
    (await memory.ports[0]?.isAnyListed(chains[1], numbers.map(textOf))) === true
  );
}

const own = { slip44: chains[0], caller: 0, request: 0 };
const open = (num: number): Op => ({ kind: 'plan', write: 'open', num, ...own });
const closing = (how: Closes): Op => ({ kind: how, ...own });
const answered = (...shown: number[]): Op => ({ kind: 'answer', addresses: shown, ...own });
const listing = (chain: number): Op => ({ kind: 'list', slip44: chain, addresses: [1] });

/** Sequences that are rarely drawn. */
const rare: Op[][] = [
  // Listed by another chain, and listed before the request: neither is ours.
  [listing(chains[1]), open(1), closing('lose'), listing(chains[0]), closing('resolve')],
  [listing(chains[0]), open(1), closing('lose'), closing('resolve')],
  // Generated for another chain before: ours on this one as well, and nobody else's.
  [
    ...([0, 1] as const).map((n): Op => ({ kind: 'filter', slip44: chains[n], filter: 'shared' })),
    { kind: 'plan', write: 'open', num: 2, ...own, slip44: chains[1] },
    ...[answered(1, 2), { kind: 'take', slip44: chains[1], count: 1 } as const],
    ...[open(2), answered(1, 2), { kind: 'take', slip44: chains[0], count: 2 } as const],
  ],
  // A number that is refused right after a smaller one was granted is a limit.
  [
    { kind: 'filter', slip44: chains[0], filter: 'works' },
    ...[open(3), closing('fail'), open(1), answered(0), open(3), closing('fail')],
    ...[open(1), answered(1), open(2), answered(2, 3)],
  ],
];

test('pools in memory give the same answers and results as pools in PostgreSQL, for any sequence of calls', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(op, { minLength: 10, maxLength: 40 }), async (drawn) => {
      const shown = { kind: 'filter', slip44: chains[0], filter: 'works' } as const;
      const ops = drawn[0]?.kind === 'plan' ? [shown, ...drawn] : drawn;
      const [postgres, memory] = [await openPostgres(), openMemory()];
      for (const one of ops) {
        if (await isOutside(one, memory)) continue;
        const [expected, found] = [await play(postgres, one), await play(memory, one)];
        expect({ one, answer: found }).toEqual({ one, answer: expected });
      }
      expect(await memory.state()).toEqual(await postgres.state());
      for (const port of postgres.ports) await port.end();
    }),
    { numRuns: 100, examples: rare.map((ops) => [ops]) },
  );
}, 120_000);
