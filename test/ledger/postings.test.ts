import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import '../support/fixed-seed.ts';
import { forAll } from '../support/for-all.ts';
import { hostileText } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();
const names = 'select role, name from ledger.accounts order by role';
beforeEach(clear);

/** Amounts in thousandths of a coin; null: unknown. */
type Movement = {
  stream: string;
  symbol: string | null;
  amount: number | null;
  fee: number | null;
  feeSymbol: string | null;
  isSuccess: boolean;
  isListed: boolean;
  isDated: boolean;
  hasDetail: boolean;
  address: number;
};

const coin = fc.constantFrom('BTC', 'ETH', 'a:b c', null);
const thousandths = fc.option(fc.integer({ min: -2_000, max: 9_000 }), { nil: null });
const movement: fc.Arbitrary<Movement> = fc.record({
  stream: fc.constantFrom('deposit', 'withdraw'),
  symbol: coin,
  amount: thousandths,
  fee: fc.oneof(thousandths, fc.constant(0)),
  feeSymbol: coin,
  isSuccess: fc.boolean(),
  isListed: fc.boolean(),
  isDated: fc.boolean(),
  hasDetail: fc.boolean(),
  address: fc.nat(3),
});

/** References of the addresses 0 and 1; the others have none. */
type References = [string, string];

async function store(movements: Movement[], references: References): Promise<void> {
  await ledger.pool.query(
    'delete from ledger.transactions; delete from ledger.addresses; update engine.home set disturbed_by = null',
  );
  await ledger.pool.query(
    `insert into ledger.addresses (slip44, address, status, assigned_to, assigned_at, first_seen_at)
     select 60, 'address' || n, 'assigned', r, now(), now() from unnest($1::text[]) with ordinality as u (r, n)`,
    [references],
  );
  await ledger.pool.query(
    `insert into ledger.transactions (order_no, stream, symbol, amount, fee, fee_symbol, is_success, is_listed,
                                      occurred_at, first_seen_at, detail_synced_at, to_address)
     select n::text, m->>'stream', m->>'symbol', (m->>'amount')::numeric / 1000, (m->>'fee')::numeric / 1000,
            m->>'feeSymbol', (m->>'isSuccess')::boolean, (m->>'isListed')::boolean,
            case when (m->>'isDated')::boolean then timestamptz '2026-01-01 00:00Z' + n * interval '1 hour' end,
            timestamptz '2026-02-01 00:00Z' + n * interval '1 hour',
            case when (m->>'hasDetail')::boolean then now() end, 'ADDRESS' || (m->>'address')::integer + 1
       from jsonb_array_elements($1::jsonb) with ordinality as u (m, n)`,
    [JSON.stringify(movements)],
  );
}

const booked = (each: Movement) => each.isSuccess && each.isListed;

/** Sums of the accounts by account and coin, without zeros, computed without the database. */
function expectedSums(movements: Movement[], references: References): Map<string, number> {
  const sums = new Map<string, number>();
  const post = (account: string, symbol: string, amount: number) => {
    const key = `${account} ${symbol}`;
    sums.set(key, (sums.get(key) ?? 0) + amount);
  };
  for (const each of movements.filter(booked)) {
    const { stream, symbol, amount, fee, feeSymbol, address } = each;
    const reference = references[address];
    const customer = `liabilities:customers${reference === undefined ? '' : `:${reference}`}`;
    if (symbol !== null && amount !== null) {
      const sign = stream === 'deposit' ? 1 : -1;
      post('assets:custody', symbol, sign * amount);
      post(sign === 1 ? customer : 'equity:withdrawn', symbol, -sign * amount);
    }
    if (fee !== null && feeSymbol !== null) {
      post('assets:custody', feeSymbol, -fee);
      post('expenses:fees', feeSymbol, fee);
    }
  }
  return new Map([...sums].filter(([, sum]) => sum !== 0));
}

function expectedGaps(movements: Movement[]): string[] {
  return movements
    .flatMap((each, index) =>
      booked(each)
        ? [
            each.amount === null && 'amount',
            each.symbol === null && 'symbol',
            each.fee === null && !each.hasDetail && 'fee',
            each.fee !== null && each.fee !== 0 && each.feeSymbol === null && 'fee_symbol',
          ].flatMap((missing) => (missing ? [`${index + 1} ${missing}`] : []))
        : [],
    )
    .sort();
}

test('postings add up to 0 per order and coin, and per account to the moved amount; unknown amounts are counted', async () => {
  await forAll(fc.array(movement, { maxLength: 12 }), fc.tuple(hostileText, hostileText))(
    60,
    async (movements, references) => {
      await store(movements, references);
      expect(
        await query(
          'select order_no, symbol from ledger.postings group by order_no, symbol having sum(amount) <> 0',
        ),
      ).toEqual([]);
      const sums = await query<{ account: string; symbol: string; sum: string }>(
        `select account, symbol, (sum(amount) * 1000)::integer as sum from ledger.postings
        group by account, symbol having sum(amount) <> 0`,
      );
      const found = new Map(sums.map(({ account, symbol, sum }) => [`${account} ${symbol}`, sum]));
      expect(found).toEqual(expectedSums(movements, references));
      const gaps = await query<{ gap: string }>(
        `select order_no || ' ' || missing as gap from ledger.unposted_values`,
      );
      expect(gaps.map(({ gap }) => gap).sort()).toEqual(expectedGaps(movements));
    },
  );
}, 120_000);

test('the sum of custody equals the expectation of the reconciliation', async () => {
  await forAll(fc.array(movement, { maxLength: 12 }))(20, async (movements) => {
    // Reconciliation uses the states and postings the flag: both have the same value here.
    await store(movements, ['one', 'two']);
    await query(`update ledger.transactions set state = case when is_success then 'success' else 'pending' end;
      insert into ledger.final_states values ('success', true) on conflict do nothing`);
    expect(
      await query(
        `select symbol, sum(amount) from ledger.postings where account = 'assets:custody' group by symbol having sum(amount) <> 0
         except select symbol, expected from ledger.reconciliation`,
      ),
    ).toEqual([]);
  });
}, 120_000);

const one = {
  stream: 'deposit',
  symbol: 'ETH',
  amount: 1_500,
  fee: 2,
  feeSymbol: 'BTC',
  isSuccess: true,
  isListed: true,
  isDated: true,
  hasDetail: true,
  address: 0,
};

test('a renamed account is renamed in every posting, and an account without a name has the name of its role', async () => {
  await store([one, { ...one, stream: 'withdraw', isDated: false }], ['a:b', 'c']);
  const accounts = async () =>
    (
      await query<{ account: string }>(
        'select account from ledger.postings order by booked_at, order_no, posting_no',
      )
    ).map(({ account }) => account);
  expect(await accounts()).toEqual([
    ...['assets:custody', 'liabilities:customers:a:b', 'assets:custody', 'expenses:fees'],
    ...['assets:custody', 'equity:withdrawn', 'assets:custody', 'expenses:fees'],
  ]);
  const before = await query<{ role: string; name: string }>(names);
  await query(`update ledger.accounts set name = 'assets:vault' where role = 'custody'`);
  await query(`delete from ledger.accounts where role = 'fees'`);
  expect((await accounts()).slice(0, 4)).toEqual([
    ...['assets:vault', 'liabilities:customers:a:b', 'assets:vault', 'fees'],
  ]);
  await query(`delete from ledger.accounts`);
  for (const { role, name } of before)
    await ledger.pool.query('insert into ledger.accounts values ($1, $2)', [role, name]);
});

test('an unreadable fee counts as missing although the detail was fetched', async () => {
  await store([{ ...one, fee: null }], ['a', 'b']);
  await query(`insert into ledger.rejects (source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
               values ('transaction-detail', '1', 'fee', 'not a number', '{}', 'f', now(), now())`);
  expect(await query('select order_no, missing from ledger.unposted_values')).toEqual([
    { order_no: '1', missing: 'fee' },
  ]);
});

test('a closed month is stored as its first day', async () => {
  const close = (month: string) =>
    query(`insert into ledger.closed_months values ('${month}', now(), 0, 'none')`);
  await expect(close('2026-03-02')).rejects.toThrow('closed_months_first_day');
  await close('2026-03-01');
  await query('delete from ledger.closed_months');
});
