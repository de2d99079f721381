import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { readCookbookQueries } from '../support/cookbook-queries.ts';
import { ledgerChecks, type RecipeCheck } from './cookbook-checks.ts';
import { liveInLedger } from './lived-in-ledger.ts';

const timeZones = ['UTC', 'America/St_Johns', 'Pacific/Apia'];
const success = `lower(btrim(t.state)) in (select f.state from ledger.final_states f where f.is_success) and t.is_listed`;
const month = `date_trunc('month', now(), 'UTC')`;
const monthBefore = `date_trunc('month', ${month} - interval '1 hour', 'UTC')`;

/** For each question a query of the transactions alone, and one over the recipe's answer that must say the same. */
const checks: Record<string, RecipeCheck> = {
  ...ledgerChecks,
  'How much moves per day and coin?': {
    wanted: `select (t.occurred_at at time zone 'UTC')::date::text as day, t.symbol, t.stream, count(*)::integer as n, trim_scale(sum(t.amount)) as amount
      from ledger.transactions t where ${success} and t.occurred_at >= ((now() at time zone 'UTC')::date - 30)::timestamp at time zone 'UTC'
      group by 1, 2, 3`,
    found: `select day::text, symbol, stream, transactions::integer as n, trim_scale(amount) as amount from recipe`,
  },
  'What is the statement of last month?': {
    wanted: `select trim_scale(sum(x.amount)) as moved, count(*)::integer as n
      from ledger.transactions t cross join lateral (values
        (t.symbol, case t.stream when 'deposit' then t.amount else -t.amount end), (t.fee_symbol, -nullif(t.fee, 0))) as x (symbol, amount)
      where ${success} and x.symbol = 'USDT' and x.amount is not null
        and t.occurred_at >= ${monthBefore} and t.occurred_at < ${month}`,
    found: `select trim_scale(sum(amount)) as moved, count(*)::integer as n from recipe where kind = 'posting'`,
  },
  'How much moved on each chain?': {
    wanted: `select t.symbol, t.stream, trim_scale(sum(t.amount)) as amount from ledger.transactions t
      where ${success} and t.occurred_at >= ((now() at time zone 'UTC')::date - 30)::timestamp at time zone 'UTC' group by 1, 2`,
    found: `select symbol, stream, trim_scale(sum(amount)) as amount from recipe
      cross join lateral (values ('deposit', deposits), ('withdraw', withdrawals)) as v (stream, amount)
      group by 1, 2 having sum(amount) <> 0`,
  },
  'What was charged in fees?': {
    wanted: `select to_char(t.occurred_at at time zone 'UTC', 'YYYY-MM') as month, t.fee_symbol, trim_scale(sum(t.fee)) as fee
      from ledger.transactions t where ${success} and t.fee is not null group by 1, 2`,
    found: `select to_char(month, 'YYYY-MM') as month, fee_symbol, trim_scale(fee) as fee from recipe`,
  },
  'What do the books say?': {
    wanted: `select x.account, x.symbol, trim_scale(sum(x.amount)) as amount
      from ledger.transactions t cross join lateral (values
        ('assets:custody', t.symbol, case t.stream when 'deposit' then t.amount else -t.amount end),
        (case t.stream when 'deposit' then 'liabilities:customers' else 'equity:withdrawn' end, t.symbol,
         case t.stream when 'deposit' then -t.amount else t.amount end),
        ('assets:custody', t.fee_symbol, -t.fee), ('expenses:fees', t.fee_symbol, t.fee)) as x (account, symbol, amount)
      where ${success} and t.occurred_at < ${month} and x.amount <> 0 group by 1, 2 having sum(x.amount) <> 0`,
    found: `select account, symbol, trim_scale(amount) as amount from recipe where amount <> 0`,
  },
  'Which entries make up the books?': {
    wanted: `select t.order_no, count(*)::integer as n from ledger.transactions t cross join lateral (values
        (t.symbol, t.amount), (t.symbol, t.amount), (t.fee_symbol, nullif(t.fee, 0)), (t.fee_symbol, nullif(t.fee, 0))) as x (symbol, amount)
      where ${success} and t.occurred_at >= (now() at time zone 'UTC' - interval '7 days') at time zone 'UTC'
        and x.symbol is not null and x.amount is not null group by 1`,
    found: `select order_no, count(*)::integer as n from recipe group by 1 having sum(amount) = 0 or count(distinct symbol) > 1`,
  },
};

test('the recipes of flows, books and what was known answer as the tables do, in three time zones', async () => {
  const wallet = await liveInLedger();
  const client = new Client({ connectionString: wallet.connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  const recipes = new Map(readCookbookQueries().map(({ name, sql }) => [name, sql]));
  for (const timeZone of timeZones) {
    await client.query(`set time zone '${timeZone}'`);
    for (const [name, { wanted, found }] of Object.entries(checks)) {
      const { rows } = await client.query<{ answers: number; differing: unknown[] | null }>(`
        with recipe as materialized (${recipes.get(name)}), wanted as (${wanted}), found as (${found})
        select (select count(*)::integer from found) as answers,
               (select json_agg(d) from ((select 'missing' as what, to_jsonb(w) as row from (select * from wanted except all select * from found) as w)
                 union all (select 'wrong', to_jsonb(f) from (select * from found except all select * from wanted) as f)) as d) as differing`);
      expect([timeZone, name, rows[0]?.differing]).toEqual([timeZone, name, null]);
      expect(rows[0]?.answers, name).toBeGreaterThan(0);
    }
  }
}, 180_000);
