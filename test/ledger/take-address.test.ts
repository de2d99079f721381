import { beforeEach, expect, test } from 'vitest';
import { takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query, fill: write, clear } = await withLedger();
beforeEach(clear);
beforeEach(() =>
  query(`insert into ledger.final_states values ('success', true), ('failed', false)`),
);

const fill = (count: number, slip44 = 60) =>
  query(`insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
    select ${slip44}, '0x' || n, 'available', 1, now() - n * interval '1 second' from generate_series(1, ${count}) n`);
const take = (reference: string | null, from: Ledger = ledger) =>
  takeAddress(from.db, 60, reference);

test('an empty pool returns no address, whatever other chains have', async () => {
  await fill(3, 195);
  await query('insert into ledger.pools (slip44, threshold, target) values (60, 1, 2)');
  expect(await take(null)).toBeNull();
  expect(await take('customer')).toBeNull();
});

test('the oldest address is handed out first, and is stored with its reference and its time', async () => {
  await fill(3);
  expect([await take('first'), await take(null), await take('last')]).toEqual([
    '0x3',
    '0x2',
    '0x1',
  ]);
  const rows =
    await query(`select address, status, assigned_to, now() - assigned_at < interval '1 minute' as is_new
    from ledger.addresses order by address desc`);
  expect(rows).toEqual([
    { address: '0x3', status: 'assigned', assigned_to: 'first', is_new: true },
    { address: '0x2', status: 'assigned', assigned_to: null, is_new: true },
    { address: '0x1', status: 'assigned', assigned_to: 'last', is_new: true },
  ]);
  expect(await take('another')).toBeNull();
  expect(await take('first')).toBe('0x3');
});

test('older addresses that become available later are handed out too, once no younger one is left', async () => {
  await fill(2);
  expect(await take(null)).toBe('0x2');
  await query(`insert into ledger.addresses (slip44, address, status, first_seen_at)
    values (60, 'adopted', 'available', now() - interval '1 year')`);
  expect(new Set([await take(null), await take(null)])).toEqual(new Set(['0x1', 'adopted']));
});

test('a reference keeps its address after a deposit, and has another one on each chain', async () => {
  await fill(2);
  await fill(1, 195);
  const address = await take('customer');
  await ledger.transaction((db) =>
    storeListedTransactions(db, 'deposit', [listed({ state: 'success', toAddress: address })]),
  );
  expect(await query(`select address from ledger.addresses where status = 'used'`)).toEqual([
    { address },
  ]);
  expect(await take('customer')).toBe(address);
  expect(await takeAddress(ledger.db, 195, 'customer')).toBe('0x1');
  expect(await take('another')).toBeNull();
});

test('an address that a rolled back transaction took is available again', async () => {
  await fill(1);
  await expect(
    ledger.transaction(async (db) => {
      expect(await takeAddress(db, 60, 'customer')).toBe('0x1');
      throw new Error('changed my mind');
    }),
  ).rejects.toThrow('changed my mind');
  expect(await take('another')).toBe('0x1');
});

test('5,000 calls on 16 connections get 5,000 different addresses, the same one for a repeated reference, and none is left over', async () => {
  await fill(5_000);
  const callers = [connect(), connect()];
  const taken = new Map<string, Set<string | null>>();
  const unnamed: (string | null)[] = [];
  let next = 0;
  const lane = async (nth: number) => {
    const caller = callers[nth % 2] ?? ledger;
    for (let call = next++; call < 5_000; call = next++) {
      if (call % 5 === 0) {
        unnamed.push(await take(null, caller));
        continue;
      }
      const reference = `customer-${call}`;
      const addresses = await Promise.all([take(reference, caller), take(reference, caller)]);
      taken.set(reference, new Set(addresses));
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, nth) => lane(nth)));
  const named = [...taken.values()].flatMap((addresses) => [...addresses]);
  expect(named).toHaveLength(4_000);
  expect(unnamed).toHaveLength(1_000);
  const all = new Set([...named, ...unnamed]);
  expect(all.size).toBe(5_000);
  expect(all.has(null)).toBe(false);
  expect(await take(null)).toBeNull();
});

test('concurrent calls with one new reference get one address, and the pool loses no other', async () => {
  await fill(2);
  const other = connect();
  for (const reference of ['first', 'second']) {
    const taken = await Promise.all(
      Array.from({ length: 16 }, (_, nth) => take(reference, nth % 2 ? other : ledger)),
    );
    expect(new Set(taken).size).toBe(1);
    expect(taken[0]).not.toBeNull();
  }
  expect(await take('third')).toBeNull();
});

test('a call that waits for another transaction takes the address that its rollback returns', async () => {
  await fill(1);
  const holder = await ledger.pool.connect();
  await holder.query('begin');
  await holder.query(`select ledger.take_address(60, 'holder')`);
  const waiting = take('waiting', connect());
  await holder.query('rollback');
  holder.release();
  expect(await waiting).toBe('0x1');
});

test('after 30,000 handed out addresses a call still reads only a few blocks', async () => {
  await fill(31_000);
  await write(
    // With the statistics of an earlier test the update could compare each row with each other.
    'analyze ledger.addresses',
    `select count(ledger.take_address(60, 'customer-' || n)) from generate_series(1, 5000) n`,
    `update ledger.addresses set status = 'assigned', assigned_at = clock_timestamp()
    where address in (select address from ledger.addresses where status = 'available'
                       order by first_seen_at, address limit 25000)`,
  );
  await query('select ledger.take_address(60, null)');
  const [row] = await query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    'explain (analyze, buffers, format json) select ledger.take_address(60, null)',
  );
  const plan = row?.['QUERY PLAN'][0].Plan;
  const blocks = (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
  expect(blocks).toBeGreaterThan(0);
  // A walk over the handed out addresses would read thousands.
  expect(blocks).toBeLessThan(200);
});

test.each([
  `ledger.take_address(60, 'first in its session')`,
  `ledger.take_further_address(60, 'another')`,
  `ledger.take_address(61, 'of an empty pool')`,
  `engine.recount_use('{1,2,3}')`,
  `engine.without_deposit('{1,2,3}')`,
  'engine.check_new_addresses()',
])(
  '%s plans no scan of a whole table: its cost, where scans are forbidden, would cause JIT compilation of each call',
  async (call) => {
    await fill(5);
    await query('insert into ledger.pools (slip44, threshold, target) values (61, 1, 2)');
    const client = await ledger.pool.connect();
    const plans: string[] = [];
    const note = ({ message }: { message?: string | undefined }) => plans.push(message ?? '');
    client.on('notice', note);
    try {
      await client.query(`load 'auto_explain'; set auto_explain.log_nested_statements = on;
      set auto_explain.log_level = notice; set auto_explain.log_min_duration = 0; reset wallet_ledger.home`);
      await client.query(`select ${call}`);
      await client.query(`select ${call}`);
      expect(plans.length).toBeGreaterThan(3);
      expect(plans.filter((plan) => plan.includes('Seq Scan'))).toEqual([]);
    } finally {
      client.off('notice', note);
      client.release(true);
    }
  },
);
