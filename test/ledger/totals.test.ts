import fc from 'fast-check';
import { Client } from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { compareTotals, correctTotals } from '../../src/ledger/reports/totals-store.ts';
import { countRowsRead } from '../support/count-rows-read.ts';
import '../support/fixed-seed.ts';
import { forAll } from '../support/for-all.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear, connectionString } = await withLedger();
const timeZones = ['UTC', 'America/St_Johns', 'Pacific/Apia'];

/** Expected content of the views, computed from the transactions themselves. */
const recounts = {
  daily_totals: `
    select (occurred_at at time zone 'UTC')::date::text as day, stream, symbol, slip44, state, is_success,
           count(*)::integer as transactions, trim_scale(sum(amount)) as amount
      from rows group by 1, 2, 3, 4, 5, 6`,
  daily_flows: `
    select (occurred_at at time zone 'UTC')::date::text as day, stream, symbol, slip44, state, is_success,
           count(*)::integer as transactions, trim_scale(sum(amount)) as amount, stream as type
      from rows group by 1, 2, 3, 4, 5, 6`,
  daily_fees: `
    select (occurred_at at time zone 'UTC')::date::text as day, stream, symbol, state, is_success, fee_symbol,
           trim_scale(sum(fee)) as fee
      from rows where fee is not null group by 1, 2, 3, 4, 5, 6`,
};
const shown = {
  daily_totals: `select day::text, stream, symbol, slip44, state, is_success, transactions::integer, trim_scale(amount) as amount from ledger.daily_totals`,
  daily_flows: `select day::text, stream, symbol, slip44, state, is_success, transactions::integer, trim_scale(amount) as amount, type from ledger.daily_flows`,
  daily_fees: `select day::text, stream, symbol, state, is_success, fee_symbol, trim_scale(fee) as fee from ledger.daily_fees`,
};
type View = keyof typeof shown;

async function expectRight(client: Pick<Client, 'query'>): Promise<void> {
  for (const view of Object.keys(shown) as View[]) {
    const rows = 'with rows as (select * from ledger.transactions where is_listed)';
    const differing = await client.query(
      `${rows}, wanted as (${recounts[view]}), found as (${shown[view]})
       select 'missing' as what, to_jsonb(w) as row from (select * from wanted except all select * from found) as w
       union all
       select 'wrong', to_jsonb(f) from (select * from found except all select * from wanted) as f`,
    );
    expect([view, differing.rows]).toEqual([view, []]);
  }
  expect((await client.query('select * from ledger.total_drift')).rows).toEqual([]);
  const fees = await client.query(`
    select a.* from engine.all_sums_now a
     where a.largest_fee is distinct from (
       select max(t.fee) from ledger.transactions t
        where t.is_listed and (t.stream, t.is_success) = (a.stream, a.is_success)
          and (t.symbol, t.state, t.fee_symbol) is not distinct from (a.symbol, a.state, a.fee_symbol))`);
  expect(fees.rows).toEqual([]);
}

beforeEach(async () => {
  await clear();
  await query(`
    insert into ledger.coins (slip44, symbol, contract_address, observed_at, changed_at, observation)
    select *, now(), now(), 1 from (values (354, 'DOT', ''), (60, 'ETH', ''), (195, 'TRX', ''), (60, 'USDT', '0xa'),
                                           (195, 'USDT', 'Tb')) as v`);
});

const quote = (value: string | number | boolean | null) =>
  value === null ? 'null' : `'${String(value).replaceAll("'", "''")}'`;
const number = fc.nat(30).map((n) => `order-${n}`);
const amount = fc.oneof(
  fc.constantFrom(null, '0', '1e-18', '-3.50', '12345678901234567890.123456789012345678'),
  fc.integer({ min: -99, max: 999 }).map((n) => `${n / 100}`),
);
const columns = {
  stream: fc.constantFrom('deposit', 'withdraw'),
  symbol: fc.constantFrom('DOT', 'ETH', 'USDT', null, 'x'.repeat(9_000)),
  amount,
  fee: amount,
  fee_symbol: fc.constantFrom('ETH', 'TRX', 'DOT', null),
  slip44: fc.constantFrom(60, 195, null),
  state: fc.constantFrom('success', 'pending', "o'dd", null),
  is_success: fc.boolean(),
  is_listed: fc.constantFrom(true, true, true, false),
  occurred_at: fc.constantFrom(
    '2026-03-29 00:30Z',
    '2026-03-29 23:59:59.999999Z',
    '2026-10-25 12:00Z',
    'infinity',
    null,
  ),
};
const names = Object.keys(columns) as (keyof typeof columns)[];
const row = fc.record(columns);
type Row = { [Name in keyof typeof columns]: string | number | boolean | null };

const valuesOf = (given: Row) => names.map((name) => quote(given[name])).join(', ');
const isIn = (orders: string[]) => `order_no in (${orders.map(quote).join(', ')})`;
const orders = fc.uniqueArray(number, { minLength: 1, maxLength: 8 });

/** Statements like manual ones. */
const statement = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(orders, fc.array(row, { minLength: 8, maxLength: 8 })).map(
      ([keys, rows]) => `insert into ledger.transactions (order_no, ${names.join(', ')}) values
        ${keys.map((key, at) => `(${quote(key)}, ${valuesOf(rows[at] as Row)})`).join(', ')}
        on conflict (wallet, order_no) do update set fee = excluded.fee, state = excluded.state, amount = excluded.amount, slip44 = excluded.slip44`,
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(orders, row, fc.subarray(names, { minLength: 1 }))
      .map(
        ([keys, given, some]) =>
          `update ledger.transactions set ${some.map((name) => `${name} = ${quote((given as Row)[name])}`).join(', ')} where ${isIn(keys)}`,
      ),
  },
  {
    weight: 1,
    arbitrary: orders.map((keys) => `delete from ledger.transactions where ${isIn(keys)}`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'update ledger.transactions set fee = fee * 2',
      'update ledger.transactions set tx_hash = order_no',
      'select engine.fold_totals()',
    ),
  },
);

test('after any statements, also rolled back ones, the totals equal a recount, in three time zones', async () => {
  const client = await connectOne();
  await forAll(
    fc.array(
      fc.record({
        statement,
        isUndone: fc.boolean(),
        isTruncated: fc.constantFrom(...Array(20).fill(false), true),
      }),
      { maxLength: 12 },
    ),
    fc.constantFrom(...timeZones),
  )(60, async (steps, timeZone) => {
    await client.query(`set time zone '${timeZone}'; set datestyle = 'German'`);
    await client.query('truncate ledger.transactions');
    for (const step of steps) {
      if (step.isTruncated) await client.query('truncate ledger.transactions');
      await client.query('begin');
      await client.query(step.statement);
      await expectRight(client);
      await client.query(step.isUndone ? 'rollback' : 'commit');
    }
    await client.query('select engine.fold_totals()');
    await expectRight(client);
  });
}, 300_000);

/** Changes sums, but no count of the lists, whose rows writers lock in turn. */
const sumsOnly = fc
  .tuple(
    orders,
    row,
    fc.subarray(
      ['symbol', 'amount', 'fee', 'fee_symbol', 'slip44', 'state', 'is_success'] as const,
      {
        minLength: 1,
      },
    ),
  )
  .map(
    ([keys, given, some]) =>
      `update ledger.transactions set ${some.map((name) => `${name} = ${quote((given as Row)[name])}`).join(', ')} where ${isIn(keys)}`,
  );

test('concurrent transactions on the same groups never wait for each other, and every snapshot has correct totals', async () => {
  const writers = 5;
  await query(`insert into ledger.transactions (order_no, stream, symbol, amount, occurred_at)
    select w || '-' || n, case when n % 2 = 0 then 'deposit' else 'withdraw' end, 'ETH', n, timestamptz '2026-03-29 12:00Z'
      from generate_series(0, ${writers - 1}) as w, generate_series(0, 30) as n`);
  const drawn = fc.sample(fc.array(sumsOnly, { minLength: 40, maxLength: 40 }), {
    numRuns: writers,
    seed: 7,
  });
  const watcher = await connectOne();
  let isRunning = true;
  const watching = (async () => {
    while (isRunning) {
      await watcher.query('begin isolation level repeatable read');
      await expectRight(watcher);
      await watcher.query('commit');
    }
  })();
  const clients = await Promise.all(drawn.map(connectOne));
  for (const client of clients) await client.query(`set lock_timeout = '10s'`);
  // All transactions are open at once: one that waited for another would wait for ever.
  const inTurn = async (work: (client: Client, writer: number) => Promise<unknown>) => {
    for (const [writer, client] of clients.entries()) await work(client, writer);
  };
  try {
    for (let at = 0; at < 40; at += 1) {
      if (at % 4 === 0) await inTurn((client) => client.query('begin'));
      // Each writer has its own rows, so that only the totals could make them wait.
      await inTurn((client, writer) =>
        client.query((drawn[writer]?.[at] ?? '').replaceAll('order-', `${writer}-`)),
      );
      if (at % 7 === 0) await inTurn((client) => client.query('select engine.fold_totals()'));
      if (at % 4 === 3) await inTurn((client) => client.query('commit'));
    }
  } finally {
    isRunning = false;
  }
  await watching;
  await expectRight(watcher);
}, 300_000);

test('the largest fee is correct at once after its transaction got another fee, day or state', async () => {
  await query(`insert into ledger.transactions (order_no, stream, symbol, state, fee_symbol, fee, occurred_at)
    select 'fee-' || n, 'withdraw', 'ETH', 'success', 'ETH', n, timestamptz '2026-03-29 12:00Z' + n % 2 * interval '1 day'
      from generate_series(1, 6) as n`);
  await query('select engine.fold_totals()');
  const largest = async () =>
    (
      await query<{ largest: string }>(
        `select trim_scale(largest_fee) as largest from ledger.totals where state = 'success'`,
      )
    )[0]?.largest;
  expect(await largest()).toBe('6');
  const change = async (n: number, set: string) =>
    await query(`update ledger.transactions set ${set} where order_no = 'fee-${n}'`);
  await change(6, 'fee = 2.5');
  expect(await largest()).toBe('5');
  await change(5, `state = 'pending'`);
  expect(await largest()).toBe('4');
  await change(4, 'occurred_at = null');
  expect(await largest()).toBe('4');
  await change(4, 'fee = null');
  expect(await largest()).toBe('3');
  await expectRight(ledger.pool);
});

test('a removed largest fee is searched for among the rows of its day only', async () => {
  await query(`insert into ledger.transactions (order_no, stream, symbol, state, fee_symbol, fee, occurred_at)
    select 'fee-' || n, 'withdraw', 'ETH', 'success', 'ETH', n % 10, timestamptz '2026-03-29 12:00Z' - n / 10 * interval '1 day'
      from generate_series(1, 5000) as n`);
  await query('analyze ledger.transactions');
  const client = await connectOne();
  await client.query('begin');
  await client.query(
    `update ledger.transactions set fee = 0 where order_no in ('fee-9', 'fee-19')`,
  );
  const rowsRead = await countRowsRead(client, 'transactions', async () => {
    await client.query('select * from engine.all_sums_now');
    await client.query('select engine.fold_totals()');
  });
  expect(rowsRead).toBeLessThan(60);
  await client.query('commit');
  await expectRight(ledger.pool);
});

test('a largest fee that was changed outside the program is drift, and is corrected', async () => {
  await query(`insert into ledger.transactions (order_no, stream, fee_symbol, fee, occurred_at)
    values ('a', 'withdraw', 'ETH', 1, '2026-03-29 12:00Z')`);
  await query('select engine.fold_totals()');
  for (const sums of ['daily_sums', 'all_sums'])
    await query(`update engine.${sums} set largest_fee = 9`);
  const { different } = await compareTotals(ledger.db);
  expect(different.map(({ fields }) => fields)).toEqual([['largestFee']]);
  expect(await correctTotals(ledger.db)).toBe(1);
  await expectRight(ledger.pool);
});

test('a transaction with a repeatable snapshot leaves the adding up to others', async () => {
  const [kept, other] = [await connectOne(), await connectOne()];
  const insert = (key: string) =>
    `insert into ledger.transactions (order_no, stream, amount) values ('${key}', 'deposit', 1)`;
  await other.query(insert('a'));
  await kept.query('begin isolation level repeatable read');
  await kept.query('select * from ledger.transactions');
  await other.query(insert('b'));
  await other.query('select engine.fold_totals()');
  await kept.query(
    `update ledger.transactions set fee = 3, fee_symbol = 'ETH' where order_no = 'a'`,
  );
  await kept.query('select engine.fold_totals()');
  await kept.query('commit');
  await expectRight(other);
});

async function connectOne(): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

test('many writers add up their changes themselves', async () => {
  await query(`insert into ledger.transactions (order_no, stream, symbol, amount)
    select 'many-' || n, 'deposit', 'coin-' || n, n from generate_series(1, 2500) as n`);
  const [left] = await query<{ changes: number }>(
    'select count(*)::integer as changes from engine.total_changes',
  );
  expect(left?.changes).toBeLessThan(1_000);
  await expectRight(ledger.pool);
});
