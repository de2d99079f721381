import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
import { expect, test } from 'vitest';
import { adoptForeign } from '../../src/ledger/addresses/adopt-store.ts';
import { mirrorPools, takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { fillPools } from '../../src/sync/pools/fill-pools.ts';
import { syncAddresses } from '../../src/sync/pools/sync-addresses.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';

const hexOf = (address: string) =>
  Buffer.from(createBase58check(sha256).decode(address)).toString('hex');

test('a list that spells addresses otherwise than the answer shows the same ones: no address goes to two', async () => {
  const wallet = await withWallet(
    { transactions: 0, addressesPerChain: 0 },
    { chains: [195], pools: { settleMs: 100, maxPerDay: 10_000 } },
  );
  const { ledger, sandbox, context, query } = wallet;
  await mirrorPools(ledger, [{ slip44: 195, threshold: 10, target: 10 }]);
  const { world } = sandbox;
  const listing = world.addressListing;
  world.addressListing = (slip44) => {
    const { count, textAt } = listing(slip44);
    return { count, textAt: (index) => textAt(index).replace(/T\w{33}/, hexOf) };
  };
  const patiently = { signal: new AbortController().signal, whenBusy: 'wait' as const };
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  await syncAddresses(context, onePass());
  expect(await query('select status, count(*)::int as n from ledger.addresses group by 1')).toEqual(
    [{ status: 'available', n: 10 }],
  );
  expect(
    await query(
      `select is_complete, not_complete_because as why from ledger.streams where name = 'addresses:195'`,
    ),
  ).toEqual([{ is_complete: true, why: null }]);
  expect(
    await query("select distinct listed_as[1] ~ '^41' as is_hex from ledger.addresses"),
  ).toEqual([{ is_hex: true }]);
  await adoptForeign(ledger.db, 195, null);
  const taken = [];
  for (let n = 1; n <= 20; n += 1) {
    const address = await takeAddress(ledger.db, 195, `customer ${n}`);
    if (address !== null) taken.push(address.startsWith('T') ? hexOf(address) : address);
  }
  expect([taken.length, new Set(taken).size]).toEqual([10, 10]);
});
