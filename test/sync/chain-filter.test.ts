import { expect, test } from 'vitest';
import { type FilterSeen, judgeFilter } from '../../src/kernel/chain-filter.ts';
import { mirrorPools } from '../../src/ledger/addresses/pool-store.ts';
import { fillPools } from '../../src/sync/pools/fill-pools.ts';
import { until } from '../support/until.ts';
import { withWallet } from '../support/with-wallet.ts';

const patiently = { signal: new AbortController().signal, whenBusy: 'wait' as const };
const settings = { chains: [60, 195], pools: { settleMs: 100, maxPerDay: 10_000 } };

async function withPools(options: Parameters<typeof withWallet>[0]) {
  const wallet = await withWallet({ transactions: 0, ...options }, settings);
  await mirrorPools(
    wallet.ledger,
    settings.chains.map((slip44) => ({ slip44, threshold: 5, target: 10 })),
  );
  return wallet;
}

const available = `select count(*)::int as n from ledger.addresses where status = 'available'`;

test('a list that shows its addresses for a chain that does not exist stops the pool before its first request', async () => {
  const { sandbox, context, query } = await withPools({
    addressesPerChain: 5,
    filtersAddresses: false,
  });
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  expect(sandbox.stats.requests['/v1/wallet/address']).toBe(0);
  const problems = await query(
    `select name, cure from ledger.problems where name = 'chain_filter_broken'`,
  );
  expect(problems).toHaveLength(2);
  expect(problems[0]?.cure).toContain('WALLET_PARAM_NAMES chain=');
  const [pool] = await query('select last_error from ledger.pools');
  expect(pool?.last_error).toContain('WALLET_PARAM_NAMES chain=');
  // The name is put right.
  sandbox.options.filtersAddresses = true;
  await query('update ledger.pools set next_try_at = null');
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect(await query(available)).toEqual([{ n: 20 }]);
  expect(await query(`select from ledger.problems where name = 'chain_filter_broken'`)).toEqual([]);
});

test('if all lists are empty, the first addresses wait until the list has shown that it honours the chain parameter', async () => {
  const { sandbox, context, query } = await withPools({
    addressesPerChain: 0,
    addressLagMs: 1_500,
    filtersAddresses: false,
  });
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  expect(sandbox.world.generated(60)).toBe(10);
  expect(await query(available)).toEqual([{ n: 0 }]);
  expect(await query('select distinct state from ledger.address_requests')).toEqual([
    { state: 'unknown' },
  ]);
  await until(async () => sandbox.world.addressListing(60).count > 0);
  expect((await fillPools(context, patiently)).isComplete).toBe(false);
  expect(await query(available)).toEqual([{ n: 0 }]);
  expect(
    await query(
      `select count(*)::int as n from ledger.problems where name = 'chain_filter_broken'`,
    ),
  ).toEqual([{ n: 2 }]);
  sandbox.options.filtersAddresses = true;
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  expect([sandbox.world.generated(60), sandbox.world.generated(195)]).toEqual([10, 10]);
  expect(
    await query(`select slip44, status, count(*)::int as n from ledger.addresses
                  where generated_by is not null group by 1, 2 order by 1`),
  ).toEqual([
    { slip44: 60, status: 'available', n: 10 },
    { slip44: 195, status: 'available', n: 10 },
  ]);
});

test.each<[string, Omit<FilterSeen, 'isOwn'>, string]>([
  ['the chain that does not exist is refused', { own: [], unused: null, others: [] }, 'works'],
  ['it is empty beside a list that is not', { own: ['a'], unused: [], others: [] }, 'works'],
  ['all lists are empty', { own: [], unused: [], others: [[]] }, 'unknown'],
  ['it shows the same addresses', { own: ['a', 'b'], unused: ['b'], others: [] }, 'broken'],
  ['it shows other addresses', { own: ['a'], unused: ['x'], others: [] }, 'works'],
  [
    'it shows the same ones, but another chain shows others',
    { own: ['a'], unused: ['a'], others: [['x']] },
    'works',
  ],
  [
    'every chain and the one that does not exist show the same',
    { own: ['a'], unused: ['a'], others: [['a']] },
    'broken',
  ],
  [
    'one address on every real chain is normal',
    { own: ['a'], unused: [], others: [['a']] },
    'works',
  ],
  ['only another chain has addresses', { own: [], unused: [], others: [['x']] }, 'works'],
])('where %s', (_what, seen, verdict) => {
  const isOwn = (addresses: string[]) => addresses.some((each) => seen.own.includes(each));
  expect(judgeFilter({ ...seen, isOwn })).toBe(verdict);
});
