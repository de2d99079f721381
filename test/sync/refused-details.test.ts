import { afterAll, beforeEach, expect, test } from 'vitest';
import { syncAllDetails, syncDetails } from '../../src/sync/details/sync-details.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { startListingService } from '../support/listing-service.ts';
import { makeClient } from '../support/make-client.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withLedger } from '../support/with-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { ledger, query, clear } = await withLedger();
const service = await startListingService();
afterAll(() => service.close());
const { client } = await makeClient(service.baseUrl, {
  retry: { attemptsMax: 1, baseDelayMs: 1, delayMaxMs: 1 },
});
const context = toolsOver({ ledger, client });
const { signal } = new AbortController();

const rows = (count: number) =>
  Array.from({ length: count }, (_, nth) => ({
    orderNo: `order-${nth}`,
    symbol: 'ETH',
    amount: '1',
    type: 'deposit',
    state: 'success',
    time: 1_700_000_000_000 - nth * 60_000,
  }));
const give = (nths: number[]) => {
  const given = new Set(nths.map((nth) => `order-${nth}`));
  for (const row of rows(400))
    if (given.has(row.orderNo))
      service.details.set(row.orderNo, JSON.stringify({ ...row, fee: '0.1' }));
};
const upTo = (count: number) => [...Array(count).keys()];
/** Runs the work and returns the number of details that it requested. */
async function askedBy(work: Promise<unknown>): Promise<number> {
  service.asked.length = 0;
  await work;
  return service.asked.filter((path) => path.includes('/info')).length;
}
const pauses = () =>
  query('select order_no, refusals, due_at::text from engine.detail_checks order by 1');

/** A ledger whose service returned no detail of these rows, which have been paused for hours. */
async function withRefused(count: number): Promise<void> {
  service.lists.set(
    'deposit',
    rows(count).map((row) => JSON.stringify(row)),
  );
  await syncTransactions(context, onePass(), ['deposit']);
  await query(`
    insert into engine.detail_checks (order_no, is_final, turn, refusals, refused_since, refused_at, due_at)
    select order_no, true, 3, 9, now() - interval '1 hour', now() - interval '1 hour', now() + interval '2 hours'
      from ledger.transactions on conflict (wallet, order_no) do update
      set turn = 3, refusals = 9, refused_at = excluded.refused_at, due_at = excluded.due_at`);
}

beforeEach(async () => {
  await clear();
  await query(`insert into ledger.final_states values ('success', true)`);
  service.details.clear();
});

test('a command requests refused details once despite their pause, which it does not change; a daemon waits', async () => {
  await withRefused(3);
  const before = await pauses();
  expect(await askedBy(syncDetails(context, signal))).toBe(0);
  expect(await askedBy(syncAllDetails(context, signal))).toBe(3);
  expect(await pauses()).toEqual(before);
  expect(await query('select distinct refusal from engine.detail_checks')).toEqual([
    { refusal: expect.stringContaining('not found') },
  ]);
  give(upTo(3));
  const work = syncAllDetails(context, signal);
  expect(await askedBy(work)).toBe(3);
  expect(await work).toMatchObject({ rowsSeen: 3, isComplete: true });
  expect(await query('select distinct fee from ledger.transactions')).toEqual([{ fee: '0.1' }]);
});

test('a command requests 100 of many refused details, others the next time, and all once the service answers one', async () => {
  await withRefused(400);
  expect(await askedBy(syncAllDetails(context, signal))).toBe(100);
  const first = await query('select 1 from engine.detail_checks where refusal is not null');
  expect(first).toHaveLength(100);
  expect(await askedBy(syncAllDetails(context, signal))).toBe(100);
  const second = await query('select 1 from engine.detail_checks where refusal is not null');
  expect(second).toHaveLength(200);
  give(upTo(400).slice(0, 399));
  expect(await askedBy(syncAllDetails(context, signal))).toBe(400);
  expect(await query('select order_no from engine.detail_checks')).toEqual([
    { order_no: 'order-399' },
  ]);
});
