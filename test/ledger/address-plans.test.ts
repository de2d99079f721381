import { beforeEach, expect, test } from 'vitest';
import { storeListedAddresses } from '../../src/ledger/addresses/address-store.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
beforeEach(clear);

const deposits = 60_000;
const popular = 30;

/** Deposits to few addresses, with statistics for the planner or without any. */
async function fillHistory(hasStatistics: boolean): Promise<void> {
  await query(`
    insert into ledger.final_states values ('success', true);
    alter table ledger.transactions set (autovacuum_enabled = off);
    insert into ledger.transactions (order_no, stream, type, state, to_address, occurred_at, is_final, observation)
    select 'order-' || n, 'deposit', 'deposit', 'success', '0xaaaa' || n % ${popular},
           timestamptz '2025-01-01' + n * interval '1 minute', true, n from generate_series(1, ${deposits}) n`);
  await query(
    hasStatistics
      ? 'analyze ledger.transactions'
      : `delete from pg_statistic where starelid = 'ledger.transactions'::regclass`,
  );
}

/** Number of table and index blocks that a call reads. */
async function blocksOf(call: string): Promise<number> {
  const [row] = await query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    `explain (analyze, buffers, format json) ${call}`,
  );
  const plan = row?.['QUERY PLAN'][0].Plan;
  return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
}

test.each([true, false])(
  'two hundred new addresses read only their own deposits, with statistics: %s',
  async (hasStatistics) => {
    await fillHistory(hasStatistics);
    const addresses = Array.from({ length: 200 }, (_, nth) => `0xBBBB${nth}`);
    expect(await ledger.transaction((tx) => storeListedAddresses(tx, 60, addresses))).toEqual({
      inserted: 200,
    });
    const keys = `array(select ledger.address_key(a) from unnest('{${addresses.join()}}'::text[]) a)`;
    const blocks = await blocksOf(`select engine.recount_use(${keys})`);
    expect(blocks).toBeGreaterThan(200);
    // One index lookup each, and the address itself; the table has more than a thousand blocks.
    expect(blocks / 200).toBeLessThan(20);
    expect(await blocksOf(`select engine.without_deposit(${keys})`)).toBeLessThan(200 * 8);
    expect(await blocksOf('select engine.check_new_addresses()')).toBeLessThan(200 * 40);
    const [one] = await query<{ blocks: number }>(
      `select pg_relation_size('ledger.transactions') / 8192 as blocks`,
    );
    expect(Number(one?.blocks)).toBeGreaterThan(1_000);
    // Two thousand deposits are its own; the state of each is looked up.
    const own = await blocksOf(`select engine.recount_use('{aaaa7}')`);
    expect(own).toBeLessThan((4 * deposits) / popular);
  },
  60_000,
);

test('a new deposit to an address in use reads none of its other deposits', async () => {
  await fillHistory(true);
  await ledger.transaction((tx) => storeListedAddresses(tx, 60, ['0xaaaa7']));
  const insert = (order: string, state: string) =>
    blocksOf(`insert into ledger.transactions (order_no, stream, type, state, to_address, occurred_at, observation)
      values ('${order}', 'deposit', 'deposit', '${state}', '0xAAAA7', now(), 1)`);
  expect(await insert('new', 'pending')).toBeLessThan(200);
  const turned = `update ledger.transactions set state = 'success' where order_no = 'new'`;
  expect(await blocksOf(turned)).toBeLessThan(200);
  expect(
    await query('select status, first_deposit_order_no as first from ledger.addresses'),
  ).toEqual([{ status: 'used', first: 'order-7' }]);
});

test('storing addresses and storing deposits do not wait for each other', async () => {
  await query(`insert into ledger.final_states values ('success', true)`);
  const writer = await ledger.pool.connect();
  try {
    await writer.query('begin');
    await writer.query(`insert into ledger.transactions (order_no, stream, type, state, to_address, observation)
                        values ('open', 'deposit', 'deposit', 'success', '0xCC', 1)`);
    await ledger.transaction(async (tx) => {
      await storeListedAddresses(tx, 60, ['0xcc', '0xdd']);
      await query(`set lock_timeout = '2s'`);
      await writer.query(`set local lock_timeout = '2s'`);
      await writer.query(`insert into ledger.transactions (order_no, stream, type, state, to_address, observation)
                          values ('more', 'deposit', 'deposit', 'success', '0xEE', 1)`);
    });
    await writer.query('commit');
  } finally {
    writer.release();
  }
  expect(await query('select from ledger.transactions')).toHaveLength(2);
});
