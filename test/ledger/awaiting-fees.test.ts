import { expect, onTestFinished, test } from 'vitest';
import { countRowsRead } from '../support/count-rows-read.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger();

/** Returns which of these coins may still change by a fee that has been awaited for this number of minutes. */
const asked = (...coins: [symbol: string, minutesAgo: number][]) => ({
  text: `select no from ledger.awaiting_fees($1, $2, (select array_agg(now() - m * interval '1 minute' order by nth)
           from unnest($3::int[]) with ordinality as x (m, nth))) as no order by no`,
  values: [coins.map((_, no) => no), coins.map(([symbol]) => symbol), coins.map(([, ago]) => ago)],
});

async function addWaiting(orders: string) {
  await query(`insert into ledger.transactions (order_no, stream, symbol, is_listed, first_seen_at)
    select order_no, stream, symbol, is_listed, now() - minutes * interval '1 minute'
      from (values ${orders}) as v (order_no, stream, symbol, is_listed, minutes)`);
  await query(`insert into engine.detail_checks (order_no, is_final, turn)
    select order_no, false, 1 from ledger.transactions on conflict do nothing`);
}

test('a fee is awaited of a withdrawal in every coin, of a deposit in its own coin, and of no row first seen later', async () => {
  const awaiting = async (...coins: [string, number][]) =>
    (await ledger.pool.query(asked(...coins))).rows.map(({ no }) => coins[no]);
  await addWaiting(`('nameless', 'deposit', null, true, 99), ('unlisted', 'withdraw', 'C', false, 99),
    ('deposit', 'deposit', 'A', true, 30), ('withdrawal', 'withdraw', 'B', true, 10)`);
  expect(await awaiting(['A', 31], ['B', 11], ['C', 11], ['D', 98])).toEqual([]);
  expect(await awaiting(['A', 29], ['B', 29], ['C', 29])).toEqual([['A', 29]]);
  expect(await awaiting(['A', 31], ['B', 9], ['C', 9], ['D', 11])).toEqual([
    ['B', 9],
    ['C', 9],
  ]);
  expect(await awaiting(['C', 9], ['D', 8])).toEqual([
    ['C', 9],
    ['D', 8],
  ]);
  await query(`update ledger.transactions set symbol = null where order_no = 'withdrawal'`);
  expect(await awaiting(['A', 31], ['C', 9])).toEqual([['C', 9]]);
});

test('waiting fees are read once for all coins', async () => {
  await query(`insert into ledger.transactions (order_no, stream, symbol)
    select 'many-' || n, 'withdraw', 'C' || n % 100 from generate_series(1, 1000) as n`);
  await query(`insert into engine.detail_checks (order_no, is_final, turn)
    select order_no, false, 1 from ledger.transactions on conflict do nothing`);
  await query('analyze ledger.transactions, engine.detail_checks');
  const client = await ledger.pool.connect();
  onTestFinished(() => client.release(true));
  await client.query('begin');
  const coins = Array.from({ length: 200 }, (_, nth): [string, number] => [`C${nth}`, 60]);
  const rowsRead = await countRowsRead(client, 'transactions', () => client.query(asked(...coins)));
  expect(rowsRead).toBeLessThan(10_000);
});
