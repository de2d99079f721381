import fc from 'fast-check';
import { Client } from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import '../support/fixed-seed.ts';
import { grantReader } from '../../src/ledger/connection/grant-roles.ts';
import { listClosedMonths } from '../../src/ledger/reports/closing/list-closed-months.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import { forAll } from '../support/for-all.ts';
import { detailed, listed } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear, connectionString } = await withLedger();
const timeZones = ['UTC', 'America/St_Johns', 'Pacific/Apia'];
beforeEach(async () => {
  await query('delete from ledger.closed_months');
  await clear();
  await query('delete from ledger.late_entries');
});

/** `at`: hours since 2026-03-01 UTC, null without a time; `seenAt` likewise. Amounts in hundredths of a coin. */
type Movement = {
  stream: string;
  symbol: string;
  amount: number | null;
  fee: number | null;
  feeSymbol: string;
  isBooked: boolean;
  at: number | null;
  seenAt: number;
};
const hour = fc.integer({ min: -48, max: 24 * 40 });
const movement: fc.Arbitrary<Movement> = fc.record({
  stream: fc.constantFrom('deposit', 'withdraw'),
  symbol: fc.constantFrom('BTC', 'ETH'),
  amount: fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: -50, max: 900 }) },
    fc.constant(null),
  ),
  fee: fc.option(fc.integer({ min: -2, max: 9 }), { nil: null }),
  feeSymbol: fc.constantFrom('BTC', 'ETH'),
  isBooked: fc.boolean(),
  at: fc.oneof({ weight: 6, arbitrary: hour }, fc.constant(null)),
  seenAt: hour,
});
const epoch = Date.UTC(2026, 2, 1);
const instant = (hours: number) => new Date(epoch + hours * 3_600_000).toISOString();

async function store(client: Client, movements: Movement[]): Promise<void> {
  await client.query(
    `insert into ledger.transactions (order_no, stream, symbol, amount, fee, fee_symbol, is_success, occurred_at, first_seen_at)
     select 'order-' || n, m->>'stream', m->>'symbol', (m->>'amount')::numeric / case n % 2 when 0 then 50 else 100 end,
            (m->>'fee')::numeric / case n % 2 when 0 then 50 else 100 end, m->>'feeSymbol',
            (m->>'isBooked')::boolean, timestamptz '2026-03-01 00:00Z' + (m->>'at')::integer * interval '1 hour',
            timestamptz '2026-03-01 00:00Z' + (m->>'seenAt')::integer * interval '1 hour'
       from jsonb_array_elements($1::jsonb) with ordinality as u (m, n)`,
    [JSON.stringify(movements)],
  );
  // Corrected values are in the running totals as changes beside the first ones.
  await client.query(
    `update ledger.transactions set amount = amount / 2, fee = fee / 2 where substr(order_no, 7)::integer % 2 = 0`,
  );
}

async function readBalance(client: Client, hours: number, amount: number | null): Promise<void> {
  await client.query(
    `insert into ledger.balances (slip44, symbol, contract_address, balance, observed_at, changed_at, observation)
     values (0, 'BTC', '', $1::numeric / 100, $2, $2, 1) on conflict (wallet, slip44, symbol, contract_address)
     do update set balance = excluded.balance`,
    [amount, instant(hours)],
  );
  await client.query(
    `insert into ledger.balance_changes (slip44, symbol, contract_address, balance, observed_at) values (0, 'BTC', '', $1::numeric / 100, $2)`,
    [amount, instant(hours)],
  );
}

const bookedAt = ({ at, seenAt }: Movement) => at ?? seenAt;

/** Returns the change in custody by the movements of [from, to); null if an amount is unknown. */
function change(movements: Movement[], from: number, to: number): number | null {
  const within = movements.filter((m) => m.isBooked && bookedAt(m) >= from && bookedAt(m) < to);
  if (within.some((m) => m.symbol === 'BTC' && m.amount === null)) return null;
  return within.reduce((sum, { stream, symbol, amount, fee, feeSymbol }) => {
    const moved = symbol === 'BTC' ? (stream === 'deposit' ? 1 : -1) * (amount ?? 0) : 0;
    return sum + moved - (feeSymbol === 'BTC' ? (fee ?? 0) : 0);
  }, 0);
}

async function connectOne(): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

const empty = `truncate ledger.transactions; truncate ledger.balances, ledger.balance_changes`;
const hundredths = (text: string | null) => (text === null ? null : Math.round(Number(text) * 100));

test('a statement opens and closes with balances that were read or computed back, in any time zone', async () => {
  const client = await connectOne();
  await query(`insert into ledger.coins (slip44, symbol, contract_address, observed_at, changed_at, observation)
               select 1, s, '', now(), now(), 1 from unnest(array['BTC', 'ETH']) as s on conflict do nothing`);
  await forAll(
    fc.array(movement, { maxLength: 15 }),
    fc.array(fc.tuple(hour, fc.integer({ min: 0, max: 5_000 })), { maxLength: 3 }),
    fc.tuple(fc.integer({ min: 1, max: 31 }), fc.integer({ min: 1, max: 31 })),
    fc.constantFrom(...timeZones),
  )(80, async (movements, drawn, days, timeZone) => {
    await client.query(`${empty}; set time zone '${timeZone}'`);
    await store(client, movements);
    const readings = [...new Map(drawn)].sort(([a], [b]) => a - b);
    for (const [at, amount] of readings) await readBalance(client, at, amount);
    const [from, to] = [Math.min(...days), Math.max(...days)];
    const known = (at: number): { balance: number | null; isComputed: boolean | null } => {
      const [first] = readings;
      if (!first) return { balance: null, isComputed: null };
      const last = readings.filter(([read]) => read <= at).at(-1);
      if (last) return { balance: last[1], isComputed: false };
      const changed = change(movements, at, first[0]);
      return { balance: changed === null ? null : first[1] - changed, isComputed: true };
    };
    const { rows } = await client.query(
      `select kind, order_no, amount, balance, is_computed from ledger.account_statement('BTC', $1, $2) order by line_no`,
      [`2026-03-${from}`, `2026-03-${to}`],
    );
    const [begins, ends] = [(from - 1) * 24, to * 24];
    const [opening, closing] = [known(begins), known(ends)];
    expect(rows[0]).toMatchObject({ kind: 'opening', is_computed: opening.isComputed });
    expect(hundredths(rows[0].balance)).toBe(opening.balance);
    expect(rows.at(-1)).toMatchObject({ kind: 'closing', is_computed: closing.isComputed });
    expect(hundredths(rows.at(-1).balance)).toBe(closing.balance);
    const posted = rows.filter(({ kind }) => kind === 'posting');
    const within = movements.filter(
      (m) => m.isBooked && bookedAt(m) >= begins && bookedAt(m) < ends,
    );
    const lines = within.flatMap((m) => [
      ...(m.symbol === 'BTC' && m.amount !== null
        ? [(m.stream === 'deposit' ? 1 : -1) * m.amount]
        : []),
      ...(m.feeSymbol === 'BTC' && m.fee ? [-m.fee] : []),
    ]);
    const inOrder = (values: (number | null)[]) =>
      [...values].sort((a, b) => (a ?? 0) - (b ?? 0)).map((v) => (v ?? 0) + 0);
    expect(inOrder(posted.map(({ amount }) => hundredths(amount)))).toEqual(inOrder(lines));
    const leftOver = hundredths(rows.at(-2).amount);
    const isKnown = opening.balance !== null && closing.balance !== null;
    const sum = lines.reduce((total, each) => total + each, 0);
    expect(leftOver).toBe(
      isKnown ? (closing.balance ?? 0) - (opening.balance ?? 0) - sum + 0 : null,
    );
    if (isKnown) expect(hundredths(rows.at(-2).balance)).toBe(closing.balance);
  });
}, 300_000);

test('a trial balance is the sum of the postings booked before the moment', async () => {
  const client = await connectOne();
  await forAll(
    fc.array(movement, { maxLength: 15 }),
    fc.integer({ min: -60 * 60, max: 42 * 24 * 60 }),
    fc.constantFrom(...timeZones),
  )(60, async (movements, minutes, timeZone) => {
    await client.query(`${empty}; set time zone '${timeZone}'`);
    await store(client, movements);
    const at = instant(minutes / 60);
    const sums = (
      from: string,
    ) => `select account, symbol, trim_scale(sum(amount)) as amount from ${from}
        group by account, symbol having sum(amount) <> 0 order by account, symbol`;
    const booked = await client.query(sums('ledger.postings where booked_at < $1'), [at]);
    const trial = await client.query(sums('ledger.trial_balance_at($1)'), [at]);
    expect(trial.rows).toEqual(booked.rows);
  });
}, 300_000);

test('late entries add up to the changes of a closed month since', async () => {
  const client = await connectOne();
  const custody = `select symbol, sum(amount) as amount from ledger.postings
    where account = 'assets:custody' and booked_at < '2026-04-01 00:00Z' group by symbol`;
  const later = fc.record({
    what: fc.constantFrom('insert', 'update', 'detail', 'unlist', 'relist', 'delete', 'touch'),
    order: fc.nat(14),
    movement,
  });
  await forAll(
    fc.array(movement, { minLength: 15, maxLength: 15 }),
    fc.array(later, { maxLength: 10 }),
  )(60, async (movements, steps) => {
    await client.query(`delete from ledger.closed_months; ${empty}; truncate ledger.late_entries`);
    await store(client, movements);
    await client.query(`insert into ledger.closed_months values ('2026-03-01', now(), 0, '');
      create temporary table closed on commit preserve rows as ${custody}`);
    for (const [index, { what, order, movement: given }] of steps.entries()) {
      const key = `order_no = 'order-${order}'`;
      const { fee, isBooked, at } = given;
      const amount = given.amount === null ? null : given.amount / 100;
      const statements = {
        insert: `insert into ledger.transactions (order_no, stream, symbol, amount, fee, fee_symbol, is_success, occurred_at)
                 values ('late-${index}', '${given.stream}', '${given.symbol}', ${amount}, ${(fee ?? 0) / 100},
                         '${given.feeSymbol}', ${isBooked}, '${instant(at ?? given.seenAt)}')`,
        update: `update ledger.transactions set amount = ${amount}, fee_symbol = '${given.feeSymbol}',
                 occurred_at = ${at === null ? null : `'${instant(at)}'`}, is_success = ${isBooked} where ${key}`,
        detail: `update ledger.transactions set amount = coalesce(amount, ${amount}), fee = coalesce(fee, ${(fee ?? 0) / 100}),
                 fee_symbol = coalesce(fee_symbol, '${given.feeSymbol}'), detail_synced_at = now(), first_detail_at = now(),
                 occurred_at = coalesce(occurred_at, ${at === null ? null : `'${instant(at)}'`}) where ${key}`,
        unlist: `update ledger.transactions set is_listed = false where ${key}`,
        relist: `update ledger.transactions set is_listed = true where ${key}`,
        delete: `delete from ledger.transactions where ${key}`,
        touch: `update ledger.transactions set confirm_num = 9, changed_at = now()`,
      };
      await client.query(statements[what]);
    }
    const differing = await client.query(`
      select symbol, sum(amount) as amount
        from (select symbol, amount from (${custody}) as now
              union all select symbol, - amount from closed
              union all select symbol, - amount_change from ledger.late_entries where month = '2026-03-01') as x
       group by symbol having sum(amount) <> 0`);
    await client.query('drop table closed');
    expect(differing.rows).toEqual([]);
  });
}, 300_000);

test('a late entry names the event, and an open month has none', async () => {
  await query(`insert into ledger.closed_months values ('2026-03-01', now(), 0, '')`);
  const insert = (key: string, month: number, state: string) =>
    query(`insert into ledger.transactions (order_no, stream, symbol, amount, state, is_success, occurred_at)
      values ('${key}', 'deposit', 'BTC', 2, '${state}', ${state === 'success'}, '2026-0${month}-05 00:00Z')`);
  await insert('open', 4, 'success');
  await insert('late', 3, 'pending');
  await query(
    `update ledger.transactions set state = 'success', is_success = true where order_no = 'late'`,
  );
  await query(`update ledger.transactions set amount = null where order_no = 'late'`);
  await query(`update ledger.transactions set is_listed = false`);
  expect(
    await query(
      'select order_no, kind, symbol, amount_change from ledger.late_entries order by id',
    ),
  ).toEqual([
    { order_no: 'late', kind: 'new', symbol: 'BTC', amount_change: '0' },
    { order_no: 'late', kind: 'changed', symbol: 'BTC', amount_change: '2' },
    { order_no: 'late', kind: 'changed', symbol: 'BTC', amount_change: '-2' },
    { order_no: 'late', kind: 'unlisted', symbol: 'BTC', amount_change: '0' },
  ]);
});

test('a row from before the closed months is a late entry of the next closed one as far as it moves money', async () => {
  await query(`insert into ledger.closed_months (month, closed_at, transactions, digest)
    values ('2026-03-01', now(), 0, ''), ('2026-05-01', now(), 0, '')`);
  const at = (day: string) => `timestamptz '2026-${day} 00:00Z'`;
  await query(`insert into ledger.transactions (order_no, stream, symbol, amount, state, is_success, occurred_at) values
    ('early', 'withdraw', 'BTC', 2, 'success', true, ${at('01-15')}),
    ('waiting', 'deposit', 'BTC', 3, 'pending', false, ${at('02-28')}),
    ('unread', 'deposit', 'BTC', null, 'success', true, ${at('02-28')}),
    ('between', 'deposit', 'ETH', 4, 'success', true, ${at('04-15')}),
    ('after', 'deposit', 'ETH', 5, 'success', true, ${at('06-01')})`);
  await query(`update ledger.transactions set state = 'done' where order_no = 'early'`);
  await query(
    `update ledger.transactions set is_success = true, fee = 0.5, fee_symbol = 'ETH' where order_no = 'waiting'`,
  );
  await query(`update ledger.transactions set amount = 2.5 where order_no = 'early'`);
  await query(`update ledger.transactions set amount = 7 where order_no = 'unread'`);
  await query(`update ledger.transactions set is_listed = false where order_no = 'waiting'`);
  await query(
    `update ledger.transactions set occurred_at = ${at('03-15')} where order_no = 'between'`,
  );
  await query(`delete from ledger.transactions where order_no = 'early'`);
  const rows = await query<{ entry: string }>(`
    select concat_ws(' ', to_char(month, 'MM'), order_no, kind, symbol, trim_scale(amount_change)) as entry
      from ledger.late_entries order by id, month, symbol`);
  expect(rows.map(({ entry }) => entry).sort()).toEqual(
    [
      '03 early new BTC -2',
      '05 between new ETH 4',
      '03 waiting changed BTC 3',
      '03 waiting changed ETH -0.5',
      '03 early changed BTC -0.5',
      '03 unread changed BTC 7',
      '03 waiting unlisted BTC -3',
      '03 waiting unlisted ETH 0.5',
      '03 between changed ETH 4',
      '05 between changed ETH -4',
      '03 early unlisted BTC 2.5',
    ].sort(),
  );
});

test('the first detail of a late row is a late entry only if it moves money', async () => {
  await query(`insert into ledger.closed_months values ('2026-03-01', now(), 0, '')`);
  await query(`insert into ledger.final_states values ('success', true) on conflict do nothing`);
  const row = listed({
    state: 'success',
    symbol: 'BTC',
    amount: '3',
    occurredAt: Date.parse(instant(100)),
  });
  await storeListedTransactions(ledger.db, 'deposit', [{ ...row, orderNo: 'in' }]);
  await storeListedTransactions(ledger.db, 'withdraw', [{ ...row, orderNo: 'out' }]);
  const store = (orderNo: string, observation: number, fee: string) =>
    storeTransactionDetails(ledger.db, [
      detailed({ ...row, orderNo, observation, fee, feeSymbol: 'BTC', confirmNum: 6 }),
    ]);
  await store('in', 2, '0');
  await store('out', 2, '0.1');
  await store('in', 3, '0.2');
  expect(
    await query('select order_no, kind, amount_change from ledger.late_entries order by id'),
  ).toEqual([
    { order_no: 'in', kind: 'new', amount_change: '3' },
    { order_no: 'out', kind: 'new', amount_change: '-3' },
    { order_no: 'out', kind: 'changed', amount_change: '-0.1' },
    { order_no: 'in', kind: 'changed', amount_change: '-0.2' },
  ]);
});

test('a late row whose amount is unknown at first has it in the entry that makes it known', async () => {
  await query(`insert into ledger.closed_months values ('2026-03-01', now(), 0, '')`);
  await query(`insert into ledger.transactions (order_no, stream, symbol, is_success, occurred_at)
    values ('late', 'deposit', 'BTC', true, '2026-03-05 00:00Z')`);
  const entries = async () =>
    await query('select kind, amount_change from ledger.late_entries order by id');
  const closed = async () =>
    await listClosedMonths(ledger, {
      digestOf: async () => '',
      signal: new AbortController().signal,
    });
  const late = { symbol: 'BTC', orders: 1 };
  expect(await entries()).toEqual([{ kind: 'new', amount_change: null }]);
  expect(await closed()).toMatchObject([{ late: [{ ...late, entries: 1, amount: null }] }]);
  await query(`update ledger.transactions set amount = 1.5`);
  expect(await entries()).toEqual([
    { kind: 'new', amount_change: null },
    { kind: 'changed', amount_change: '1.5' },
  ]);
  expect(await closed()).toMatchObject([{ late: [{ ...late, entries: 2, amount: '1.5' }] }]);
});

test('a row that is being written while its month is closed is in the books, or is a late entry', async () => {
  const [writer, closer] = [await connectOne(), await connectOne()];
  await writer.query('begin');
  await writer.query(`insert into ledger.transactions (order_no, stream, symbol, amount, is_success, occurred_at)
    values ('racing', 'deposit', 'BTC', 1, true, '2026-03-05 00:00Z')`);
  const closing = closer.query(
    `begin; insert into ledger.closed_months values ('2026-03-01', now(), 0, '')`,
  );
  await writer.query('commit');
  await closing;
  const { rows } = await closer.query(`select order_no from ledger.postings where posting_no = 1`);
  await closer.query('commit');
  expect(rows).toEqual([{ order_no: 'racing' }]);
  expect(await query('select * from ledger.late_entries')).toEqual([]);
});

test.each([
  [`'2026-03-02', '2026-03-01'`, 'the first day, 2026-03-02, is after the last one, 2026-03-01'],
  [`null, '2026-03-01'`, 'a statement needs its first and its last day; one of them is null'],
  [`'2026-03-01', null`, 'a statement needs its first and its last day; one of them is null'],
])('a statement of the days %s is refused', async (days, message) => {
  for (const wallet of ['', `'main', `])
    await expect(
      query(`select * from ledger.account_statement(${wallet}'BTC', ${days})`),
    ).rejects.toMatchObject({ code: '22023', message });
});

test('a wallet or coin that does not exist is refused, and the existing ones are named', async () => {
  await readBalance(await connectOne(), 10, 500);
  const at = `'2026-03-05Z'`;
  const calls = [
    `account_statement('nope', 'BTC', '2026-03-01', '2026-03-02')`,
    `balance_at('nope', 'BTC', ${at})`,
    `custody_postings('nope', 'BTC', ${at}, ${at})`,
    ...['balances_at', 'transactions_at', 'trial_balance_at'].map((f) => `${f}('nope', ${at})`),
    `booked_sums('nope', ${at}, ${at})`,
    `booked_sums(null, ${at}, ${at})`,
  ];
  for (const call of calls)
    await expect(query(`select * from ledger.${call}`)).rejects.toMatchObject({
      code: '22023',
      message: expect.stringMatching(
        /^there is no wallet named ('nope'|NULL), or this role may not see it$/,
      ),
      hint: 'name one of main',
    });
  for (const wallet of ['', `'main', `])
    await expect(
      query(`select * from ledger.account_statement(${wallet}'btc', '2026-03-01', '2026-03-02')`),
    ).rejects.toMatchObject({
      code: '22023',
      message: `the wallet main has never had a coin 'btc'`,
      hint: 'name a symbol as the service spells it: BTC',
    });
  expect(await query(`select from ledger.trial_balance_at('main', ${at})`)).not.toEqual([]);
});

test('readers can call the functions and have the documented columns, in a read-only transaction', async () => {
  const role = `analyst_${process.pid}_${Date.now()}`;
  await ledger.pool.query(`create role ${role}`);
  onTestFinished(async () => {
    await ledger.pool.query(`drop owned by ${role}; drop role ${role}`);
  });
  await grantReader(ledger, role);
  const client = await connectOne();
  await readBalance(client, 10, 500);
  await client.query(`set role ${role}; begin read only`);
  const call = async (statement: string) => (await client.query(statement)).rows;
  expect(
    await call(
      `select kind, balance, is_computed from ledger.account_statement('BTC', '2026-03-01', '2026-03-02')`,
    ),
  ).toEqual([
    { kind: 'opening', balance: '5.0000000000000000', is_computed: true },
    { kind: 'left over', balance: '5.0000000000000000', is_computed: null },
    { kind: 'closing', balance: '5.0000000000000000', is_computed: false },
  ]);
  expect(
    await call(
      `select account, symbol, amount::text, reported::integer from ledger.trial_balance_at('2026-03-02 00:00Z')`,
    ),
  ).toEqual([{ account: 'assets:custody', symbol: 'BTC', amount: '0', reported: 5 }]);
  for (const view of [
    'daily_totals',
    'daily_fees',
    'postings',
    'unposted_values',
    'late_entries',
    'chains',
  ])
    await call(`select * from ledger.${view}`);
  expect(await call('select ledger.contract_version() as version')).toEqual([{ version: '1.5' }]);
  const promised = await call(
    `select relation || '.' || "column" as name from ledger.contract where meaning is null`,
  );
  expect(promised).toEqual([]);
  expect(await call(`select unit from ledger.contract where "column" = 'days_left'`)).toEqual([
    { unit: 'days' },
  ]);
  expect(
    await call(
      `select "column", type, unit from ledger.contract where relation = 'closed_months' order by 1`,
    ),
  ).toEqual([
    { column: 'closed_at', type: 'timestamp with time zone', unit: 'instant' },
    { column: 'digest', type: 'text', unit: null },
    { column: 'month', type: 'date', unit: 'UTC day' },
    { column: 'transactions', type: 'bigint', unit: 'number' },
    { column: 'wallet', type: 'text', unit: null },
  ]);
  expect(
    await call(
      `select relation, "column" from ledger.contract
        where since = '1.1' and relation in ('closed_months', 'internal_transfers', 'wallets') and "column" in ('month', 'wallet') order by 1`,
    ),
  ).toEqual([
    { relation: 'closed_months', column: 'wallet' },
    { relation: 'internal_transfers', column: 'wallet' },
  ]);
});
