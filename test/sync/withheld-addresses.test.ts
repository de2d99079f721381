import { expect, test } from 'vitest';
import { acceptMove } from '../../src/ledger/accept-move.ts';
import { adoptForeign, listForeign } from '../../src/ledger/addresses/adopt-store.ts';
import { mirrorPools, takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { healHome } from '../../src/ledger/home-store.ts';
import { fillPools } from '../../src/sync/pools/fill-pools.ts';
import { syncAddresses } from '../../src/sync/pools/sync-addresses.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';

const patiently = { signal: new AbortController().signal, whenBusy: 'wait' as const };

/** A pool of ten listed addresses. `hidden`: those that the list no longer shows. */
async function withPool() {
  const wallet = await withWallet(
    { transactions: 0, addressesPerChain: 30 },
    { chains: [60], pools: { settleMs: 100, maxPerDay: 10_000 } },
  );
  const { ledger, sandbox, context, query } = wallet;
  await mirrorPools(ledger, [{ slip44: 60, threshold: 5, target: 10 }]);
  expect((await fillPools(context, patiently)).isComplete).toBe(true);
  await syncAddresses(context, onePass());
  const hidden = new Set<string>();
  const { world } = sandbox;
  const listing = world.addressListing;
  world.addressListing = (slip44) => {
    const { count, textAt } = listing(slip44);
    const shown = Array.from({ length: count }, (_, index) => textAt(index)).filter(
      (text) => !hidden.has(JSON.parse(text).address),
    );
    return { count: shown.length, textAt: (index) => shown[index] ?? '' };
  };
  let passes = 0;
  // A pass every 15 s.
  const later = { ...context, clock: () => Date.now() + passes * 15_000 };
  /** Passes until a scan of the list has ended after now. */
  const readWhole = async () => {
    const scanned = async () =>
      (
        await query(
          `select checkpoint->>'scannedAt' as at from ledger.streams where name = 'addresses:60'`,
        )
      )[0].at;
    const before = await scanned();
    for (let pass = 1; pass <= 20; pass += 1) {
      passes += 1;
      await syncAddresses(later, onePass());
      if ((await scanned()) !== before) return;
    }
    throw new Error('no scan in twenty passes');
  };
  const available = async (): Promise<string[]> =>
    (
      await query(
        `select address from ledger.addresses where status = 'available' order by first_seen_at, address`,
      )
    ).map(({ address }) => address);
  return { ...wallet, hidden, readWhole, available };
}

test('an available address that the list no longer shows is not handed out until it is listed again', async () => {
  const { context, ledger, query, hidden, readWhole, available } = await withPool();
  const before = await available();
  expect(before).toHaveLength(10);
  for (const address of before.slice(0, 7)) hidden.add(address);
  await readWhole();
  expect(await available()).toEqual(before.slice(7));
  expect(await takeAddress(ledger.db, 60, 'one')).toBe(before[7]);
  const [stream] = await query(
    `select is_complete from ledger.streams where name = 'addresses:60'`,
  );
  expect(stream).toEqual({ is_complete: false });
  // The pool does without them, and an operator cannot adopt them.
  const foreign = await listForeign(ledger.db, 60, null);
  expect(foreign.filter(({ isWithheld }) => isWithheld)).toHaveLength(7);
  expect(await adoptForeign(ledger.db, 60, before.slice(0, 7))).toBe(0);
  await fillPools(context, patiently);
  expect(await available()).toHaveLength(10);

  hidden.clear();
  await readWhole();
  expect(await available()).toHaveLength(17);
  expect(await query('select from ledger.addresses where withheld_at is not null')).toEqual([]);
  const [complete] = await query(
    `select is_complete from ledger.streams where name = 'addresses:60'`,
  );
  expect(complete).toEqual({ is_complete: true });
});

test('a withheld address that a move has set aside stays so when the list shows it again', async () => {
  const { ledger, query, hidden, readWhole, available } = await withPool();
  const [lost] = await available();
  hidden.add(String(lost));
  await readWhole();
  await query(`select engine.disturb_home('a test')`);
  await ledger.transaction(healHome);
  hidden.clear();
  await readWhole();
  expect(await available()).toEqual([]);
  await ledger.transaction((db) => acceptMove(db, ['main']));
  expect(await available()).toHaveLength(10);
});

test.each([true, false])(
  'a withheld address does not become available by the acceptance of a move (healed before: %s)',
  async (isHealed) => {
    const { ledger, query, hidden, readWhole, available } = await withPool();
    const [lost] = await available();
    hidden.add(String(lost));
    await readWhole();
    await query(`select engine.disturb_home('a test')`);
    if (isHealed) await ledger.transaction(healHome);
    await ledger.transaction((db) => acceptMove(db, ['main']));
    expect(await available()).toHaveLength(9);
    hidden.clear();
    await readWhole();
    expect(await available()).toHaveLength(10);
    const taken = new Set<string | null>();
    for (const reference of Array.from({ length: 10 }, (_, nth) => `customer ${nth}`))
      taken.add(await takeAddress(ledger.db, 60, reference));
    expect(taken).toContain(lost);
  },
);
