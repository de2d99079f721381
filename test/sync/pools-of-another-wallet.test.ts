import { expect, test } from 'vitest';
import { mirrorPools } from '../../src/ledger/addresses/pool-store.ts';
import { acceptWallet } from '../../src/ledger/wallet-identity.ts';
import { fillPools } from '../../src/sync/pools/fill-pools.ts';
import { withWallet } from '../support/with-wallet.ts';

const patiently = { signal: new AbortController().signal, whenBusy: 'wait' as const };
const other = { baseUrl: 'https://other.example', keyFingerprint: 'b' };

/** A pool of a wallet that the ledger keeps, in a pass that has begun. */
async function withPool() {
  const settings = { chains: [60], pools: { settleMs: 0, maxPerDay: 100 } };
  const wallet = await withWallet({ transactions: 0, addressesPerChain: 0 }, settings);
  const { ledger, context, sandbox } = wallet;
  const identity = { baseUrl: sandbox.baseUrl, keyFingerprint: 'a' };
  await mirrorPools(ledger, [{ slip44: 60, threshold: 3, target: 5 }]);
  await acceptWallet(ledger.db, ledger.wallet, identity);
  return { ...wallet, context: { ...context, identity } };
}

test('a pass that runs while the ledger is given to another wallet generates no address any more', async () => {
  const { ledger, context, sandbox, query } = await withPool();
  await acceptWallet(ledger.db, ledger.wallet, other);
  await expect(fillPools(context, patiently)).rejects.toMatchObject({ code: 'settings' });
  expect(sandbox.stats.requests['/v1/wallet/address']).toBe(0);
  expect(await query('select from ledger.address_requests')).toEqual([]);
});

test('addresses that are generated while the ledger is given to another wallet do not join its pool', async () => {
  const { ledger, context, sandbox, query } = await withPool();
  const client: typeof context.client = {
    ...context.client,
    async generateAddresses(request, signal) {
      const answer = await context.client.generateAddresses(request, signal);
      await acceptWallet(ledger.db, ledger.wallet, other);
      sandbox.stats.reset();
      return answer;
    },
  };
  await expect(fillPools({ ...context, client }, patiently)).rejects.toMatchObject({
    code: 'settings',
  });
  expect(await query('select from ledger.addresses')).toEqual([]);
  expect(await query('select state from ledger.address_requests')).toEqual([{ state: 'unknown' }]);
  expect(Object.values(sandbox.stats.requests).reduce((sum, count) => sum + count)).toBe(0);
});
