import { expect, test } from 'vitest';
import {
  type FilterSeen,
  judgeFilter,
  type ListSample,
  type OtherList,
} from '../../src/kernel/chain-filter.ts';
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
  // The parameter name is corrected.
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

const sample = (addresses: string[], total = addresses.length): ListSample => ({
  addresses,
  total,
  isWhole: total === addresses.length,
});

/** The list of another chain is the same each time; the own list is the same after it. */
function other(slip44: number, own: ListSample, list: ListSample, again = list): OtherList {
  const isApart =
    list.addresses.length > 0 && !list.addresses.some((a) => own.addresses.includes(a));
  return { slip44, answers: { first: list, ownAfter: own, again, isApart } };
}

const evm = `0x${'ab'.repeat(20)}`;
const tron = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const refusedChain: OtherList = { slip44: 61, answers: null };
const both = sample(['a', 'b']);
const long = sample(['a', 'b'], 50);
const none = sample([]);

test.each<[string, Partial<FilterSeen>, string]>([
  ['all lists are empty', { own: none, others: [other(61, none, none)] }, 'unknown'],
  ['the unused chain is empty beside a list that is not', { unused: 'empty' }, 'works'],
  ['the unused chain shows the same addresses', { unused: 'same' }, 'broken'],
  ['the unused chain shows other addresses', { unused: 'apart' }, 'works'],
  [
    'the unused chain shows the same addresses, but another chain shows others',
    { unused: 'same', others: [other(61, both, sample(['x']))] },
    'works',
  ],
  [
    'every chain and the unused one show the same',
    { unused: 'same', others: [other(61, both, both)] },
    'broken',
  ],
  [
    'one address on every real chain is normal',
    { unused: 'empty', others: [other(61, both, both)] },
    'works',
  ],
  [
    'only another chain has addresses',
    { own: none, unused: 'empty', others: [other(61, none, sample(['x']))] },
    'works',
  ],
  ['the unused chain is refused, and no other was asked', {}, 'shared'],
  ['every other chain is refused', { others: [refusedChain], areAllAsked: true }, 'works'],
  ['there is no other chain', { areAllAsked: true }, 'works'],
  ['there is no other chain, and no address', { own: none, areAllAsked: true }, 'unknown'],
  ['some refused chains were not queried', { others: [refusedChain] }, 'shared'],
  ['all chains show the same', { others: [other(61, both, both)], areAllAsked: true }, 'shared'],
  [
    'another chain shows nothing while the own list is not empty',
    { others: [other(61, both, none)] },
    'works',
  ],
  ['another chain lacks an address', { others: [other(61, both, sample(['a']))] }, 'works'],
  [
    'another chain has one more address',
    { others: [other(61, both, sample(['a', 'b', 'c']))] },
    'works',
  ],
  [
    'another chain lacked it only once',
    { others: [other(61, both, sample(['a']), both)] },
    'shared',
  ],
  [
    'a page of another chain lacks an address of a longer list',
    { own: long, others: [other(61, long, sample(['b', 'c'], 50))] },
    'shared',
  ],
  [
    'another chain has another total',
    { own: long, others: [other(61, long, sample(['a', 'b'], 49))] },
    'works',
  ],
  [
    'another chain has another total each time',
    { own: long, others: [other(61, long, sample(['a', 'b'], 49), sample(['a', 'b'], 50))] },
    'shared',
  ],
  ['the list shows an address of another chain', { own: sample([evm, tron]) }, 'broken'],
  [
    'the list shows an address of another chain although the unused chain is empty',
    { own: sample([evm, tron]), unused: 'empty' },
    'broken',
  ],
  [
    'a chain that cannot have the address lists it as well',
    { own: sample([evm]), others: [other(195, sample([evm]), sample([evm]))] },
    'broken',
  ],
  [
    'a chain of the same form lists it as well',
    { own: sample([evm]), others: [other(61, sample([evm]), sample([evm]))] },
    'shared',
  ],
  [
    'a chain of a form that is not known lists it as well',
    { own: sample([evm]), others: [other(990_001, sample([evm]), sample([evm]))] },
    'shared',
  ],
  [
    'an emulator lists texts of its own on all chains',
    { others: [other(195, both, both)] },
    'unknown',
  ],
])('the chain filter is judged by the lists where %s', (_what, seen, verdict) => {
  const refused = { slip44: 60, own: both, unused: 'refused' as const, others: [] };
  expect(judgeFilter({ ...refused, areAllAsked: false, ...seen })).toBe(verdict);
});
