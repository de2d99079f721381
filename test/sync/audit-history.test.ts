import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readStatus } from '../../src/ledger/reports/read-status.ts';
import { auditHistory, pagesInTurn } from '../../src/sync/checks/audit-history.ts';
import { planAudit } from '../../src/sync/checks/plan-audit.ts';
import { syncAllDetails } from '../../src/sync/details/sync-details.ts';
import { newCheckpoint } from '../../src/sync/list/list-checkpoint.ts';
import { type ListState, withCheckpoint } from '../../src/sync/list/list-state.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { forAllSync } from '../support/for-all.ts';
import { onePass, withWallet } from '../support/with-wallet.ts';

const { signal } = new AbortController();

test('[P6] a change of a final row months later is found within one cycle and logged, and the detail is fetched again', async () => {
  const { sandbox, ledger, context, query } = await withWallet({
    transactions: 2_000,
    pageSizeMax: 50,
  });
  await syncTransactions(context, onePass());
  await syncAllDetails(context, signal);
  const old = await query(
    `select order_no from ledger.transactions where type = 'deposit' and state = 'success' order by occurred_at offset 100 limit 1`,
  );
  const orderNo = old[0].order_no;
  sandbox.world.setState(orderNo, 'failed');
  await query(
    `delete from ledger.transactions where order_no = (select max(order_no) from ledger.transactions where type = 'withdraw')`,
  );
  sandbox.stats.reset();
  for (let run = 0; run < 4; run += 1) await auditHistory(context, signal);
  const rows = await query(
    'select field, old_value, new_value from ledger.transaction_changes where order_no = $1',
    [orderNo],
  );
  expect(rows).toEqual([{ field: 'state', old_value: 'success', new_value: 'failed' }]);
  expect((await syncAllDetails(context, signal)).rowsSeen).toBeGreaterThan(0);
  const streams = await query('select is_complete from ledger.streams');
  expect(streams.map((row) => row.is_complete)).toEqual([true, true]);
  expect((await readStatus(ledger.db, [])).streams.map((stream) => stream.finalChanges)).toEqual([
    1, 0,
  ]);
  const pages = Math.ceil(2_000 / 50) + 2;
  expect(
    sandbox.stats.listRequests.deposit + sandbox.stats.listRequests.withdraw,
  ).toBeLessThanOrEqual(2 * pages + 8);
});

test.each([
  ['newest-first', 0.25],
  ['oldest-first', 0.25],
  ['unordered', 0.25],
  ['newest-first', 1],
] as const)(
  '[P17] rows that disappear from a list that is %s are marked within one cycle of slices of %s, and the proof is restored',
  async (listOrder, auditShare) => {
    const { sandbox, ledger, context, query } = await withWallet(
      { transactions: 3_000, pageSizeMax: 20, listOrder },
      { auditShare },
    );
    await syncTransactions(context, onePass());
    const { rows } = await ledger.pool.query<{ order_no: string }>(
      `select order_no from ledger.transactions where stream = 'deposit' order by md5(order_no) limit 60`,
    );
    const gone = rows.map((row) => row.order_no).sort();
    for (const orderNo of gone) sandbox.world.removeTransaction(orderNo);
    // More than are searched for one by one: after three passes the surplus is accepted.
    for (let pass = 0; pass < 4; pass += 1) await syncTransactions(context, onePass());
    for (let run = 0; run <= 1 / auditShare; run += 1) await auditHistory(context, signal);
    const unlisted = await ledger.pool.query<{ order_no: string }>(
      'select order_no from ledger.transactions where not is_listed order by 1',
    );
    expect(unlisted.rows.map((row) => row.order_no)).toEqual(gone);
    expect((await syncTransactions(context, onePass())).isComplete).toBe(true);
    const changes = await query(
      `select count(*)::int as n from ledger.transaction_changes where field = 'is_listed'`,
    );
    expect(changes).toEqual([{ n: 60 }]);
  },
);

test('the detail of a row that was changed by hand is fetched again within one cycle', async () => {
  const { context, query } = await withWallet({ transactions: 600, pageSizeMax: 50 });
  await syncTransactions(context, onePass());
  await syncAllDetails(context, signal);
  await query(`update ledger.transactions set fee = 1234567 where order_no in (
    select order_no from ledger.transactions order by md5(order_no) limit 9)`);
  for (let run = 0; run < 4; run += 1) await auditHistory(context, signal);
  expect((await syncAllDetails(context, signal)).rowsSeen).toBe(9);
  const rows = await query('select 1 from ledger.transactions where fee = 1234567');
  expect(rows).toEqual([]);
});

test('the audit reads every page of a list without an order within a cycle, for any share and any length', () => {
  const drawn = forAllSync(
    fc.integer({ min: 1, max: 400 }),
    fc.double({ min: 0.001, max: 1, noNaN: true }),
    fc.integer({ min: 1, max: 500 }),
  );
  drawn(500, (pages, share, auditPage) => {
    let state: ListState = {
      listOrder: 'unordered',
      isOrderFixed: false,
      pageSize: 10,
      serviceTotal: pages * 10,
      ledgerCount: pages * 10,
      guests: 0,
      conflicts: 0,
      passes: 0,
      isBacked: true,
      acceptedDifference: 0,
      totalObservation: 0,
      checkpoint: { ...newCheckpoint(10), auditPage },
    };
    const seen = new Set<number>();
    for (let run = 0; run < Math.ceil(1 / share) + 1; run += 1) {
      const turn = pagesInTurn(state, share);
      for (const page of turn) seen.add(page);
      state = withCheckpoint(state, { auditPage: (turn.at(-1) ?? 0) + 1 });
    }
    expect(seen.size).toBe(pages);
    expect(Math.max(...seen)).toBe(pages);
  });
});

test('the audit reads every day within a cycle, the last day every hour, and none earlier than that', () => {
  const hourMs = 3_600_000;
  const drawn = forAllSync(
    fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 120 }),
    fc.integer({ min: 5, max: 100 }),
  );
  drawn(300, (rows, runs) => {
    const start = Date.UTC(2026, 0, 1);
    const today = Math.floor(start / 86_400_000);
    let held = rows.map((count, index) => ({
      day: today - index,
      rows: count,
      verifiedAt: start as number | null,
    }));
    const oldestAges: number[] = [];
    for (let run = 1; run <= 3 * runs; run += 1) {
      const now = start + run * hourMs;
      const ranges = planAudit(held, now, 1 / runs);
      const isRead = (day: number) => ranges.some(({ first, last }) => day >= first && day <= last);
      held = held.map((one) => (isRead(one.day) ? { ...one, verifiedAt: now } : one));
      oldestAges.push(Math.max(...held.map(({ verifiedAt }) => now - (verifiedAt ?? 0))));
      const first = held[0];
      if (first && first.day >= Math.floor(now / 86_400_000) - 1) {
        expect(now - (first.verifiedAt ?? 0)).toBeLessThan(hourMs);
      }
    }
    expect(oldestAges.at(-1)).toBeLessThanOrEqual((runs + 1) * hourMs);
  });
});

test('a row whose detail has a later time than the list row counts as equal in the audit, which keeps proof and order', async () => {
  const { sandbox, context, query } = await withWallet({ transactions: 200 }, { auditShare: 1 });
  const time = Date.now() + 1_000;
  const row = { orderNo: 'newest', symbol: 'BTC', amount: '1', type: 'deposit', state: 'success' };
  const detail = { ...row, time: time + 30_000 };
  sandbox.world.addRawListRow('deposit', { ...row, time }, { at: time, detail });
  const readProof = () =>
    query(`select list_order, is_complete, doubt from ledger.streams where name = 'deposit'`);
  const proven = [{ list_order: 'newest-first', is_complete: true, doubt: null }];
  await syncTransactions(context, onePass());
  await syncAllDetails(context, signal);
  expect(await readProof()).toEqual(proven);
  await auditHistory(context, signal);
  expect(await readProof()).toEqual(proven);
  await syncTransactions(context, onePass());
  expect(await readProof()).toEqual(proven);
});
