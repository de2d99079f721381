import { beforeEach, expect, test } from 'vitest';
import { auditHistory } from '../../src/sync/checks/audit-history.ts';
import { planAudit } from '../../src/sync/checks/plan-audit.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { withListedLedger } from '../support/with-listed-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { query, clear, service, context } = await withListedLedger({
  pageSize: 10,
  auditShare: 1,
});
const dayMs = 86_400_000;
const newest = Date.UTC(2026, 8, 5, 12);

/** Four rows on each of five days, newest first. */
const rows = Array.from({ length: 20 }, (_, nth) => ({
  orderNo: `order-${nth}`,
  amount: '1',
  type: 'deposit',
  state: 'success',
  time: newest - Math.floor(nth / 4) * dayMs - (nth % 4) * 60_000,
}));
const put = (list: object[]) =>
  service.lists.set(
    'deposit',
    list.map((row) => JSON.stringify(row)),
  );
const { signal } = new AbortController();

/** Days that were verified after the marks were set back. */
async function verifiedBy(work: () => Promise<unknown>): Promise<number[]> {
  await query(`update ledger.coverage set verified_at = '2026-09-06'`);
  await work();
  const marked = await query<{ day: number }>(
    `select extract(day from day)::int as day from ledger.coverage where verified_at > '2026-09-07' order by 1`,
  );
  return marked.map(({ day }) => day);
}
const pass = () => syncTransactions(context, onePass({ effort: 'backfill' }), ['deposit']);
const scan = async () => {
  await query('update ledger.streams set checkpoint = null, is_backed = false');
  await pass();
};

beforeEach(async () => {
  await clear();
  await query(`insert into ledger.final_states values ('success', true)`);
  service.lists.clear();
  service.lists.set('withdraw', []);
});

test.each([
  ['a readable time', { time: newest - 2 * dayMs - 90_000 }, 10, [1, 2, 4, 5]],
  ['no time, so that it may be of any day of its page', {}, 10, [4, 5]],
  ['no time, so that it may be of the first day of the next page', {}, 9, [1, 2]],
])(
  'a day with a row that cannot be stored is marked as verified by no scan, poll or audit: %s',
  async (_what, fields, at, days) => {
    put(rows);
    await pass();
    expect(await verifiedBy(scan)).toEqual([1, 2, 3, 4, 5]);
    const keyless = { amount: '1', type: 'deposit', state: 'success', ...fields };
    put([...rows.slice(0, at), keyless, ...rows.slice(at)]);
    for (const work of [pass, scan, () => auditHistory(context, signal)])
      expect(days).toEqual(expect.arrayContaining(await verifiedBy(work)));
    expect(await verifiedBy(scan)).toEqual(days);
    put(rows);
    expect(await verifiedBy(scan)).toEqual([1, 2, 3, 4, 5]);
  },
  60_000,
);

test('a day that can never be verified does not keep the audit from verifying the others', () => {
  const now = Date.UTC(2026, 8, 30);
  const first = Math.floor(now / dayMs) - 60;
  const held = Array.from({ length: 40 }, (_, nth) => ({
    day: first + nth,
    rows: 100,
    verifiedAt: nth === 20 ? null : now - (nth + 1) * 60_000,
  }));
  const days = planAudit(held, now, 0.025).map((range) => range.first);
  expect(days).toContain(first + 20);
  expect(days).toContain(first + 39);
});
