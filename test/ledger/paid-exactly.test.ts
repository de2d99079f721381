import { expect, onTestFinished, test } from 'vitest';
import { countRowsRead } from '../support/count-rows-read.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger();

/** Tests for each difference if movements of the last hour pay it exactly; returns the numbers of those. */
const asked = (...differences: [symbol: string, amount: number, tolerance?: number][]) => {
  const column = (nth: 0 | 1 | 2) => differences.map((difference) => difference[nth] ?? 0);
  return {
    text: `select no from ledger.paid_exactly($1, $2, $3, $4, array_fill(now() - interval '1 hour', array[$5::int])) as no
            order by no`,
    values: [differences.map((_, no) => no), column(0), column(1), column(2), differences.length],
  };
};

test('movements pay a difference alone, repeatedly, in pairs, in sum, with fees, and within a tolerance', async () => {
  await query(`insert into ledger.transactions
      (order_no, stream, symbol, amount, fee, fee_symbol, state, is_final, is_listed, changed_at) values
    ('two', 'deposit', 'A', 2, null, null, 'done', true, true, now()),
    ('two more', 'deposit', 'A', 2, null, null, 'done', true, true, now()),
    ('forty', 'withdraw', 'A', 40, 1, 'A', 'done', true, true, now()),
    ('of another fee', 'withdraw', 'B', 70, 7, 'A', 'done', true, true, now()),
    ('open', 'deposit', 'C', 100, null, null, 'new', false, true, now() - interval '1 day'),
    ('open too', 'deposit', 'C', 20, null, null, 'old', false, true, now() - interval '1 day'),
    ('open third', 'deposit', 'C', 3, null, null, 'new', false, true, now() - interval '1 day'),
    ('nameless', 'deposit', null, 500, null, null, 'done', true, true, now()),
    ('before', 'deposit', 'A', 9000, null, null, 'done', true, true, now() - interval '1 day'),
    ('gone', 'deposit', 'A', 8000, null, null, 'done', true, false, now())`);
  const paid = async (...differences: Parameters<typeof asked>) =>
    (await ledger.pool.query(asked(...differences))).rows.map(({ no }) => differences[no]);
  const explained: Parameters<typeof asked> = [
    ['A', -2],
    ['A', 4],
    ['A', 41],
    ['A', 42],
    ['A', 38],
    ['A', 7],
    ['A', 500],
    ['C', 103],
    ['C', 123],
    ['C', 121, 2],
    ['B', 70],
  ];
  expect(await paid(...explained)).toEqual(explained);
  expect(
    await paid(['A', 11], ['A', 13], ['A', 9000], ['A', 8000], ['B', 7], ['C', 121], ['D', 2]),
  ).toEqual([]);
});

test('the movements are read once for all coins', async () => {
  await query(`insert into ledger.transactions (order_no, stream, symbol, amount, is_final, changed_at)
    select 'many-' || n, 'deposit', 'C' || n % 100, 1 + n % 7, n % 2 = 0, now() from generate_series(1, 2000) as n`);
  await query('analyze ledger.transactions');
  const client = await ledger.pool.connect();
  onTestFinished(() => client.release(true));
  await client.query('begin');
  const coins = Array.from({ length: 100 }, (_, nth): [string, number] => [`C${nth}`, 0.5]);
  const rowsRead = await countRowsRead(client, 'transactions', () => client.query(asked(...coins)));
  expect(rowsRead).toBeLessThan(10_000);
});
