import { expect, test } from 'vitest';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { migrateBefore } from '../support/migrate-before.ts';
import { listed, readVersions } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const fixture = await withLedger({ isMigrated: false });
const { ledger, query } = fixture;

test('after the upgrade rows of an earlier version are neither written nor due, and show if they arrived late', async () => {
  await migrateBefore(ledger, 'last_words_and_history');
  await query(`
    insert into ledger.final_states values ('success', true);
    insert into ledger.transactions (order_no, stream, type, state, tx_hash, fee, occurred_at, is_final, first_seen_at,
                                     detail_synced_at, observation)
    values ('old', 'deposit', 'deposit', 'success', '0x1', 1, '2026-01-01', true, '2026-02-01', '2026-02-01', 1),
           ('live', 'deposit', 'deposit', 'success', '0x1', 1, '2026-02-02', true, '2026-02-02 00:01', '2026-02-02', 2),
           ('undated', 'deposit', 'deposit', 'success', '0x1', 1, null, true, '2026-02-02', '2026-02-02', 3);
    insert into ledger.coins (slip44, symbol, contract_address, name, observed_at, changed_at, observation)
    values (60, 'ETH', '', 'Ether', '2026-02-01', '2026-02-01', 1)`);
  await migrateLedger(ledger);
  expect(
    await query(
      'select order_no, is_backfilled, is_success, first_detail_at from ledger.transactions order by 1',
    ),
  ).toEqual([
    { order_no: 'live', is_backfilled: false, is_success: true, first_detail_at: null },
    { order_no: 'old', is_backfilled: true, is_success: true, first_detail_at: null },
    { order_no: 'undated', is_backfilled: false, is_success: true, first_detail_at: null },
  ]);
  const before = await readVersions(fixture);
  const occurred = { old: Date.UTC(2026, 0, 1), live: Date.UTC(2026, 1, 2), undated: null };
  // The details filled the hash: the list leaves it empty.
  const rows = Object.entries(occurred).map(([orderNo, occurredAt]) =>
    listed({ orderNo, occurredAt, state: 'success', observation: 9 }),
  );
  expect(await storeListedTransactions(ledger.db, 'deposit', rows)).toMatchObject({ updated: 0 });
  expect(await readVersions(fixture)).toEqual(before);
  expect(
    await query('select symbol, name, is_listed, observed_at from ledger.coin_changes'),
  ).toEqual([
    {
      symbol: 'ETH',
      name: 'Ether',
      is_listed: true,
      observed_at: new Date('2026-02-01T00:00:00Z'),
    },
  ]);
  const [then] = await query(`select count(*)::int as n, count(fee)::int as fees
                                from ledger.transactions_at('2026-02-01 12:00')`);
  expect(then).toEqual({ n: 1, fees: 1 });
});
