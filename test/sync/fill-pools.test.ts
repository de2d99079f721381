import { expect, test } from 'vitest';
import { mirrorPools } from '../../src/ledger/addresses/pool-store.ts';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox-options.ts';
import { fillPools } from '../../src/sync/pools/fill-pools.ts';
import { syncAddresses } from '../../src/sync/pools/sync-addresses.ts';
import { until } from '../support/until.ts';
import { onePass, openWallet, withWallet } from '../support/with-wallet.ts';

const { signal } = new AbortController();
const patiently = { signal, whenBusy: 'wait' as const };
const limits = { settleMs: 300, maxPerDay: 10_000 };

async function statuses(ledger: Ledger, slip44 = 60): Promise<Record<string, number>> {
  const { rows } = await ledger.pool.query(
    'select status, count(*)::int as n from ledger.addresses where slip44 = $1 group by status',
    [slip44],
  );
  return Object.fromEntries(rows.map((row) => [row.status, row.n]));
}

/** A wallet without transactions, and its pool for Ethereum. */
async function withPool(threshold = 0, target = 0, options: Partial<SandboxOptions> = {}) {
  const settings = { chains: [60], pools: limits };
  const none = { transactions: 0, addressesPerChain: 0 };
  const wallet = await withWallet({ ...none, ...options }, settings);
  if (target > 0) await mirrorPools(wallet.ledger, [{ slip44: 60, threshold, target }]);
  return wallet;
}

test('[A7] three concurrent passes fill a pool from 0 to exactly its target, in as few requests as the service allows', async () => {
  const settings = { chains: [60], pools: limits };
  const { sandbox, ledger, context, connectionString } = await withWallet(
    { transactions: 0, addressesPerChain: 0 },
    settings,
  );
  await mirrorPools(ledger, [{ slip44: 60, threshold: 500, target: 1_000 }]);
  const others = await Promise.all(
    [1, 2].map(() => openWallet(sandbox, connectionString, settings)),
  );
  try {
    const reports = await Promise.all(
      [context, ...others.map((other) => other.context)].map((each) => fillPools(each, patiently)),
    );
    expect(reports.map((report) => report.isComplete)).toEqual([true, true, true]);
  } finally {
    await Promise.all(others.map((other) => other.ledger.close()));
  }
  expect(await statuses(ledger)).toEqual({ available: 1_000 });
  expect(sandbox.stats.requests['/v1/wallet/address']).toBe(5);
  expect(sandbox.world.generated(60)).toBe(1_000);
  expect(await fillPools(context, patiently)).toMatchObject({ isComplete: true, rowsInserted: 0 });
  expect(sandbox.stats.requests['/v1/wallet/address']).toBe(5);
});

test('generated addresses do not change the proof of their list, which the next pass over the list updates', async () => {
  const { ledger, context, query } = await withPool(5, 10, { addressesPerChain: 3 });
  const proofs = () =>
    query('select is_complete, service_total::int, ledger_count::int from ledger.stream_proofs');
  await syncAddresses(context, onePass());
  expect(await proofs()).toEqual([{ is_complete: true, service_total: 3, ledger_count: 3 }]);
  expect(await fillPools(context, patiently)).toMatchObject({ isComplete: true });
  expect(await statuses(ledger)).toEqual({ foreign: 3, available: 10 });
  expect(await proofs()).toHaveLength(1);
  await query(`update ledger.streams set service_total = 12 where name = 'addresses:60'`);
  await syncAddresses(context, onePass());
  expect((await proofs()).at(-1)).toMatchObject({ is_complete: true, service_total: 13 });
});

test('a pass over many chains needs one extra database connection in total, not one for each chain', async () => {
  const chains = [0, 2, 60, 195];
  const { sandbox, ledger, context } = await withWallet(
    { transactions: 0, addressesPerChain: 0 },
    { chains, pools: limits },
  );
  await mirrorPools(
    ledger,
    chains.map((slip44) => ({ slip44, threshold: 5, target: 10 })),
  );
  const announced: string[] = [];
  const counting: Ledger = {
    ...ledger,
    openLiveness: (name) => {
      announced.push(name);
      return ledger.openLiveness(name);
    },
  };
  expect((await fillPools({ ...context, ledger: counting }, patiently)).isComplete).toBe(true);
  expect(announced).toHaveLength(1);
  expect(chains.map((slip44) => sandbox.world.generated(slip44))).toEqual(chains.map(() => 10));
});

test.each([1, 7])(
  'if the list of a chain without addresses counts %i rows too many, the first answer fills its pool',
  async (tooMany) => {
    const { sandbox, ledger, context } = await withPool(10, 20);
    sandbox.faults.totalError = tooMany;
    for (let passes = 0; passes < 2; passes += 1) await fillPools(context, patiently);
    expect(await statuses(ledger)).toEqual({ available: 20 });
    expect(sandbox.world.generated(60)).toBe(20);
  },
);

test('a request that was committed without the process learning of it is closed by the list, without a further wait', async () => {
  const { sandbox, ledger, context, query } = await withPool(10, 20);
  const open = `select count(*)::int as n from ledger.address_requests where state = 'sent'`;
  let isLost = false;
  const losing: Ledger = {
    ...ledger,
    async transaction(work) {
      const result = await ledger.transaction(work);
      if (isLost || (await query(open))[0].n === 0) return result;
      isLost = true;
      return await ledger.transaction(work);
    },
  };
  const report = await fillPools({ ...context, ledger: losing }, patiently);
  expect([isLost, report.isComplete]).toEqual([true, true]);
  expect(sandbox.world.generated(60)).toBe(20);
  expect(await statuses(ledger)).toEqual({ available: 20 });
});

test('[A1 A5] addresses from before are foreign and not counted; addresses of lost answers are found in the list, none is lost', async () => {
  const { sandbox, ledger, context, query } = await withPool(500, 1_000, {
    addressesPerChain: 300,
    addressLagMs: 100,
  });
  sandbox.faults.next.push('lost-answer', 'lost-answer');
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect(await statuses(ledger)).toEqual({ available: 1_000, foreign: 300 });
  expect(sandbox.world.generated(60)).toBe(1_000);
  const rows = await query('select state, num, received from ledger.address_requests order by id');
  // Each lost answer halves the number; each answer that arrives doubles it again.
  expect(rows).toEqual(
    [200, 100, 50, 100, 200, 200, 150].map((num) => ({ state: 'done', num, received: num })),
  );
  expect(await query('select losses, num_max from ledger.pools')).toEqual([
    { losses: 0, num_max: 200 },
  ]);
});

test('if the list shows more new addresses after a lost answer than were requested, none of them is handed out', async () => {
  const { sandbox, ledger, context } = await withPool(10, 20);
  sandbox.faults.next.push('lost-answer');
  expect((await fillPools(context, { signal, whenBusy: 'skip' })).isComplete).toBe(false);
  // Another program uses the same key: the owner of these addresses cannot be determined.
  sandbox.world.generateAddresses(60, 5);
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect(await statuses(ledger)).toEqual({ available: 20, foreign: 25 });
});

test('[A6] a chain that the service refuses delays no other; its reason is stored, it waits, and then requests fewer', async () => {
  const { sandbox, ledger, context, query } = await withWallet(
    { transactions: 0, addressesPerChain: 0, supportedChains: [60] },
    { chains: [195, 60], pools: limits },
  );
  await mirrorPools(ledger, [
    { slip44: 195, threshold: 10, target: 40 },
    { slip44: 60, threshold: 10, target: 40 },
  ]);
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  expect(await statuses(ledger, 60)).toEqual({ available: 40 });
  const refused = async () =>
    (
      await query(
        'select num_max, refusals, last_error, next_try_at > now() as waits from ledger.pools where slip44 = 195',
      )
    )[0];
  const first = await refused();
  expect(first.last_error).toMatch(/chain/);
  const asked = sandbox.stats.requests['/v1/wallet/address'];
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  expect(sandbox.stats.requests['/v1/wallet/address']).toBe(asked);
});

test('[A6] a refused number is halved at once, and the pool is filled as soon as the service grants a request', async () => {
  const { sandbox, context, query } = await withPool(10, 150);
  sandbox.answers.set('/v1/wallet/address', {
    status: 200,
    text: '{"code":30002,"msg":"num exceeds the limit","data":null}',
  });
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  sandbox.answers.clear();
  const rows = await query('select num_max, refusals, last_error from ledger.pools');
  expect(rows).toMatchObject([
    { num_max: 1, refusals: 1, last_error: expect.stringContaining('num exceeds the limit') },
  ]);
  await query(`update ledger.pools set next_try_at = now()`);
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  const requests = `select state, array_agg(num order by id) as nums from ledger.address_requests group by 1 order by 1`;
  expect(await query(requests)).toMatchObject([
    { state: 'done', nums: [1, 2, 4, 8, 16, 32, 64, 23] },
    { state: 'failed', nums: [150, 75, 37, 18, 9, 4, 2, 1] },
  ]);
  expect(await query('select refusals, last_error from ledger.pools')).toEqual([
    { refusals: 0, last_error: null },
  ]);
});

test('[A8] the daily ceiling stops the filling of a pool and is given as the reason', async () => {
  const { sandbox, ledger, context, query } = await withWallet(
    { transactions: 0, addressesPerChain: 0 },
    { chains: [60], pools: { ...limits, maxPerDay: 250 } },
  );
  await mirrorPools(ledger, [{ slip44: 60, threshold: 500, target: 1_000 }]);
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  expect(sandbox.world.generated(60)).toBe(250);
  const rows = await query('select last_error from ledger.pools');
  expect(rows[0].last_error).toContain('POOL_MAX_PER_DAY');
});

test('[A5] if the list does not show the first addresses yet, it is read again before the next request, and this is no fault', async () => {
  const { sandbox, ledger, context, query } = await withPool(10, 20, { addressLagMs: 700 });
  await until(async () => (await fillPools(context, patiently)).isComplete);
  await query(`update ledger.addresses set status = 'assigned'`);
  await until(async () => (await fillPools(context, patiently)).isComplete);
  expect(await statuses(ledger)).toEqual({ assigned: 20, available: 20 });
  expect(sandbox.world.generated(60)).toBe(40);
});

test('[A8] an address list that is suddenly empty is a fault and does not cause a request for addresses', async () => {
  const { sandbox, context, query } = await withPool(10, 20);
  await fillPools(context, patiently);
  await query(`update ledger.addresses set status = 'assigned'`);
  sandbox.answers.set('/v1/wallet/address/list', {
    status: 200,
    text: '{"code":0,"msg":"","data":{"pageNo":1,"pageSize":100,"totalSize":0,"totalPages":0,"list":[],"prevPage":1,"nextPage":1}}',
  });
  await syncAddresses(context, { signal, ifLeased: 'wait', sliceMs: null, effort: 'pool' });
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  expect(sandbox.world.generated(60)).toBe(20);
});

test('a number that temporary refusals lowered to 1 returns to 200, and a limit is tested at most twice a day', async () => {
  const { sandbox, ledger, context, query } = await withPool();
  const fill = async (target: number) => {
    await mirrorPools(ledger, [{ slip44: 60, threshold: target, target }]);
    await query('update ledger.pools set next_try_at = now()');
    return (await fillPools(context, patiently)).isComplete;
  };
  const refuse = (msg: string) =>
    sandbox.answers.set('/v1/wallet/address', {
      status: 200,
      text: JSON.stringify({ code: 30002, msg, data: null }),
    });
  refuse('not now');
  await fill(2);
  expect(await query('select num_max from ledger.pools')).toEqual([{ num_max: 200 }]);
  refuse('num exceeds the limit');
  for (let each = 0; each < 9; each += 1) await fill(300);
  expect(await query('select num_max from ledger.pools')).toEqual([{ num_max: 1 }]);
  sandbox.answers.clear();
  expect(await fill(300)).toBe(true);
  expect(await query('select num_max from ledger.pools')).toEqual([{ num_max: 200 }]);
  await query(`insert into ledger.address_requests (slip44, num, state, requested_at, finished_at, received)
    values (60, 50, 'done', now(), now(), 50), (60, 100, 'failed', now(), now(), 0)`);
  await query('update ledger.pools set num_max = 25');
  expect(await fill(500)).toBe(true);
  expect(await query('select num_max from ledger.pools')).toEqual([{ num_max: 50 }]);
});

test('a number is requested again after one lost answer; if every answer to it is lost, it counts as a limit', async () => {
  const { ledger, context, query } = await withPool();
  const lose = `(60, 50, 'done', now(), now(), null, 50), (60, 100, 'done', now(), now(), now(), 0)`;
  const fillAfter = async (earlier: string, target: number) => {
    await query(`insert into ledger.address_requests
      (slip44, num, state, requested_at, finished_at, lost_at, received) values ${earlier}`);
    await mirrorPools(ledger, [{ slip44: 60, threshold: target, target }]);
    await query('update ledger.pools set num_max = 25');
    expect(await fillPools(context, patiently)).toMatchObject({ isComplete: true });
    return await query('select num_max from ledger.pools');
  };
  expect(await fillAfter(lose, 500)).toEqual([{ num_max: 200 }]);
  expect(await fillAfter(lose, 1_000)).toEqual([{ num_max: 200 }]);
  // No number as large was granted in between.
  expect(await fillAfter(`${lose}, ${lose}`, 1_500)).toEqual([{ num_max: 50 }]);
});

test('after a lost answer the new addresses are ours only if their number is the requested one and no other chain has them', async () => {
  const { sandbox, ledger, context, query } = await withPool(10, 20, { addressesPerChain: 1 });
  const impatiently = { signal, whenBusy: 'skip' as const };
  // Nothing was generated, and another program generated two addresses.
  sandbox.faults.next.push('hang');
  await fillPools(context, impatiently);
  await query(
    `update ledger.address_requests set state = 'unknown', list_read_at = now() - interval '1 hour'`,
  );
  sandbox.world.generateAddresses(60, 2);
  await fillPools(context, patiently);
  const rows = await query(
    'select num, received, error from ledger.address_requests order by id limit 1',
  );
  expect(rows[0]).toMatchObject({
    num: 20,
    received: 0,
    error: expect.stringContaining('2 new addresses of 20'),
  });
  // The requested number of addresses is new, but one of them also belongs to another chain.
  await query(`update ledger.addresses set status = 'assigned' where status = 'available'`);
  sandbox.faults.next.push('lost-answer');
  await fillPools(context, impatiently);
  const [last] = sandbox.world.addresses(60).slice(-1);
  await query(
    `insert into ledger.addresses (slip44, address, status, first_seen_at) values (56, $1, 'foreign', now())`,
    [last],
  );
  const before = await statuses(ledger);
  await fillPools(context, patiently);
  const after = await statuses(ledger);
  expect(before['foreign']).toBeGreaterThan(3);
  expect(after['foreign']).toBe(before['foreign']);
});

test('a pool is filled in the same pass although another job is reading its list', async () => {
  const { ledger, context } = await withPool(10, 20, { latencyMs: 300 });
  const [, filled] = await Promise.all([
    syncAddresses(context, { signal, ifLeased: 'skip', sliceMs: null, effort: 'pool' }),
    fillPools(context, { signal, whenBusy: 'skip' }),
  ]);
  expect(filled.isComplete).toBe(true);
  expect(await statuses(ledger)).toEqual({ available: 20 });
});

test('if a chain is removed from the setting while its answer is lost, its request is still closed, and its pool is not filled', async () => {
  const { sandbox, ledger, context, query } = await withPool();
  const pool = { slip44: 60, threshold: 10, target: 20 };
  const other = { slip44: 195, threshold: 1, target: 1 };
  await mirrorPools(ledger, [pool]);
  sandbox.faults.next.push('lost-answer');
  expect((await fillPools(context, { signal, whenBusy: 'skip' })).isComplete).toBe(false);
  await mirrorPools(ledger, [other]);
  const rows = await query('select slip44, target from ledger.pools order by 1');
  expect(rows).toEqual([
    { slip44: 60, target: 0 },
    { slip44: 195, target: 1 },
  ]);
  const moved = { ...context, settings: { ...context.settings, chains: [195] } };
  expect((await fillPools(moved, patiently)).isComplete).toBe(true);
  expect(await statuses(ledger)).toEqual({ available: 20 });
  expect(await statuses(ledger, 195)).toEqual({ available: 1 });
  await mirrorPools(ledger, [other]);
  expect(await query('select slip44 from ledger.pools')).toEqual([{ slip44: 195 }]);
});

test('a process without pools closes requests that an earlier setting left open, and fills nothing', async () => {
  const { sandbox, ledger, context } = await withPool(500, 500);
  sandbox.faults.next.push('lost-answer');
  expect((await fillPools(context, { signal, whenBusy: 'skip' })).isComplete).toBe(false);
  await mirrorPools(ledger, []);
  const without = { ...context, settings: { ...context.settings, chains: [] } };
  expect((await fillPools(without, patiently)).isComplete).toBe(true);
  expect(await statuses(ledger)).toEqual({ available: 200 });
});
