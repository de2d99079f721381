import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import '../support/fixed-seed.ts';
import type { Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { forAll } from '../support/for-all.ts';
import { withLedger } from '../support/with-ledger.ts';

/** A ledger with two wallets, and one that has a single wallet at a time. */
const both = await withLedger();
const alone = await withLedger();
const wallets = ['main', 'w2'];

const empty = `
  truncate ledger.transactions, ledger.transaction_changes, ledger.balances, ledger.balance_changes, ledger.addresses,
           ledger.closed_months, ledger.late_entries, ledger.streams, ledger.final_states;
  update engine.home set disturbed_by = null`;
beforeEach(async () => {
  await both.query(empty);
  await alone.query(empty);
});

/** Hours count from 2026-03-01 UTC; amounts are hundredths of a coin. The place in the list is the order number. */
const hour = fc.integer({ min: -48, max: 24 * 40 });
const amount = fc.option(fc.integer({ min: -50, max: 900 }), { nil: null, freq: 8 });
const movement = fc.record({
  stream: fc.constantFrom('deposit', 'withdraw'),
  symbol: fc.constantFrom('BTC', 'ETH', null),
  amount,
  fee: fc.option(fc.integer({ min: -2, max: 9 }), { nil: null }),
  feeSymbol: fc.constantFrom('BTC', 'ETH'),
  isBooked: fc.boolean(),
  isListed: fc.constantFrom(true, true, false),
  at: fc.option(hour, { nil: null, freq: 6 }),
  seenAt: hour,
  address: fc.nat(2),
  formerAmount: fc.option(fc.integer({ min: 0, max: 9 }), { nil: null }),
  changedAt: hour,
});
const history = fc.record({
  movements: fc.array(movement, { maxLength: 6 }),
  readings: fc.array(fc.record({ at: hour, balance: amount }), { maxLength: 3 }),
  references: fc.tuple(fc.constantFrom('one', 'a:b'), fc.constantFrom('two', 'one more')),
  isClosed: fc.boolean(),
});
type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

const moment = (hours: string) => `timestamptz '2026-03-01 00:00Z' + ${hours} * interval '1 hour'`;
const field = (name: string) => moment(`(m->>'${name}')::integer`);

async function store(ledger: Ledger, { movements, readings, references }: History): Promise<void> {
  await ledger.pool.query(
    `insert into own.addresses (slip44, address, status, assigned_to, assigned_at, first_seen_at)
     select 60, 'address' || n, 'assigned', r, '2026-01-01', '2026-01-01' from unnest($1::text[]) with ordinality as u (r, n)`,
    [references],
  );
  await ledger.pool.query(`insert into own.streams (name) values ('deposit')`);
  const rows = JSON.stringify(movements);
  await ledger.pool.query(
    `insert into own.transactions (order_no, stream, symbol, amount, fee, fee_symbol, is_success, is_listed, occurred_at,
                                   first_seen_at, changed_at, to_address)
     select 'order-' || n, m->>'stream', m->>'symbol', (m->>'amount')::numeric / 100, (m->>'fee')::numeric / 100,
            m->>'feeSymbol', (m->>'isBooked')::boolean, (m->>'isListed')::boolean, ${field('at')}, ${field('seenAt')},
            ${field('changedAt')}, 'ADDRESS' || (m->>'address')::integer + 1
       from jsonb_array_elements($1::jsonb) with ordinality as u (m, n)`,
    [rows],
  );
  await ledger.pool.query(
    `insert into own.transaction_changes (order_no, observed_at, field, old_value, new_value)
     select 'order-' || n, ${field('changedAt')}, 'amount', m->>'formerAmount', m->>'amount'
       from jsonb_array_elements($1::jsonb) with ordinality as u (m, n) where m->>'formerAmount' is not null`,
    [rows],
  );
  const read = JSON.stringify(readings);
  await ledger.pool.query(
    `insert into own.balances (slip44, symbol, contract_address, balance, observed_at, changed_at, observation)
     select distinct on (n % 2) n % 2, 'BTC', '', (m->>'balance')::numeric / 100, ${field('at')}, ${field('at')}, 1
       from jsonb_array_elements($1::jsonb) with ordinality as u (m, n)`,
    [read],
  );
  await ledger.pool.query(
    `insert into own.balance_changes (slip44, symbol, contract_address, balance, observed_at)
     select n % 2, 'BTC', '', (m->>'balance')::numeric / 100, ${field('at')}
       from jsonb_array_elements($1::jsonb) with ordinality as u (m, n)`,
    [read],
  );
}

async function closeMarch(ledger: Ledger, { isClosed }: History): Promise<void> {
  if (!isClosed) return;
  await ledger.pool.query(
    `insert into own.closed_months (month, closed_at, transactions, digest) values ('2026-03-01', '2026-04-02', 0, '')`,
  );
}

/** Changes the rows of all wallets in one statement each. */
const aftermath = `
  update ledger.transactions set amount = amount + 1 where order_no in ('order-1', 'order-2');
  update ledger.transactions set is_listed = not is_listed, fee = 0.5 where order_no in ('order-3', 'order-4');
  delete from ledger.transactions where order_no = 'order-5';
  insert into ledger.transactions (wallet, order_no, stream, symbol, amount, is_success, occurred_at, first_seen_at)
  select s.wallet, 'late', 'deposit', 'BTC', 3, true, '2026-03-09 00:00Z', '2026-03-10 00:00Z' from ledger.streams s
   where s.name = 'deposit'`;

/** Results of all functions, for one wallet or for the only one. */
async function answers(ledger: Ledger, wallet: string | null, days: [number, number]) {
  const named = wallet === null ? '' : `'${wallet}', `;
  const where = wallet === null ? '' : `where v.wallet = '${wallet}'`;
  const [from, to] = [Math.min(...days), Math.max(...days)];
  const at = moment(String(from * 24 + 7));
  const until = moment(String(to * 24 + 31));
  const asked = [
    ...['postings', 'unposted_values', 'balance_history', 'late_entries'].map(
      (view) => `ledger.${view} v ${where}`,
    ),
    `ledger.balances_at(${named}${at}) v`,
    `ledger.booked_sums(${named}${at}, ${until}) v`,
    `ledger.balance_at(${named}'BTC', ${at}) v`,
    `ledger.account_statement(${named}'BTC', date '2026-03-01' + ${from - 1}, date '2026-03-01' + ${to - 1}) v`,
    `ledger.trial_balance_at(${named}${at}) v`,
    `ledger.transactions_at(${named}${at}) v`,
  ];
  const found: Record<string, unknown> = {};
  for (const [index, source] of asked.entries()) {
    const { rows } = await ledger.pool.query<{ answer: unknown }>(
      `select coalesce(jsonb_agg(r order by r::text), '[]') as answer
         from (select to_jsonb(v) - 'wallet' - 'id' - 'recorded_at' as r from ${source}) as x`,
    );
    found[asked[index]?.replaceAll(named || '\0', '').replace(where || '\0', '') ?? ''] =
      rows[0]?.answer;
  }
  return found;
}

test('the books of each of two wallets equal those of a ledger with that wallet alone', async () => {
  await forAll(
    fc.tuple(history, history),
    fc.tuple(fc.integer({ min: 1, max: 31 }), fc.integer({ min: 1, max: 31 })),
  )(40, async (histories, days) => {
    await both.query(empty);
    const all = histories.map((its, index) => {
      const wallet = wallets[index] ?? '';
      return { ledger: both.ledger.forWallet(wallet), wallet, its };
    });
    for (const { ledger, its } of all) await store(ledger, its);
    for (const { ledger, its } of all) await closeMarch(ledger, its);
    await both.query(aftermath);
    for (const { wallet, its } of all) {
      const only = alone.ledger.forWallet(wallet);
      await alone.query(empty);
      await store(only, its);
      await closeMarch(only, its);
      await alone.query(aftermath);
      expect(await answers(both.ledger, wallet, days)).toEqual(await answers(only, null, days));
    }
    expect(
      await both.query(
        'select from ledger.postings group by wallet, order_no, symbol having sum(amount) <> 0',
      ),
    ).toEqual([]);
  });
}, 240_000);

test.each(['hashjoin', 'mergejoin', 'nestloop'])(
  'without a wallet the functions require its name if the ledger has several, however empty tables are joined: %s',
  async (join) => {
    await both.query(
      `insert into ledger.streams (wallet, name) values ('eu', 'deposit'), ('us', 'deposit')`,
    );
    const plans = ['hashjoin', 'mergejoin', 'nestloop'].map(
      (other) => `set enable_${other} = ${other === join}`,
    );
    for (const call of [
      `balances_at(now())`,
      `transactions_at(now())`,
      `booked_sums(now(), now())`,
      `balance_at('BTC', now())`,
      `account_statement('BTC', '2026-03-01', '2026-03-02')`,
      `trial_balance_at(now())`,
    ])
      await expect(both.fill(...plans, `select * from ledger.${call}`), call).rejects.toMatchObject(
        {
          message: 'this ledger has several wallets (eu, us)',
          hint: `name one as the first argument: 'eu', …`,
        },
      );
  },
);

test('a row that is moved to another wallet leaves the closed month of one and enters that of the other', async () => {
  await both.query(`
    insert into ledger.transactions (wallet, order_no, stream, symbol, amount, is_success, occurred_at)
    values ('main', 'moved', 'deposit', 'BTC', 2, true, '2026-03-05 00:00Z');
    insert into ledger.closed_months (wallet, month, closed_at, transactions, digest)
    values ('main', '2026-03-01', now(), 0, ''), ('w2', '2026-03-01', now(), 0, '');
    update ledger.transactions set wallet = 'w2' where order_no = 'moved'`);
  expect(
    await both.query(
      'select wallet, order_no, kind, amount_change from ledger.late_entries order by wallet',
    ),
  ).toEqual([
    { wallet: 'main', order_no: 'moved', kind: 'unlisted', amount_change: '-2' },
    { wallet: 'w2', order_no: 'moved', kind: 'new', amount_change: '2' },
  ]);
});
