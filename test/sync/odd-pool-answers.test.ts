import { expect, test } from 'vitest';
import { LedgerError } from '../../src/kernel/errors.ts';
import { mirrorPools } from '../../src/ledger/addresses/pool-store.ts';
import { withChainCure } from '../../src/sync/pools/chain-refusal.ts';
import { fillPools } from '../../src/sync/pools/fill-pools.ts';
import { syncAddresses } from '../../src/sync/pools/sync-addresses.ts';
import { onePass, type Wallet, withWallet } from '../support/with-wallet.ts';

const patiently = { signal: new AbortController().signal, whenBusy: 'wait' as const };
const settings = { chains: [60], pools: { settleMs: 100, maxPerDay: 10_000 } };
const path = '/v1/wallet/address';

async function withPool(target = 10): Promise<Wallet> {
  const wallet = await withWallet({ transactions: 0, addressesPerChain: 3 }, settings);
  await mirrorPools(wallet.ledger, [{ slip44: 60, threshold: target, target }]);
  return wallet;
}

function say({ sandbox }: Wallet, addresses: unknown[]): void {
  const data = addresses.map((address) => ({ address }));
  sandbox.answers.set(path, { status: 200, text: JSON.stringify({ code: 0, msg: '', data }) });
}

/** The address of the chain with this number. */
const address = (number: number) => `0x${number.toString(16).padStart(40, '0')}`;

const requests = async ({ query }: Wallet) =>
  await query('select num, state, received, error from ledger.address_requests order by id');

test('[A4] from an answer with missing, repeated, known and empty addresses the valid ones are stored once, and the difference is reported', async () => {
  const wallet = await withPool();
  const { sandbox, context, query } = wallet;
  const [known] = sandbox.world.addresses(60);
  const good = Array.from({ length: 10 }, (_, index) => address(index + 10));
  const [first = '', second = ''] = good;
  const again = [first, first.toUpperCase().replace('X', 'x'), second.slice(2)];
  say(wallet, [...good, ...again, '', ' ', null, 'a\0', 'a'.repeat(1_025), known]);
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  const rows = await query(`select address from ledger.addresses where generated_by is not null`);
  expect(new Set(rows.map(({ address }) => address))).toEqual(new Set(good));
  // The list had shown it before: there is no evidence that this request generated it.
  const kept = await query('select status from ledger.addresses where address = $1', [known]);
  expect(kept).toEqual([{ status: 'foreign' }]);
  expect(await requests(wallet)).toEqual([{ num: 10, state: 'done', received: 10, error: null }]);
  const rejects = await query('select count(*)::int as n from ledger.rejects');
  expect(rejects).toEqual([{ n: 5 }]);
});

test('pools are filled also by a service without totals, also after a lost answer', async () => {
  const wallet = await withPool();
  const { sandbox, query } = wallet;
  const client: typeof wallet.context.client = {
    ...wallet.context.client,
    listAddresses: async (...asked) => {
      const page = await wallet.context.client.listAddresses(...asked);
      return { ...page, totalSize: null };
    },
  };
  const context = { ...wallet.context, client };
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect(await requests(wallet)).toEqual([{ num: 10, state: 'done', received: 10, error: null }]);
  await query(`select ledger.take_address(60, 'customer ' || n) from generate_series(1, 4) n`);
  sandbox.answers.set(path, { status: 200, text: 'cut' });
  const lost = fillPools(context, patiently);
  await expect.poll(() => requests(wallet)).toHaveLength(2);
  sandbox.answers.delete(path);
  expect((await lost).isComplete).toBe(true);
  const available = await query(`select available::int from ledger.pool_levels where slip44 = 60`);
  expect(available).toEqual([{ available: 10 }]);
});

test.each([
  ['nothing', []],
  ['addresses that the list never shows', [address(101), address(102)]],
])('a first answer of %s delays a pool only for a while', async (_what, addresses) => {
  const wallet = await withWallet(
    { transactions: 0, addressesPerChain: 0 },
    { chains: [60], pools: { settleMs: 20, maxPerDay: 10_000 } },
  );
  const { context, query } = wallet;
  await mirrorPools(wallet.ledger, [{ slip44: 60, threshold: 2, target: 2 }]);
  const records = addresses.map((each) => ({ address: each }));
  const answer = { observation: 1, records, rejects: [] };
  const client = { ...context.client, generateAddresses: () => Promise.resolve(answer) };
  for (let passes = 0; passes < 3; passes += 1)
    expect((await fillPools({ ...context, client }, patiently)).isComplete).toBe(false);
  expect(await requests(wallet)).toHaveLength(1);
  await expect
    .poll(
      async () => {
        // This test does not cover the wait after an answer of which no address joined.
        await query('update ledger.pools set next_try_at = null');
        await query(
          `update ledger.address_requests set list_read_at = now() - interval '70 seconds'`,
        );
        return (await fillPools(context, patiently)).isComplete;
      },
      { timeout: 10_000 },
    )
    .toBe(true);
  expect(await requests(wallet)).toMatchObject([
    { num: 2, state: 'done', received: 0 },
    { num: 2, state: 'done', received: 2 },
  ]);
  const [kept] = await query('select answer from ledger.address_requests order by id limit 1');
  expect(kept?.['answer'] ?? []).toEqual(addresses);
});

test('a pass ends if each of its answers is lost, and the next one fills the pool', async () => {
  const wallet = await withPool();
  const { context } = wallet;
  const lostAnswer = new LedgerError('service-malformed', 'an answer whose data is not a list');
  const client = { ...context.client, generateAddresses: () => Promise.reject(lostAnswer) };
  await expect(fillPools({ ...context, client }, patiently)).rejects.toMatchObject({
    exitCode: 4,
    message:
      '3 answers in a row about new addresses of chain 60 were lost, the last one because: an answer whose data is not a list',
  });
  expect(await requests(wallet)).toMatchObject([{ num: 10 }, { num: 5 }, { num: 2 }]);
  expect(await wallet.query('select last_error from ledger.pools')).toEqual([
    { last_error: expect.stringContaining('3 answers in a row') },
  ]);
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  const available = await wallet.query(`select available::int from ledger.pool_levels`);
  expect(available).toEqual([{ available: 10 }]);
});

test('an occasional lost answer does not end a pass', async () => {
  const wallet = await withPool(40);
  const { context } = wallet;
  await wallet.query('update ledger.pools set num_max = 8');
  let asked = 0;
  const client: typeof context.client = {
    ...context.client,
    generateAddresses: async (...request) => {
      asked += 1;
      if (asked % 2 === 1) throw new LedgerError('service-malformed', 'cut off');
      return await context.client.generateAddresses(...request);
    },
  };
  expect((await fillPools({ ...context, client }, patiently)).isComplete).toBe(true);
  expect(asked).toBeGreaterThan(6);
}, 60_000);

test('[A4] if an answer has more new addresses than were requested, none of them is handed out', async () => {
  const wallet = await withPool(2);
  say(wallet, [address(1), address(2), address(3)]);
  expect((await fillPools(wallet.context, patiently)).isComplete).toBe(false);
  const error =
    '2 addresses were requested; 3 new ones came: there is no proof which of them are ours, so all stay foreign';
  expect(await requests(wallet)).toEqual([{ num: 2, state: 'done', received: 0, error }]);
  expect(await wallet.query('select last_error from ledger.pools')).toEqual([
    { last_error: error },
  ]);
  const { rows } = await wallet.ledger.pool.query('select distinct status from ledger.addresses');
  expect(rows).toEqual([{ status: 'foreign' }]);
  const stop =
    /^nothing more is requested until `wallet-ledger pool refill 60`.*POOL_EXCLUSIVE=true.*`wallet-ledger pool adopt 60`/;
  const problem = () =>
    wallet.query(
      `select what, cure from ledger.problems where name in ('pool_empty', 'pool_not_filled')`,
    );
  expect(await problem()).toEqual([
    { what: expect.stringContaining(error), cure: expect.stringMatching(stop) },
  ]);
  // The wait after a refusal has ended: a further request would generate more addresses that cannot be used.
  await wallet.query(`update ledger.pools set next_try_at = now() - interval '1 hour'`);
  expect((await fillPools(wallet.context, patiently)).isComplete).toBe(false);
  expect(await requests(wallet)).toHaveLength(1);
  expect(await problem()).toEqual([
    {
      what: expect.stringMatching(/more addresses than were requested.*no more are requested$/),
      cure: expect.stringMatching(stop),
    },
  ]);
  wallet.sandbox.answers.clear();
  expect((await fillPools(wallet.context, { ...patiently, force: true })).isComplete).toBe(true);
  expect(await requests(wallet)).toMatchObject([{ received: 0 }, { num: 2, received: 2 }]);
});

test.each([
  [0, 'available'],
  [1, 'foreign'],
])(
  'if nobody else uses the key, all new addresses of an answer are ours, unless it also names known ones: %i',
  async (known, status) => {
    const wallet = await withPool(2);
    const { context, sandbox, query } = wallet;
    const settingsOfOwner = { ...context.settings, isPoolExclusive: true };
    const generateAddresses: typeof context.client.generateAddresses = async (request, ...rest) => {
      const answer = await context.client.generateAddresses(
        { ...request, num: request.num + 3 },
        ...rest,
      );
      const before = sandbox.world
        .addresses(60)
        .slice(0, known)
        .map((each) => ({ address: each }));
      return { ...answer, records: [...answer.records, ...before] };
    };
    const client = { ...context.client, generateAddresses };
    const filled = await fillPools({ ...context, client, settings: settingsOfOwner }, patiently);
    expect(filled.isComplete).toBe(known === 0);
    const rows = await query(
      'select status, count(*)::int from ledger.addresses where address <> all($1) group by status',
      [sandbox.world.addresses(60).slice(0, 3)],
    );
    expect(rows).toEqual([{ status, count: 5 }]);
  },
);

test('[A4] an address that another chain already has does not become ours on this chain', async () => {
  const wallet = await withWallet(
    { transactions: 0, addressesPerChain: 3 },
    { ...settings, chains: [195, 60] },
  );
  const { ledger, sandbox, context } = wallet;
  await mirrorPools(
    ledger,
    [195, 60].map((slip44) => ({ slip44, threshold: 2, target: 2 })),
  );
  await syncAddresses(context, onePass());
  const [ofTron = ''] = sandbox.world.addresses(195);
  say(wallet, [ofTron, address(1)]);
  // The list shows the two generated addresses, and none of the returned ones.
  expect((await fillPools(context, { ...patiently, chains: [60] })).isComplete).toBe(true);
  const { rows } = await ledger.pool.query(
    'select slip44, status from ledger.addresses where address = any($1) order by slip44, status desc',
    [[ofTron, address(1)]],
  );
  expect(rows).toEqual([{ slip44: 195, status: 'foreign' }]);
});

test.each([
  ['no address', [], '10 addresses were requested, and no usable one came'],
  [
    'the same addresses',
    [address(1), address(2)],
    '2 addresses were requested; 2 came, all known before: none joined the pool',
  ],
  ['only unusable addresses', ['', null], '10 addresses were requested, and no usable one came'],
])(
  '[A4 A8] a service that always answers with %s is not requested again and again, and the reason names the answer',
  async (_what, addresses, reason) => {
    const wallet = await withPool();
    const { sandbox, context } = wallet;
    const stop = new AbortController();
    const watch = setInterval(() => {
      if (sandbox.stats.requests[path] > 20) stop.abort(new Error('asked without end'));
    }, 5);
    try {
      say(wallet, addresses);
      expect((await fillPools(context, { ...patiently, signal: stop.signal })).isComplete).toBe(
        false,
      );
    } finally {
      clearInterval(watch);
    }
    const asked = sandbox.stats.requests[path];
    expect(asked).toBeLessThanOrEqual(3);
    expect(await wallet.query('select last_error from ledger.pools')).toEqual([
      { last_error: reason },
    ]);
    expect((await fillPools(context, patiently)).isComplete).toBe(false);
    expect(sandbox.stats.requests[path]).toBe(asked);
    sandbox.answers.clear();
    await wallet.ledger.pool.query('update ledger.pools set next_try_at = now()');
    expect((await fillPools(context, patiently)).isComplete).toBe(true);
  },
);

test('[A8] the daily ceiling counts the addresses that an answer without addresses may have generated', async () => {
  const wallet = await withWallet(
    { transactions: 0, addressesPerChain: 0 },
    { chains: [60], pools: { settleMs: 100, maxPerDay: 25 } },
  );
  const { ledger, sandbox, context, query } = wallet;
  await mirrorPools(ledger, [{ slip44: 60, threshold: 10, target: 10 }]);
  say(wallet, []);
  for (let turn = 0; turn < 6; turn += 1) {
    expect((await fillPools(context, patiently)).isComplete).toBe(false);
    await query('update ledger.pools set next_try_at = now()');
  }
  expect(sandbox.world.generated(60)).toBe(25);
  const rows = await query('select last_error from ledger.pools');
  expect(rows[0].last_error).toContain('POOL_MAX_PER_DAY');
});

test('[A8] the daily ceiling counts the received addresses if the service ignores the requested number', async () => {
  const wallet = await withPool(10);
  const settingsOf = (context: Wallet['context']) => ({
    ...context,
    settings: { ...context.settings, pools: { settleMs: 100, maxPerDay: 40 } },
  });
  for (const turn of [1, 2, 3]) {
    say(
      wallet,
      Array.from({ length: 30 }, (_, index) => address(100 * turn + index)),
    );
    await fillPools(settingsOf(wallet.context), { ...patiently, force: true });
  }
  expect(
    await wallet.query('select num, received, generated from ledger.address_requests order by id'),
  ).toEqual([
    { num: 10, received: 0, generated: 30 },
    { num: 10, received: 0, generated: 30 },
  ]);
  const levels = await wallet.query('select generated_24h::int from ledger.pool_levels');
  expect(levels).toEqual([{ generated_24h: 60 }]);
  const [pool] = await wallet.query('select last_error from ledger.pools');
  expect(pool.last_error).toContain('POOL_MAX_PER_DAY is reached: 60');
});

/** The service generates `made` of the requested number, and returns the first `named` addresses. */
function granting(
  { context }: Wallet,
  { made, named }: { made: (num: number) => number; named: number },
): Wallet['context'] {
  const { client } = context;
  const generateAddresses: typeof client.generateAddresses = async ({ slip44, num }, ...rest) => {
    const answer = await client.generateAddresses({ slip44, num: made(num) }, ...rest);
    return { ...answer, records: answer.records.slice(0, named) };
  };
  return { ...context, client: { ...client, generateAddresses } };
}

test('[A8] a service that grants three addresses per request fills the pool, and the daily ceiling counts only these', async () => {
  const wallet = await withWallet(
    { transactions: 0, addressesPerChain: 0 },
    { chains: [60], pools: { settleMs: 100, maxPerDay: 36 } },
  );
  const { ledger, sandbox, query } = wallet;
  await mirrorPools(ledger, [{ slip44: 60, threshold: 30, target: 30 }]);
  const context = granting(wallet, { made: (num) => Math.min(num, 3), named: 3 });
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect(sandbox.world.generated(60)).toBe(30);
  const levels = () => query('select available::int, generated_24h::int from ledger.pool_levels');
  expect(await levels()).toEqual([{ available: 30, generated_24h: 30 }]);
  // Each request is for the number that arrived before; twice the number is tried once.
  const nums = (await requests(wallet)).map(({ num }) => num);
  expect(nums).toEqual([30, 3, 6, 3, 3, 3, 3, 3, 3, 3]);
  await query(`select ledger.take_address(60, 'customer ' || n) from generate_series(1, 20) n`);
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  expect(await levels()).toEqual([{ available: 16, generated_24h: 36 }]);
  const [pool] = await query('select last_error from ledger.pools');
  expect(pool.last_error).toMatch(/POOL_MAX_PER_DAY is reached: 36 addresses were, or may/);
});

test('[A8] a larger number is tried again minutes after fewer came than were requested', async () => {
  const wallet = await withWallet(
    { transactions: 0, addressesPerChain: 0 },
    { chains: [60], pools: { settleMs: 100, maxPerDay: 10_000 } },
  );
  const { ledger, query } = wallet;
  await mirrorPools(ledger, [{ slip44: 60, threshold: 4, target: 4 }]);
  let limit = 1;
  const context = granting(wallet, { made: (num) => Math.min(num, limit), named: 200 });
  let seen = 0;
  /** Fills the pool, hands all of it out, and returns the numbers that were requested meanwhile. */
  const fill = async () => {
    expect((await fillPools(context, patiently)).isComplete).toBe(true);
    await query(`select ledger.take_address(60, 'c' || ${seen} || n) from generate_series(1, 4) n`);
    const nums = (await requests(wallet)).map(({ num }) => num).slice(seen);
    seen += nums.length;
    return nums;
  };
  const wait = (minutes: number) =>
    query(
      `update ledger.address_requests set requested_at = requested_at - interval '${minutes} minutes'`,
    );
  expect(await fill()).toEqual([4, 1, 2, 1]);
  expect(await fill()).toEqual([1, 1, 1, 1]);
  await wait(1.5);
  expect(await fill()).toEqual([1, 2, 1, 1]);
  await wait(1.5);
  expect(await fill()).toEqual([1, 1, 1, 1]);
  await wait(1.5);
  limit = 200;
  expect(await fill()).toEqual([1, 2, 1]);
  expect(await fill()).toEqual([4]);
});

test('[A8] addresses that a service generates and does not return are counted once the list shows them, and bounded until then', async () => {
  const wallet = await withWallet(
    { transactions: 0, addressesPerChain: 3 },
    { chains: [60], pools: { settleMs: 100, maxPerDay: 60 } },
  );
  const { ledger, sandbox, query } = wallet;
  await mirrorPools(ledger, [{ slip44: 60, threshold: 500, target: 500 }]);
  const context = granting(wallet, { made: (num) => num, named: 3 });
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  const made = sandbox.world.generated(60);
  expect(made).toBeGreaterThan(60);
  expect(made).toBeLessThanOrEqual(60 + 200);
  const levels = await query('select generated_24h::int from ledger.pool_levels');
  expect(levels).toEqual([{ generated_24h: made }]);
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  expect(sandbox.world.generated(60)).toBe(made);
});

test('an address of an answer that already has a deposit is not handed out', async () => {
  const wallet = await withPool(2);
  const { context, query } = wallet;
  await query(
    `insert into ledger.transactions (order_no, stream, type, state, to_address, observation)
    values ('early', 'deposit', 'deposit', 'pending', $1, 1)`,
    [address(10).replace('a', 'A')],
  );
  say(wallet, [address(10), address(11)]);
  await fillPools(context, patiently);
  const rows = await query(
    `select address, status from ledger.addresses where generated_by is not null or status = 'available' or address = $1 order by 1`,
    [address(10)],
  );
  expect(rows).toEqual([
    { address: address(10), status: 'foreign' },
    { address: address(11), status: 'available' },
  ]);
});

test('a refusal that requires the chain tells how to find the name of its parameter', async () => {
  const wallet = await withPool();
  const text = JSON.stringify({ code: 40_001, msg: 'chain is required', data: null });
  wallet.sandbox.answers.set(path, { status: 200, text });
  expect((await fillPools(wallet.context, patiently)).isComplete).toBe(false);
  const [pool] = await wallet.query(
    `select what, cure from ledger.problems where name = 'pool_empty'`,
  );
  expect(pool).toEqual({
    what: expect.stringMatching(/doctor.*WALLET_PARAM_NAMES chain=.*chain is required$/),
    cure: expect.stringMatching(/wallet-ledger doctor.*WALLET_PARAM_NAMES/),
  });
});

test.each([
  ['chain is required', true],
  ['missing parameter: chainId', true],
  ['coin must not be empty', true],
  ['unsupported chain', false],
  ['num is required', false],
  ['rate limit', false],
])(
  'a refusal with the words "%s" concerns the name of the chain parameter: %s',
  (words, isName) => {
    expect(withChainCure(words, 'slip44').includes('WALLET_PARAM_NAMES')).toBe(isName);
  },
);
