import { expect, onTestFinished, test } from 'vitest';
import { unusedChain } from '../../src/kernel/chain-filter.ts';
import { silentLog } from '../../src/kernel/log.ts';
import { acknowledgeMoves } from '../../src/ledger/accept-move.ts';
import { mirrorPools } from '../../src/ledger/addresses/pool-store.ts';
import { createTicketSource } from '../../src/ledger/ticket-source.ts';
import { fillPools } from '../../src/sync/pools/fill-pools.ts';
import { settleHome } from '../../src/sync/settle-home.ts';
import { makeClient } from '../support/make-client.ts';
import { send, startScriptedService } from '../support/scripted-service.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const patiently = { signal: new AbortController().signal, whenBusy: 'wait' as const };

const evm = (number: number) => `0x${number.toString(16).padStart(40, '0')}`;
const evms = (from: number, count = 5) => Array.from({ length: count }, (_, n) => evm(from + n));
const tron = ['TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', 'TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8'];

type Setting = {
  /** Chains of the service's coin list. */
  coins: number[];
  pools: number[];
  /** Addresses that the lists show at first. */
  first?: Record<number, string[]>;
  /** Status and body of the refusal of a chain. */
  refusal?: [status: number, body: string];
  /** The n-th address of each chain is the same, as for an account with one key on several chains. */
  isDerived?: true;
  /** Requests for more addresses are refused. */
  numMax?: number;
  /** Lists and answers to requests contain addresses as plain texts. */
  isInTexts?: true;
};

const unsupported = '{"code":40004,"data":null,"msg":"unsupported chain"}';
type Twist = (slip44: number, listed: (slip44: number) => string[]) => string[] | null;

/**
 * A service that lists for each chain the addresses that the twist returns; null: it refuses the chain. All chains
 * except 195 have Ethereum's form. Generated addresses join the list of their own chain.
 */
async function withListsOf(
  twist: Twist,
  {
    coins,
    pools,
    first = {},
    isDerived,
    isInTexts,
    numMax = 200,
    refusal: [status, refused] = [200, unsupported],
  }: Setting,
) {
  const service = await startScriptedService();
  onTestFinished(() => service.close());
  const lists = new Map<number, string[]>();
  const listed = (slip44: number) => lists.get(slip44) ?? [];
  for (const [slip44, addresses] of Object.entries(first)) lists.set(Number(slip44), addresses);
  let posts = 0;
  let toLose = 0;
  const generated = new Map<number, string[]>();
  const made = (slip44: number) => generated.get(slip44) ?? [];
  const addressesOf = (addresses: string[]) =>
    isInTexts ? addresses : addresses.map((address) => ({ address }));
  service.answer(({ method, url, body }, response) => {
    if (url.pathname.endsWith('/coin')) {
      const data = coins.map((slip44) => ({ slip44, symbol: `C${slip44}`, contractAddress: '' }));
      return { code: 0, msg: '', data };
    }
    if (method === 'POST') {
      posts += 1;
      const { slip44, num } = JSON.parse(body) as { slip44: number; num: number };
      if (num > numMax) return { code: 40_005, data: null, msg: 'num exceeds the allowed limit' };
      const from = isDerived ? made(slip44).length : slip44 * 100_000 + posts * 1_000;
      const news = evms(from, num);
      lists.set(slip44, [...listed(slip44), ...news]);
      generated.set(slip44, [...made(slip44), ...news]);
      if (posts <= toLose) return void response.destroy();
      return { code: 0, msg: '', data: addressesOf(news) };
    }
    const shown = twist(Number(url.searchParams.get('slip44')), listed);
    if (shown === null) return send(response, status, refused);
    const [pageNo, pageSize] = ['pageNo', 'pageSize'].map((name) =>
      Number(url.searchParams.get(name)),
    ) as [number, number];
    const list = addressesOf(shown.slice((pageNo - 1) * pageSize, pageNo * pageSize));
    return { code: 0, msg: '', data: { pageNo, pageSize, totalSize: shown.length, list } };
  });
  await clear();
  const settings = { chains: pools, pools: { settleMs: 50, maxPerDay: 10_000 } };
  const tickets = createTicketSource(ledger, { maxRps: null, nonceUnit: 'ms' });
  const { client } = await makeClient(service.baseUrl, { tickets });
  await mirrorPools(
    ledger,
    pools.map((slip44) => ({ slip44, threshold: 5, target: 10 })),
  );
  const context = toolsOver({ ledger, client }, settings);
  /** Loses the answers of this number of first address requests. */
  const lose = (count: number) => {
    toLose = count;
  };
  return { service, context, posts: () => posts, made, lose };
}

const filters = `select slip44, chain_filter from ledger.pools order by slip44`;
const available = `select slip44, count(*)::int as n from ledger.addresses where status = 'available' group by 1 order by 1`;
const isChain = (slip44: number) => [60, 61, 195].includes(slip44);

test.each<[string, Setting, { filter: string | null; post: number }]>([
  [
    'one pool, whose list shows another form too',
    { coins: [60, 195], pools: [60], first: { 60: evms(1), 195: tron } },
    { filter: 'broken', post: 0 },
  ],
  [
    'one pool, whose addresses a chain of another form lists',
    { coins: [60, 195], pools: [60], first: { 60: evms(1) } },
    { filter: 'broken', post: 0 },
  ],
  [
    'two pools of one form, beside a chain of another',
    { coins: [60, 61, 195], pools: [60, 61], first: { 60: evms(1), 61: evms(50) } },
    { filter: 'broken', post: 0 },
  ],
  [
    'texts that fit no chain, on chains of two forms',
    { coins: [60, 195], pools: [60, 195], first: { 60: ['wallet-0001'], 195: ['wallet-0002'] } },
    { filter: null, post: 0 },
  ],
])(
  'a list that refuses unknown chains and ignores the parameter for known ones makes no address available: %s',
  async (_what, setting, { filter, post }) => {
    const all = (listed: (slip44: number) => string[]) => [60, 61, 195].flatMap(listed);
    const { context, posts } = await withListsOf(
      (slip44, listed) => (isChain(slip44) ? all(listed) : null),
      setting,
    );
    for (let pass = 0; pass < 2; pass += 1)
      expect((await fillPools(context, patiently)).isComplete).toBe(false);
    expect(await query(available)).toEqual([]);
    expect(posts()).toBe(post);
    expect(await query(filters)).toEqual(
      setting.pools.map((slip44) => ({ slip44, chain_filter: filter })),
    );
    const reasons = await query<{ last_error: string }>('select last_error from ledger.pools');
    for (const { last_error } of reasons) expect(last_error).toContain('WALLET_PARAM_NAMES chain=');
  },
);

test.each<[string, Setting]>([
  ['its only chain', { coins: [60], pools: [60], first: { 60: evms(1) } }],
  ['its only chain, without an address yet', { coins: [60], pools: [60] }],
  [
    'a chain beside others without addresses',
    { coins: [60, 195], pools: [60], first: { 60: evms(1) } },
  ],
  [
    'a chain beside another form',
    { coins: [60, 195], pools: [60], first: { 60: evms(1), 195: tron } },
  ],
  ['a chain beside refused ones', { coins: [60, 2, 3], pools: [60], first: { 60: evms(1) } }],
  ['a long list', { coins: [60, 61], pools: [60], first: { 60: evms(1, 250), 61: evms(900, 30) } }],
  [
    'two chains of one form that share most addresses',
    { coins: [60, 61], pools: [60, 61], first: { 60: evms(1), 61: evms(2) } },
  ],
  [
    'two chains of one form with long lists that share addresses',
    { coins: [60, 61], pools: [60, 61], first: { 60: evms(1, 40), 61: evms(1, 50) } },
  ],
  [
    'two chains of one form with the same addresses, beside another form',
    { coins: [60, 61, 195], pools: [60, 61], first: { 60: evms(1), 61: evms(1), 195: tron } },
  ],
  ['two chains without an address yet', { coins: [60, 61], pools: [60, 61] }],
])(
  'the pool is filled if the list refuses unknown chains and honours the parameter for known ones: %s',
  async (_what, setting) => {
    const { context, service } = await withListsOf(
      (slip44, listed) => (isChain(slip44) ? listed(slip44) : null),
      setting,
    );
    expect((await fillPools(context, patiently)).isComplete).toBe(true);
    expect(await query(available)).toEqual(setting.pools.map((slip44) => ({ slip44, n: 10 })));
    expect(service.seen.length).toBeLessThan(setting.pools.length * 25);
    // The evidence is stored: the next request needs no more of it.
    service.seen.length = 0;
    await query('update ledger.pools set target = 15, is_filling = true');
    expect((await fillPools(context, patiently)).isComplete).toBe(true);
    expect(await query(available)).toEqual(setting.pools.map((slip44) => ({ slip44, n: 15 })));
    const asked = service.seen.map(({ url }) => url.searchParams.get('slip44'));
    expect(asked).not.toContain(String(unusedChain));
  },
);

test.each<[string, [number, string]]>([
  ['HTTP 500 and a code', [500, '{"code":500,"data":null,"msg":"unsupported chain"}']],
  ['HTTP 500 and a page of a gateway', [500, '<html>Internal Server Error</html>']],
  ['HTTP 403', [403, '{"code":403,"data":null,"msg":"no such chain for this key"}']],
  ['HTTP 404', [404, 'Not Found']],
  ['text that is not JSON', [200, 'unsupported chain']],
  ['an empty page object', [200, '{"code":0,"data":{},"msg":""}']],
])('the pool is filled if the list refuses unknown chains by %s', async (_what, refusal) => {
  for (const coins of [[60], [60, 61, 2]]) {
    const pools = coins.filter(isChain);
    const { context } = await withListsOf(
      (slip44, listed) => (isChain(slip44) ? listed(slip44) : null),
      { coins, pools, refusal },
    );
    expect((await fillPools(context, patiently)).isComplete).toBe(true);
    expect(await query(available)).toEqual(pools.map((slip44) => ({ slip44, n: 10 })));
  }
});

test('an unreadable answer about an unknown chain is requested again', async () => {
  let failures = 1;
  const { context } = await withListsOf(
    (slip44, listed) => (slip44 === unusedChain && failures-- > 0 ? null : listed(slip44)),
    { coins: [60], pools: [60], first: { 60: evms(1) }, refusal: [200, '{"code":0,"data"'] },
  );
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect(await query(available)).toEqual([{ slip44: 60, n: 10 }]);
});

/** Lists of chains of one form that never differ: shared addresses, or a filter that is ignored. */
const alike: [string, Setting][] = [
  ['one pool', { coins: [60, 61], pools: [60], first: { 60: evms(1), 61: evms(50) } }],
  ['two pools', { coins: [60, 61], pools: [60, 61], first: { 60: evms(1), 61: evms(50) } }],
  ['two pools whose lists are empty at first', { coins: [60, 61], pools: [60, 61] }],
  [
    'a coin list that does not name the chain',
    { coins: [], pools: [60], first: { 60: evms(1), 61: evms(50) } },
  ],
];
const generated = `select slip44, array_agg(address order by address) as addresses from ledger.addresses
  where status = 'available' group by 1 order by 1`;

test.each(alike)(
  'chains of one form may list the same addresses, and clear answers fill their pools: %s',
  async (_what, setting) => {
    const every = (listed: (slip44: number) => string[]) => [60, 61].flatMap(listed);
    const { context, made } = await withListsOf(
      (slip44, listed) => (isChain(slip44) ? every(listed) : null),
      setting,
    );
    expect((await fillPools(context, patiently)).isComplete).toBe(true);
    const pools = setting.pools.map((slip44) => ({ slip44, chain_filter: 'shared' }));
    expect(await query(filters)).toEqual(pools);
    const own = setting.pools.map((slip44) => ({ slip44, addresses: made(slip44) }));
    expect(await query(generated)).toEqual(own);
  },
);

test('pools of chains that derive the same addresses are filled one after the other, and no address has two customers', async () => {
  const { context, made } = await withListsOf(
    (slip44, listed) => (isChain(slip44) ? listed(slip44) : null),
    { coins: [60, 61], pools: [60, 61], isDerived: true },
  );
  expect((await fillPools(context, { ...patiently, chains: [60] })).isComplete).toBe(true);
  const [anna] = await query<{ address: string }>(
    `select ledger.take_address(60, 'anna') as address`,
  );
  expect((await fillPools(context, { ...patiently, chains: [61] })).isComplete).toBe(true);
  expect(made(61)).toEqual(made(60));
  const takes = `select ledger.take_address(61, 'anna') as anna, ledger.take_address(61, 'ben') as ben`;
  const [taken] = await query<{ anna: string; ben: string }>(takes);
  expect(taken?.anna).toBe(anna?.address);
  expect(made(61).filter((each) => each !== taken?.anna)).toContain(taken?.ben);
  expect(await query(`select ledger.take_address(60, 'ben') as ben`)).toEqual([
    { ben: taken?.ben },
  ]);
});

test.each([
  ['several', 10],
  ['one', 1],
])('addresses in plain texts fill the pool, %s per request', async (_what, numMax) => {
  const { context, made } = await withListsOf((slip44, listed) => listed(slip44), {
    coins: [60],
    pools: [60],
    first: { 60: evms(1) },
    isInTexts: true,
    numMax,
  });
  await query('update ledger.pools set threshold = 2, target = 2');
  await fillPools(context, patiently);
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect(made(60)).toHaveLength(2);
  expect(await query(available)).toEqual([{ slip44: 60, n: 2 }]);
  expect(await query('select count(*)::int as n from ledger.rejects')).toEqual([{ n: 0 }]);
});

test('an address that a move of the database set aside on one chain does not become ours on another', async () => {
  const { context } = await withListsOf(
    (slip44, listed) => (isChain(slip44) ? listed(slip44) : null),
    { coins: [60, 61], pools: [60, 61], isDerived: true },
  );
  expect((await fillPools(context, { ...patiently, chains: [60] })).isComplete).toBe(true);
  await query(`update ledger.addresses set status = 'foreign' where slip44 = 60`);
  expect((await fillPools(context, { ...patiently, chains: [61] })).isComplete).toBe(false);
  expect(await query(`select from ledger.addresses where status <> 'foreign'`)).toEqual([]);
});

test('a pool is filled in one pass although the service grants fewer addresses per request than are needed', async () => {
  const { context, made } = await withListsOf(
    (slip44, listed) => (isChain(slip44) ? listed(slip44) : null),
    { coins: [60], pools: [60], first: { 60: evms(1) }, numMax: 3 },
  );
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect(made(60)).toHaveLength(10);
});

test('after a lost answer no address becomes available while the lists of all chains are the same', async () => {
  const every = (listed: (slip44: number) => string[]) => [60, 61].flatMap(listed);
  const { context, made, lose } = await withListsOf(
    (slip44, listed) => (isChain(slip44) ? every(listed) : null),
    { coins: [60, 61], pools: [60], first: { 60: evms(1) } },
  );
  lose(1);
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect(made(60)).toHaveLength(20);
  const [pool] = await query<{ addresses: string[] }>(generated);
  expect(pool?.addresses).toHaveLength(10);
  const requests = `select state, received, error from ledger.address_requests order by id limit 1`;
  expect(await query(requests)).toEqual([
    {
      state: 'done',
      received: 0,
      error: expect.stringContaining('without proof that they are ours'),
    },
  ]);
});

/** Restores a dump from before anything was generated for the chain. */
async function restoreWithout(slip44: number): Promise<void> {
  await query(`delete from ledger.addresses where slip44 = ${slip44}`);
  await query(`delete from ledger.address_requests where slip44 = ${slip44}`);
  await query(`select engine.disturb_home('a dump was put back')`);
  await settleHome({ ledger, log: silentLog, settings: { onMove: 'heal' } });
}

test('after a move no address that was handed out on a chain of the same form joins another pool', async () => {
  let isDead = false;
  const { context, made, posts } = await withListsOf(
    (slip44, listed) => {
      if (!isChain(slip44) || (isDead && slip44 !== 60)) return null;
      return listed(slip44);
    },
    { coins: [60, 61, 195], pools: [60, 61, 195], first: { 195: tron }, isDerived: true },
  );
  const fill = () => fillPools(context, { ...patiently, chains: [60], force: true });
  await fillPools(context, { ...patiently, chains: [61] });
  const [anna] = await query<{ address: string }>(
    `select ledger.take_address(61, 'anna') as address`,
  );
  await restoreWithout(61);

  isDead = true;
  const before = posts();
  expect((await fill()).isComplete).toBe(false);
  expect(posts()).toBe(before);
  const why = `select last_error from ledger.pools where slip44 = 60`;
  expect(await query(why)).toEqual([
    { last_error: expect.stringMatching(/the database has moved.*chain 61 \(.*unsupported chain/) },
  ]);
  // The list of a chain of another form does not answer either, and nothing waits for it.
  expect(await query(why)).not.toEqual([{ last_error: expect.stringContaining('195') }]);

  isDead = false;
  await fill();
  expect((await fill()).isComplete).toBe(true);
  const taken = await query<{ address: string }>(
    `select address from ledger.addresses where slip44 = 60 and status = 'available'`,
  );
  expect(taken).toHaveLength(10);
  const addresses = taken.map(({ address }) => address);
  expect(addresses).not.toContain(anna?.address);
  expect(addresses.filter((address) => made(61).includes(address))).toEqual([]);
});

test('after a move a pool waits for a related chain that is no longer configured, until its list is read or `recover` was run', async () => {
  let isDead = false;
  const { context, posts } = await withListsOf(
    (slip44, listed) => (isChain(slip44) && !(isDead && slip44 !== 60) ? listed(slip44) : null),
    { coins: [60, 61], pools: [60, 61], isDerived: true },
  );
  await fillPools(context, { ...patiently, chains: [61] });
  await mirrorPools(ledger, [{ slip44: 60, threshold: 5, target: 10 }]);
  const retired = { ...context, settings: { ...context.settings, chains: [60] } };
  const fill = () => fillPools(retired, { ...patiently, chains: [60], force: true });
  const move = async () => {
    await query(`select engine.disturb_home('a dump was put back')`);
    await settleHome({ ledger, log: silentLog, settings: { onMove: 'heal' } });
  };
  await move();
  // The first answer contains the addresses of the other chain.
  expect((await fill()).isComplete).toBe(false);
  expect((await fill()).isComplete).toBe(true);

  isDead = true;
  await move();
  const before = posts();
  expect((await fill()).isComplete).toBe(false);
  expect(posts()).toBe(before);
  expect(await query('select last_error from ledger.pools where slip44 = 60')).toEqual([
    {
      last_error: expect.stringMatching(
        /chain 61 \(.*unsupported chain.*not in ADDRESS_POOLS.*wallet-ledger recover/,
      ),
    },
  ]);
  await acknowledgeMoves(ledger.db, ['main']);
  expect((await fill()).isComplete).toBe(true);
});
