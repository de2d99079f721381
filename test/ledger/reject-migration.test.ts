import { expect, test } from 'vitest';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { storeRejects } from '../../src/ledger/transactions/reject-store.ts';
import { migrateBefore } from '../support/migrate-before.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger({ isMigrated: false });

test('after an upgrade repeated rejects are merged into one per cause, which later answers count on', async () => {
  await migrateBefore(ledger, 'bounded_explanations');
  await query(`
    insert into ledger.rejects (source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at, times)
    select 'transaction-list', order_no, field, 'odd', format('{"symbol": "ETH", "txHash": "0x1", "tick": %s}', n),
           concat(order_no, field, n), now() - interval '9 h' + n * interval '1 h', now() - interval '8 h' + n * interval '1 h', 2
      from generate_series(1, 3) as n
     cross join (values ('a', 'amount'), ('a', null), (null, 'orderNo')) as c (order_no, field);
    insert into ledger.reconciliation_runs (symbol, observed_at, expected, reported, difference, is_explained)
    values ('ETH', '2026-01-01', 1, 2, 1, false)`);
  await migrateLedger(ledger);
  const open = () =>
    query(`select order_no, field, times, payload like '%3}' as is_latest from ledger.rejects
            where resolved_at is null order by order_no, field`);
  expect(await open()).toEqual([
    { order_no: 'a', field: 'amount', times: 6, is_latest: true },
    { order_no: 'a', field: null, times: 6, is_latest: true },
    { order_no: null, field: 'orderNo', times: 2, is_latest: true },
  ]);
  for (const field of ['amount', null])
    await storeRejects(ledger.db, [
      { source: 'transaction-list', orderNo: 'a', field, reason: 'odd', payload: '{}' },
    ]);
  expect(await open()).toMatchObject([{ times: 7 }, { times: 7 }, { times: 2 }]);
  expect(await query('select symbol, amount, since from ledger.unexplained_differences')).toEqual([
    { symbol: 'ETH', amount: '1', since: new Date('2026-01-01T00:00:00Z') },
  ]);
});
