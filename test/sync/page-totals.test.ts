import { afterAll, beforeEach, expect, test } from 'vitest';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { startListingService } from '../support/listing-service.ts';
import { makeClient } from '../support/make-client.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withLedger } from '../support/with-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { ledger, query, clear } = await withLedger();
const service = await startListingService();
afterAll(() => service.close());

const { client } = await makeClient(service.baseUrl);
const context = toolsOver({ ledger, client });
const now = Date.now();
let isOfPage = true;

const pass = (effort: 'daemon' | 'backfill' = 'daemon') =>
  syncTransactions(context, onePass({ effort }), ['deposit']);
const rowAt = (nth: number) =>
  JSON.stringify({
    ...{ orderNo: `order-${nth}`, amount: '1', type: 'deposit', state: 'success' },
    time: now + nth * 60_000,
  });

/** Sets the list, in this order of its times. */
function listed(rows: number, order: string): void {
  const all = Array.from({ length: rows }, (_, nth) => rowAt(nth));
  service.lists.set('deposit', order === 'newest-first' ? all.toReversed() : all);
}

async function listOf() {
  const [row] = await query<{ rows: number; doubt: string | null; because: string | null }>(
    `select ledger_count::int as rows, doubt, not_complete_because as because
       from ledger.streams where name = 'deposit'`,
  );
  return row;
}

/** Returns the requests of some passes, each of which must bring all rows. */
async function requestsOf(passes: number, rows: number): Promise<number> {
  const former = service.asked.length;
  for (let nth = 0; nth < passes; nth += 1) {
    await pass();
    expect(await listOf()).toMatchObject({ rows });
  }
  return service.asked.length - former;
}

beforeEach(async () => {
  await clear();
  isOfPage = true;
  service.twist = (page) => (isOfPage ? { ...page, totalSize: page.rows.length } : page);
});

test.each(
  ['newest-first', 'oldest-first'].flatMap((order) =>
    [120, 200, 330].map((rows) => [order, rows] as const),
  ),
)(
  'totals that count the rows of their pages are taken as none: %s, %i rows',
  async (order, rows) => {
    listed(rows, order);
    await requestsOf(3, rows);
    expect(await listOf()).toMatchObject({ doubt: null, because: expect.stringMatching(/total/) });
    expect(await requestsOf(10, rows)).toBeLessThanOrEqual(20);
    for (const more of [1, 2, 150]) {
      listed(rows + more, order);
      await requestsOf(1, rows + more);
    }
    expect(await requestsOf(10, rows + 150)).toBeLessThanOrEqual(20);
    isOfPage = false;
    await requestsOf(3, rows + 150);
    expect(await listOf()).toMatchObject({ because: null });
  },
);

test.each([
  ['newest-first', [60, 100]],
  ['oldest-first', [60]],
] as const)(
  'a list grows beyond its only page, whose total counted it: a scan settles that, %s',
  async (order, lengths) => {
    for (const first of lengths) {
      await clear();
      listed(first, order);
      await requestsOf(2, first);
      expect(await listOf()).toMatchObject({ because: null });
      listed(first + 90, order);
      expect(await requestsOf(10, first + 90)).toBeLessThanOrEqual(30);
      await pass('backfill');
      expect(await listOf()).toMatchObject({
        doubt: null,
        because: expect.stringMatching(/total/),
      });
      expect(await requestsOf(10, first + 90)).toBeLessThanOrEqual(20);
    }
  },
);
