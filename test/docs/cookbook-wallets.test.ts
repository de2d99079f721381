import { expect, test } from 'vitest';
import { readCookbookQueries } from '../support/cookbook-queries.ts';
import { withLedger } from '../support/with-ledger.ts';
import type { RecipeCheck } from './cookbook-checks.ts';

const { query } = await withLedger();

/** Every hash of the rows below belongs to one withdrawal, and to one deposit at most. */
const isInternal = (amounts: string) => `exists (select from ledger.transactions o
  where o.tx_hash = t.tx_hash and o.wallet <> t.wallet and o.stream <> t.stream and o.is_success ${amounts})`;

const checks: Record<string, RecipeCheck> = {
  'What came in and went out, without transfers between our own wallets?': {
    wanted: `select t.occurred_at at time zone 'UTC' >= (now() at time zone 'UTC')::date as is_today, t.symbol, t.stream,
             count(*)::integer as n, sum(t.amount) as amount
        from ledger.transactions t where t.is_success and not ${isInternal('')} group by 1, 2, 3`,
    found: `select day = (now() at time zone 'UTC')::date as is_today, symbol, stream, sum(transactions)::integer as n,
                   sum(amount) as amount
              from recipe group by 1, 2, 3`,
  },
  'Which entries make up the books of all wallets together?': {
    wanted: `select t.wallet, t.order_no, 3 as posting_no, - t.fee as amount from ledger.transactions t where t.is_success
      union all select t.wallet, t.order_no, 4, t.fee from ledger.transactions t where t.is_success
      union all select t.wallet, t.order_no, n, t.amount * case when (n = 1) = (t.stream = 'deposit') then 1 else -1 end
        from ledger.transactions t, generate_series(1, 2) as n
       where t.is_success and not ${isInternal('and o.amount = t.amount')}`,
    found: 'select wallet, order_no, posting_no, amount from recipe',
  },
};

test('the recipes about several wallets leave out what only moved between them', async () => {
  await query(`
    insert into ledger.transactions (wallet, order_no, stream, symbol, amount, fee, fee_symbol, tx_hash, state, is_final,
                                     is_success, occurred_at)
    select case when (n % 4) in (0, 1) then 'main' else 'w2' end, 'order-' || n / 4 * 2 + n % 2,
           case n % 2 when 0 then 'withdraw' else 'deposit' end, case n % 3 when 0 then 'ETH' else 'BTC' end,
           case when n % 14 = 1 then 2 else 3 end, 0.01, 'ETH', encode(sha256(n::text::bytea), 'hex') || ':' || n, state, state <> 'pending',
           state = 'success', now() - n * interval '1 hour'
      from generate_series(1, 99) as n
     cross join lateral (select case n % 11 when 5 then 'pending' when 7 then 'failed' else 'success' end as state) as s;
    update ledger.transactions d set tx_hash = w.tx_hash, symbol = w.symbol
      from ledger.transactions w
     where w.stream = 'withdraw' and d.stream = 'deposit' and d.wallet <> w.wallet
       and split_part(w.tx_hash, ':', 2)::integer % 3 > 0
       and split_part(d.tx_hash, ':', 2)::integer = split_part(w.tx_hash, ':', 2)::integer + case w.wallet when 'main' then 3 else -1 end`);
  const pairs = await query<{ is_exact: boolean; is_success: boolean }>(
    'select distinct is_exact, is_success from ledger.internal_transfers',
  );
  expect(pairs).toHaveLength(4);
  const recipes = new Map(readCookbookQueries().map(({ name, sql }) => [name, sql]));
  for (const [name, { wanted, found }] of Object.entries(checks)) {
    const rows = await query<{ answers: number; differing: unknown }>(`
      with recipe as materialized (${recipes.get(name)}), wanted as (${wanted}), found as (${found})
      select (select count(*)::integer from found) as answers,
             (select json_agg(d) from ((select 'missing' as what, w.* from (select * from wanted except all select * from found) as w)
               union all (select 'wrong', f.* from (select * from found except all select * from wanted) as f)) as d) as differing`);
    expect([name, rows[0]?.differing]).toEqual([name, null]);
    expect(rows[0]?.answers, name).toBeGreaterThan(0);
  }
});
