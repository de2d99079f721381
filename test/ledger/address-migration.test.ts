import { expect, test } from 'vitest';
import { takeAddress } from '../../src/ledger/addresses/pool-store.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { migrateBefore } from '../support/migrate-before.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger({ isMigrated: false });

test('rows of one address are merged: every loss leaves a trace, and no address is handed out again', async () => {
  await migrateBefore(ledger, 'one_address_one_customer');
  await query(`
    insert into ledger.final_states values ('success', true), ('failed', false);
    insert into ledger.transactions (order_no, stream, type, state, to_address, occurred_at, observation) values
      ('late', 'deposit', 'deposit', 'success', '0xUSED', '2026-02-01', 1), ('early', 'deposit', 'deposit', 'success', '0xused', '2026-01-01', 2),
      ('no', 'deposit', 'deposit', 'failed', '0xfa11ed', '2026-01-01', 3);
    insert into ledger.addresses (slip44, address, status, assigned_to, assigned_at, first_deposit_order_no, generated_by, first_seen_at) values
      (60, '0xAA', 'available', null, null, null, 1, '2026-01-01'), (60, '0xaa', 'assigned', 'anna', '2026-01-02', null, 1, '2026-01-02'),
      (60, '0xBB', 'foreign', null, null, null, null, '2026-01-01'), (60, '0xbb', 'available', null, null, null, 1, '2026-01-02'),
      (60, '0xCC', 'assigned', 'ben', '2026-01-02', null, 1, '2026-01-01'), (60, '0xcc', 'assigned', 'carl', '2026-01-03', null, 1, '2026-01-01'),
      (60, '0xDD', 'assigned', 'dora', '2026-01-02', null, 1, '2026-01-01'), (56, '0xdd', 'available', null, null, null, 2, '2026-01-01'),
      (60, '0xEE', 'assigned', 'emil', '2026-01-02', null, 1, '2026-01-01'), (56, '0xee', 'assigned', 'fred', '2026-01-03', null, 2, '2026-01-01'),
      (60, '0xFF', 'available', null, null, null, 1, '2026-01-01'),
      (60, '0xfa11ed', 'used', null, null, 'no', 1, '2026-01-01'), (60, '0xUSED', 'used', null, null, 'late', 1, '2026-01-01');
    insert into ledger.streams (name, service_total, ledger_count, is_backed) values ('addresses:60', 9, 11, true), ('addresses:56', 2, 2, true)`);
  await migrateLedger(ledger);
  expect(
    await query(`select slip44, regexp_replace(address_key, '^0{34,}', '') as key, status, assigned_to as "to", assigned_no as no, first_deposit_order_no as deposit
                   from ledger.addresses order by slip44, key`),
  ).toEqual([
    { slip44: 56, key: 'dd', status: 'assigned', to: 'dora', no: null, deposit: null },
    { slip44: 56, key: 'ee', status: 'assigned', to: 'fred', no: 1, deposit: null },
    { slip44: 60, key: '0xUSED', status: 'used', to: null, no: null, deposit: 'late' },
    { slip44: 60, key: 'aa', status: 'assigned', to: 'anna', no: 1, deposit: null },
    { slip44: 60, key: 'bb', status: 'foreign', to: null, no: null, deposit: null },
    { slip44: 60, key: 'cc', status: 'assigned', to: 'ben', no: 1, deposit: null },
    { slip44: 60, key: 'dd', status: 'assigned', to: 'dora', no: 1, deposit: null },
    { slip44: 60, key: 'ee', status: 'assigned', to: 'emil', no: 1, deposit: null },
    { slip44: 60, key: 'fa11ed', status: 'foreign', to: null, no: null, deposit: null },
    { slip44: 60, key: 'ff', status: 'available', to: null, no: null, deposit: null },
  ]);
  expect(
    await query(`select address, facts ->> 'status' as status, facts ->> 'assigned_to' as "to"
                        from engine.merged_addresses order by address collate "C"`),
  ).toEqual([
    { address: '0xAA', status: 'available', to: null },
    { address: '0xbb', status: 'available', to: null },
    { address: '0xcc', status: 'assigned', to: 'carl' },
  ]);
  expect(
    await query(
      'select slip44, address, assigned_to as "to" from ledger.address_conflicts order by assigned_to',
    ),
  ).toEqual([
    { slip44: 60, address: '0xCC', to: 'ben' },
    { slip44: 60, address: '0xcc', to: 'carl' },
    { slip44: 60, address: '0xEE', to: 'emil' },
    { slip44: 56, address: '0xee', to: 'fred' },
  ]);
  expect(
    await query(`select what, severity from ledger.problems where name = 'address_shared'`),
  ).toEqual([{ what: '2 addresses have been handed out to more than one', severity: 'critical' }]);
  // The whole list is read again if rows were merged.
  expect(
    await query(
      "select name, ledger_count::int as count, is_backed from ledger.streams where name like 'addresses:%' order by 1",
    ),
  ).toEqual([
    { name: 'addresses:56', count: 2, is_backed: true },
    { name: 'addresses:60', count: 8, is_backed: false },
  ]);
  expect(await takeAddress(ledger.db, 60, 'anna')).toBe('0xaa');
  expect(await takeAddress(ledger.db, 56, 'dora')).toBe('0xdd');
  expect(await takeAddress(ledger.db, 60, 'carl')).toBe('0xFF');
  expect(await takeAddress(ledger.db, 60, null)).toBeNull();
});
