import { expect, test } from 'vitest';
import type { Reject } from '../../src/kernel/wallet-records.ts';
import { recordRun } from '../../src/ledger/reports/sync-run-store.ts';
import { storeRejects } from '../../src/ledger/transactions/reject-store.ts';
import { beginTransaction, untilBlocked } from '../support/begin-transaction.ts';
import { withLedger } from '../support/with-ledger.ts';

const dayMs = 86_400_000;
const run = {
  job: 'new',
  durationMs: 1,
  outcome: 'done' as const,
  requests: 1,
  rowsSeen: 0,
  rowsInserted: 0,
  rowsUpdated: 0,
  error: null,
};

test('rows older than their retention are deleted by the next pass; rows still in force are never deleted', async () => {
  const { ledger, query } = await withLedger();
  await query(`
    insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated)
    select 'old', at, at, 'done', 1, 0, 0, 0 from unnest(array[now() - interval '3 days', now() - interval '1 day']) as at;
    insert into ledger.rejects (source, reason, payload, fingerprint, first_seen_at, last_seen_at, resolved_at)
    values ('coin-list', '', '', 'open', now() - interval '9 days', now() - interval '9 days', null),
           ('coin-list', '', '', 'closed', now() - interval '9 days', now() - interval '9 days', now() - interval '6 days'),
           ('coin-list', '', '', 'fresh', now() - interval '9 days', now() - interval '9 days', now() - interval '4 days');
    insert into ledger.reconciliation_runs (symbol, slip44, observed_at, expected, reported, difference, is_explained)
    values ('BTC', null, now() - interval '9 days', 0, 0, 1, true), ('BTC', null, now() - interval '8 days', 0, 0, 2, true),
           ('BTC', 0, now() - interval '9 days', 0, 0, 3, true), ('ETH', null, now() - interval '4 days', 0, 0, 4, true),
           ('ETH', null, now(), 0, 0, 5, true)`);
  const kept = async () => ({
    runs: (await query<{ job: string }>('select job from ledger.sync_runs order by id')).map(
      ({ job }) => job,
    ),
    rejects: (
      await query<{ name: string }>('select fingerprint as name from ledger.rejects order by id')
    ).map(({ name }) => name),
    differences: (
      await query<{ of: number }>(
        'select difference::int as of from ledger.reconciliation_runs order by id',
      )
    ).map(({ of }) => of),
  });
  await recordRun(ledger.db, run, { runsMs: null, resolvedMs: null });
  expect(await kept()).toEqual({
    runs: ['old', 'old', 'new'],
    rejects: ['open', 'closed', 'fresh'],
    differences: [1, 2, 3, 4, 5],
  });
  await recordRun(ledger.db, run, { runsMs: 2 * dayMs, resolvedMs: 5 * dayMs });
  expect(await kept()).toEqual({
    runs: ['old', 'new', 'new'],
    rejects: ['open', 'fresh'],
    differences: [2, 3, 4, 5],
  });
});

/** A ledger with two resolved rejects whose retention has ended, and a second process on the same database. */
async function withOldRejects() {
  const testLedger = await withLedger();
  const { ledger, query, connect } = testLedger;
  const rejects = ['a', 'b'].map(
    (orderNo): Reject => ({
      source: 'transaction-list',
      orderNo,
      field: 'amount',
      reason: 'amount is not a number',
      payload: '{}',
    }),
  );
  await storeRejects(ledger.db, rejects);
  await query(`update ledger.rejects set resolved_at = now() - interval '9 days'`);
  return {
    testLedger,
    rejects,
    other: connect(),
    deleteOld: (db = ledger.db) => recordRun(db, run, { runsMs: null, resolvedMs: 5 * dayMs }),
    open: async () =>
      (
        await query(
          'select order_no from ledger.rejects where resolved_at is null order by order_no',
        )
      ).map((row) => row['order_no']),
  };
}

test('a reject that occurs again while old ones are deleted stays open', async () => {
  const { testLedger, rejects, other, deleteOld, open } = await withOldRejects();
  const storing = await beginTransaction(testLedger.ledger, (db) => storeRejects(db, rejects));
  const deleting = deleteOld(other.db);
  await Promise.race([deleting, untilBlocked(testLedger)]);
  await storing.commit();
  await deleting;
  expect(await open()).toEqual(['a', 'b']);
});

test('a reject that occurs again right after its old row was deleted is stored', async () => {
  const { testLedger, rejects, other, deleteOld, open } = await withOldRejects();
  const deleting = await beginTransaction(testLedger.ledger, (db) => deleteOld(db));
  const storing = storeRejects(other.db, rejects);
  await untilBlocked(testLedger);
  await deleting.commit();
  await storing;
  expect(await open()).toEqual(['a', 'b']);
});
