import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { storeListedAddresses } from '../../src/ledger/addresses/address-store.ts';
import { adoptForeign, listForeign } from '../../src/ledger/addresses/adopt-store.ts';
import {
  mirrorPools,
  readPoolLevels,
  takeAddress,
  takeFurtherAddress,
} from '../../src/ledger/addresses/pool-store.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { markResting } from '../../src/ledger/wallet-identity.ts';
import { forAll } from '../support/for-all.ts';
import { listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const second = ledger.forWallet('w2');
const ledgers = [ledger, second];

beforeEach(async () => {
  await clear();
  await query(`delete from ledger.wallets; delete from engine.null_takes`);
  await query(`insert into ledger.final_states (wallet, state, is_success)
    values ('main', 'success', true), ('w2', 'success', true), ('w2', 'done', true)`);
});

const fill = (wallet: string, count: number, slip44 = 60) =>
  query(`insert into ledger.addresses (wallet, slip44, address, status, generated_by, first_seen_at)
    select '${wallet}', ${slip44}, '0x' || n, 'available', 1, now() - n * interval '1 second'
      from generate_series(1, ${count}) n`);
const addPool = (wallet: string, slip44 = 60, target = 2) =>
  query(`insert into ledger.pools (wallet, slip44, threshold, target)
    values ('${wallet}', ${slip44}, 1, ${target})`);
const ask = async (call: string) =>
  (await query<{ taken: string | null }>(`select ${call} as taken`))[0]?.taken;
const rows = () =>
  query(`select wallet, address, status, assigned_to as "to", first_deposit_order_no as first
    from ledger.addresses order by wallet, address`);

test('the same address is one row in each wallet, and assigning one does not change the other', async () => {
  await fill('main', 1);
  await fill('w2', 1);
  expect(await takeAddress(second.db, 60, 'customer')).toBe('0x1');
  expect(await rows()).toEqual([
    { wallet: 'main', address: '0x1', status: 'available', to: null, first: null },
    { wallet: 'w2', address: '0x1', status: 'assigned', to: 'customer', first: null },
  ]);
  expect(await takeAddress(ledger.db, 60, 'another')).toBe('0x1');
  expect(await takeAddress(ledger.db, 60, 'customer')).toBeNull();
  expect(await takeAddress(second.db, 60, 'customer')).toBe('0x1');
  expect(await query('select wallet from engine.null_takes')).toEqual([]);
});

test('an address that belongs to another wallet is not adopted, and the reason is given', async () => {
  await fill('w2', 3);
  await query(
    `update ledger.addresses set generated_by = null, status = 'foreign' where address = '0x3'`,
  );
  expect(await takeAddress(second.db, 60, 'customer')).toBe('0x2');
  await query(`insert into ledger.addresses (wallet, slip44, address, status, first_seen_at)
    select 'main', 60, '0x' || n, 'foreign', now() from generate_series(1, 4) n`);
  expect(await listForeign(ledger.db, 60, null)).toMatchObject([
    { address: '0x1', otherWallet: 'w2', isGivenThere: false },
    { address: '0x2', otherWallet: 'w2', isGivenThere: true },
    { address: '0x3', otherWallet: null, isGivenThere: false },
    { address: '0x4', otherWallet: null, isGivenThere: false },
  ]);
  expect(await ledger.transaction((db) => adoptForeign(db, 60, ['0x1']))).toBe(0);
  expect(await ledger.transaction((db) => adoptForeign(db, 60, null))).toBe(2);
  expect(
    await query(
      `select address from ledger.addresses where wallet = 'main' and status = 'available' order by 1`,
    ),
  ).toEqual([{ address: '0x3' }, { address: '0x4' }]);
});

test('an address on another chain of the other wallet is handed out to nobody else', async () => {
  await fill('main', 1, 60);
  await fill('w2', 1, 61);
  expect(await takeAddress(ledger.db, 60, 'a')).toBe('0x1');
  expect(await takeAddress(second.db, 61, 'b')).toBe('0x1');
});

test('a call without a wallet name applies to the only wallet with a pool of the chain', async () => {
  await Promise.all([fill('main', 3), fill('w2', 3)]);
  await addPool('w2');
  expect(await ask(`ledger.take_address(60, 'customer')`)).toBe('0x3');
  expect(await ask(`ledger.take_address('w2', 60, 'customer')`)).toBe('0x3');
  expect(await ask(`ledger.take_further_address(60, 'customer')`)).toBe('0x2');
  expect(await ask(`ledger.take_further_address('w2', 60, 'customer')`)).toBe('0x1');
  expect(
    await query(`select from ledger.addresses where wallet = 'main' and assigned_at is not null`),
  ).toEqual([]);
});

test('a chain of several wallets requires a wallet name, and a chain of no wallet fails as before', async () => {
  await Promise.all([fill('main', 1), fill('w2', 1), addPool('main'), addPool('w2')]);
  const several = 'chain 60 has addresses of several wallets (main, w2)';
  await expect(ask(`ledger.take_address(60, 'customer')`)).rejects.toThrow(several);
  await expect(ask(`ledger.take_further_address(60, 'customer')`)).rejects.toThrow(several);
  await expect(ask(`ledger.take_address('w2', 61, 'customer')`)).rejects.toThrow(
    'the chain 61 has neither a pool nor addresses',
  );
  await query('delete from ledger.pools');
  await expect(ask(`ledger.take_address(60, 'customer')`)).rejects.toThrow(several);
  await expect(ask(`ledger.take_address(61, 'customer')`)).rejects.toThrow(
    'the chain 61 has neither a pool nor addresses',
  );
});

test('pools of a resting wallet, and pools removed from the settings, do not count', async () => {
  await Promise.all([fill('main', 1), fill('w2', 1), addPool('main'), addPool('w2')]);
  await query(`insert into ledger.wallets (wallet, base_url, key_fingerprint, first_seen_at)
    values ('main', 'http://a', 'a', now()), ('w2', 'http://a', 'b', now())`);
  await markResting(ledger.db, ['w2']);
  expect(await ask(`ledger.take_address(60, 'one')`)).toBe('0x1');
  await markResting(ledger.db, ['main', 'w2']);
  await query(`update ledger.pools set target = 0 where wallet = 'w2'`);
  expect(await ask(`ledger.take_address(60, 'two')`)).toBe('0x1');
  expect(await query('select wallet, assigned_to from ledger.addresses order by 1')).toEqual([
    { wallet: 'main', assigned_to: 'two' },
    { wallet: 'w2', assigned_to: 'one' },
  ]);
});

test('the error for an unknown wallet names the existing ones', async () => {
  await addPool('w2');
  await expect(ask(`ledger.take_address('eu', 60, 'customer')`)).rejects.toThrow(
    `there is no wallet named 'eu': the only one is w2`,
  );
  await addPool('main');
  await expect(ask(`ledger.take_address('eu', 60, null)`)).rejects.toThrow(
    `there is no wallet named 'eu': the wallets are main, w2`,
  );
  await expect(ask(`ledger.take_address(null, 60, null)`)).rejects.toThrow('no wallet named null');
});

test('a deposit marks the address of its own wallet, by the states that count there', async () => {
  await Promise.all([fill('main', 1), fill('w2', 1)]);
  const store = (state: string) =>
    second.transaction((db) =>
      storeListedTransactions(db, 'deposit', [listed({ orderNo: state, state, toAddress: '0x1' })]),
    );
  await store('pending');
  const other = { wallet: 'main', address: '0x1', status: 'available', to: null, first: null };
  expect(await rows()).toEqual([other, { ...other, wallet: 'w2', status: 'foreign' }]);
  await store('done');
  const used = { wallet: 'w2', address: '0x1', status: 'used', to: null, first: 'done' };
  expect(await rows()).toEqual([other, used]);
  await ledger.transaction((db) =>
    storeListedTransactions(db, 'deposit', [
      listed({ orderNo: 'done', state: 'done', toAddress: '0x1' }),
    ]),
  );
  expect(await rows()).toEqual([{ ...other, status: 'foreign' }, used]);
});

test('a deposit that is moved to another wallet by hand unmarks one address and marks the other', async () => {
  await Promise.all([fill('main', 1), fill('w2', 1)]);
  await query(`insert into ledger.transactions (wallet, order_no, stream, type, state, to_address, observation)
    values ('main', 'd', 'deposit', 'deposit', 'success', '0x1', 1)`);
  expect(await rows()).toMatchObject([{ status: 'used' }, { status: 'available' }]);
  await query(`update ledger.transactions set wallet = 'w2'`);
  expect(await rows()).toMatchObject([
    { wallet: 'main', status: 'foreign', first: null },
    { wallet: 'w2', status: 'used', first: 'd' },
  ]);
});

test('deposits of new addresses are searched for in their own wallet only', async () => {
  await query(`insert into ledger.transactions (wallet, order_no, stream, type, state, to_address, observation)
    values ('main', 'd', 'deposit', 'deposit', 'success', '0x1', 1)`);
  for (const each of ledgers) await each.transaction((db) => storeListedAddresses(db, 60, ['0x1']));
  await query(`set ledger.wallet = 'w2'; select engine.check_new_addresses();
    select engine.recount_use(array['0x1']); set ledger.wallet = 'main'`);
  expect(await rows()).toMatchObject([{ status: 'used' }, { status: 'foreign' }]);
});

test('each wallet has its own pool levels and unexpected deposits', async () => {
  await Promise.all([fill('main', 3), fill('w2', 5), fill('w2', 2, 61)]);
  await mirrorPools(second, [{ slip44: 60, threshold: 1, target: 9 }]);
  expect(await readPoolLevels(ledger.db)).toMatchObject([
    { slip44: 60, available: 3, target: null },
  ]);
  expect(await readPoolLevels(second.db)).toMatchObject([
    { slip44: 60, available: 5, target: 9 },
    { slip44: 61, available: 2 },
  ]);
  for (const [index, each] of ledgers.entries())
    await each.transaction((db) =>
      storeListedTransactions(db, 'deposit', [
        listed({
          orderNo: 'd',
          state: 'success',
          toAddress: `0x${4 + index}`,
          occurredAt: Date.now(),
        }),
      ]),
    );
  expect(await query('select wallet, order_no, kind from ledger.unexpected_deposits')).toEqual([
    { wallet: 'main', order_no: 'd', kind: 'unknown' },
  ]);
});

const calls = fc.array(
  fc.record({
    wallet: fc.constantFrom(0, 1),
    slip44: fc.constantFrom(60, 61),
    reference: fc.option(fc.constantFrom('a', 'b', 'c', 'd')),
    isFurther: fc.boolean(),
  }),
  { minLength: 1, maxLength: 24 },
);

test('with any concurrent calls no address has two references in a wallet, and no call affects another wallet', () =>
  forAll(calls)(30, async (drawn) => {
    await query(`delete from ledger.addresses; update engine.home
      set disturbed_by = null, own_xid = pg_current_xact_id()::xid`);
    for (const wallet of ['main', 'w2'])
      for (const slip44 of [60, 61]) await fill(wallet, wallet === 'main' ? 7 : 5, slip44);
    const taken = await Promise.all(
      drawn.map(async ({ wallet, slip44, reference, isFurther }) => {
        const { db } = ledgers[wallet] ?? ledger;
        const address =
          isFurther && reference !== null
            ? await takeFurtherAddress(db, slip44, reference)
            : await takeAddress(db, slip44, reference);
        return { wallet, reference, address };
      }),
    );
    const given = taken.filter(({ address }) => address !== null);
    const stored = await query<{ wallet: string; address: string; to: string | null }>(`
      select wallet, address, max(assigned_to) as "to" from ledger.addresses
       where status = 'assigned' group by wallet, address having count(distinct assigned_to) < 2`);
    const owners = new Map(stored.map((row) => [`${row.wallet} ${row.address}`, row.to]));
    for (const { wallet, reference, address } of given)
      expect(owners.get(`${ledgers[wallet]?.wallet} ${address}`)).toBe(reference);
    // Each address that is assigned was the answer to a call of its wallet.
    const answers = new Set(given.map((one) => `${ledgers[one.wallet]?.wallet} ${one.address}`));
    expect(new Set(owners.keys())).toEqual(answers);
  }));
