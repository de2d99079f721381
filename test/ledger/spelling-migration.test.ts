import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
import { expect, test } from 'vitest';
import { takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { migrateBefore } from '../support/migrate-before.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger({ isMigrated: false });

/** Address number n of Tron in base58 and in hexadecimal. */
function tron(n: number): { text: string; hex: string } {
  const bytes = new Uint8Array(21).fill(n, 1);
  bytes[0] = 0x41;
  return {
    text: createBase58check(sha256).encode(bytes),
    hex: Buffer.from(bytes).toString('hex'),
  };
}

const [free, held, shared, alone, paid, elsewhere, abroad] = [1, 2, 3, 4, 5, 6, 7].map(tron);
const evm = '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed';

test('rows of one address in two spellings are merged, and rows with one spelling are not touched', async () => {
  await migrateBefore(ledger, 'one_key_for_all_spellings');
  await query(`
    insert into ledger.final_states (state, is_success) values ('success', true);
    insert into ledger.transactions (order_no, stream, type, state, to_address, occurred_at, observation) values
      ('paid', 'deposit', 'deposit', 'success', '${paid?.hex}', '2026-02-01', 1),
      ('sent', 'withdraw', 'withdraw', 'success', '0x${abroad?.hex}', '2026-02-01', 2),
      ('evm', 'deposit', 'deposit', 'success', '0xdAC17F958D2ee523a2206206994597C13D831ec7', '2026-02-01', 3);
    insert into ledger.addresses (wallet, slip44, address, status, assigned_to, assigned_at, assigned_no, generated_by, first_seen_at) values
      ('main', 195, '${free?.text}', 'available', null, null, null, 1, '2026-01-01'), ('main', 195, '${free?.hex}', 'foreign', null, null, null, null, '2026-01-02'),
      ('main', 195, '${held?.text}', 'assigned', 'anna', '2026-01-02', 1, 1, '2026-01-01'), ('main', 195, '${held?.hex}', 'available', null, null, null, null, '2026-01-02'),
      ('main', 195, '${shared?.text}', 'assigned', 'ben', '2026-01-02', 1, 1, '2026-01-01'), ('main', 195, '${shared?.hex}', 'assigned', 'carl', '2026-01-03', 1, null, '2026-01-02'),
      ('main', 195, '${alone?.hex}', 'available', null, null, null, 1, '2026-01-03'),
      ('main', 195, '${paid?.text}', 'available', null, null, null, 1, '2026-01-01'),
      ('main', 195, '0x${elsewhere?.hex}', 'assigned', 'dora', '2026-01-02', 1, 1, '2026-01-01'), ('main', 60, '${elsewhere?.text}', 'available', null, null, null, 1, '2026-01-01'),
      ('main', 60, '${evm}', 'available', null, null, null, 1, '2026-01-01'),
      ('eu', 195, '${free?.hex}', 'available', null, null, null, 1, '2026-01-01');
    insert into ledger.address_conflicts (slip44, address, address_key, assigned_to, assigned_at, noticed_at)
      values (195, '${abroad?.hex}', '${abroad?.hex}', 'emil', '2026-01-01', '2026-01-01');
    insert into ledger.streams (wallet, name, service_total, ledger_count, is_backed) values
      ('main', 'addresses:195', 9, 9, true), ('main', 'addresses:60', 2, 2, true), ('eu', 'addresses:195', 1, 1, true)`);
  // Prevents the check of stored addresses, which follows the migrations, from writing the row.
  await query(`update ledger.addresses set form = 'plain' where address = '${evm}'`);
  const untouched = `select ctid, xmin, address from ledger.addresses where address = '${evm}'`;
  const before = await query(untouched);
  await migrateLedger(ledger);
  expect(await query(untouched)).toEqual(before);
  expect(
    await query(`select wallet, slip44, address_key as key, address, status, assigned_to as "to", first_deposit_order_no as deposit
                   from ledger.addresses where address <> '${evm}' order by wallet, slip44, assigned_to, status, address`),
  ).toEqual([
    row('eu', 195, free, 'hex', 'available'),
    row('main', 60, elsewhere, 'text', 'assigned', 'dora'),
    row('main', 195, held, 'text', 'assigned', 'anna'),
    row('main', 195, shared, 'text', 'assigned', 'ben'),
    { ...row('main', 195, elsewhere, 'hex', 'assigned', 'dora'), address: `0x${elsewhere?.hex}` },
    row('main', 195, alone, 'hex', 'available'),
    row('main', 195, free, 'hex', 'foreign'),
    { ...row('main', 195, paid, 'text', 'used'), deposit: 'paid' },
  ]);
  expect(
    await query(`select address, address_key as key, facts ->> 'status' as status, facts ->> 'assigned_to' as "to"
                   from engine.merged_addresses order by facts ->> 'first_seen_at', address`),
  ).toEqual([
    { address: free?.text, key: free?.text, status: 'available', to: null },
    { address: held?.hex, key: held?.text, status: 'available', to: null },
    { address: shared?.hex, key: shared?.text, status: 'assigned', to: 'carl' },
  ]);
  expect(
    await query(
      `select address, address_key as key, assigned_to as "to" from ledger.address_conflicts order by assigned_to`,
    ),
  ).toEqual([
    { address: shared?.text, key: shared?.text, to: 'ben' },
    { address: shared?.hex, key: shared?.text, to: 'carl' },
    { address: abroad?.hex, key: abroad?.text, to: 'emil' },
  ]);
  // The whole list is read again if rows were merged.
  expect(
    await query(
      `select wallet, name, ledger_count::int as count, is_backed
         from ledger.streams where name like 'addresses:%' order by wallet, name`,
    ),
  ).toEqual([
    { wallet: 'eu', name: 'addresses:195', count: 1, is_backed: true },
    { wallet: 'main', name: 'addresses:195', count: 6, is_backed: false },
    { wallet: 'main', name: 'addresses:60', count: 2, is_backed: true },
  ]);
  expect(await takeAddress(ledger.db, 195, 'anna')).toBe(held?.text);
  expect(await takeAddress(ledger.db, 195, 'frida')).toBe(alone?.hex);
  expect(await takeAddress(ledger.db, 195, null)).toBeNull();
  const client = await ledger.pool.connect();
  try {
    await client.query('begin; set local enable_seqscan = off');
    const { rows } = await client.query(`
      select order_no from ledger.transactions where stream = 'deposit' and ledger.address_key(to_address) = '${paid?.text}'
      union all
      select order_no from ledger.transactions where stream <> 'deposit' and ledger.address_key(to_address) = '${abroad?.text}'`);
    expect(rows).toEqual([{ order_no: 'paid' }, { order_no: 'sent' }]);
    await client.query('rollback');
  } finally {
    client.release();
  }
  expect(
    await query(
      "select relname from pg_class where relnamespace = 'engine'::regnamespace and relname ~ '^changed_|_ranks$'",
    ),
  ).toEqual([]);
});

function row(
  wallet: string,
  slip44: number,
  address: { text: string; hex: string } | undefined,
  spelling: 'text' | 'hex',
  status: string,
  to: string | null = null,
) {
  const { text: key = '' } = address ?? {};
  return { wallet, slip44, key, address: address?.[spelling], status, to, deposit: null };
}
