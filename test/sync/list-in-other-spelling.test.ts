import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
import { expect, test } from 'vitest';
import { adoptForeign } from '../../src/ledger/addresses/adopt-store.ts';
import { mirrorPools, takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { fillPools } from '../../src/sync/pools/fill-pools.ts';
import { syncAddresses } from '../../src/sync/pools/sync-addresses.ts';
import { onePass, type Wallet, withWallet } from '../support/with-wallet.ts';

const hexOf = (address: string) =>
  Buffer.from(createBase58check(sha256).decode(address)).toString('hex');

test('addresses that the list spells differently from the answer are recognised: none is handed out to two customers', async () => {
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
  // The answer arrived first, although it was held back until the list was read.
  expect(await query("select distinct address ~ '^T' as is_first from ledger.addresses")).toEqual([
    { is_first: true },
  ]);
  await adoptForeign(ledger.db, 195, null);
  const taken = [];
  for (let n = 1; n <= 20; n += 1) {
    const address = await takeAddress(ledger.db, 195, `customer ${n}`);
    if (address !== null) taken.push(address.startsWith('T') ? hexOf(address) : address);
  }
  expect([taken.length, new Set(taken).size]).toEqual([10, 10]);
});

function spelling(context: Wallet['context'], spell: (text: string) => string): Wallet['context'] {
  const { client } = context;
  const listAddresses: typeof client.listAddresses = async (...asked) => {
    const page = await client.listAddresses(...asked);
    const records = page.records.map((each) => ({ ...each, address: spell(each.address) }));
    return { ...page, records };
  };
  return { ...context, client: { ...client, listAddresses } };
}

test('a list that changes the spelling of its addresses is proven again with the same rows', async () => {
  const wallet = await withWallet(
    { transactions: 0, addressesPerChain: 0 },
    { chains: [60], pools: { settleMs: 100, maxPerDay: 10_000 } },
  );
  const { ledger, query } = wallet;
  await mirrorPools(ledger, [{ slip44: 60, threshold: 6, target: 6 }]);
  const patiently = { signal: new AbortController().signal, whenBusy: 'wait' as const };
  expect((await fillPools(wallet.context, patiently)).isComplete).toBe(true);
  const proof = () =>
    query(`select is_complete, service_total::int as service, ledger_count::int as ledger
             from ledger.streams where name = 'addresses:60'`);
  expect(await proof()).toEqual([{ is_complete: true, service: 6, ledger: 6 }]);
  const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`;
  const lower = (text: string) => text.toLowerCase();
  for (const [spell, target] of [[upper, 7] as const, [lower, 8] as const]) {
    const context = spelling(wallet.context, spell);
    // A list that grows is read again.
    await mirrorPools(ledger, [{ slip44: 60, threshold: target, target }]);
    expect((await fillPools(context, patiently)).isComplete).toBe(true);
    for (let pass = 1; pass <= 3; pass += 1) await syncAddresses(context, onePass());
    expect(await proof()).toEqual([{ is_complete: true, service: target, ledger: target }]);
    expect(await query('select distinct status from ledger.addresses')).toEqual([
      { status: 'available' },
    ]);
  }
});
