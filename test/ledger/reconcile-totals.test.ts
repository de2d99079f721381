import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import '../support/fixed-seed.ts';
import { forAll } from '../support/for-all.ts';
import { withLedger } from '../support/with-ledger.ts';

const { query } = await withLedger();

/** The same result from sums over the whole history. */
async function createByHistory(): Promise<void> {
  const [found] = await query<{ text: string }>(
    `select pg_get_functiondef('ledger.reconcile(timestamptz)'::regprocedure) as text`,
  );
  const text = found?.text ?? '';
  const [begins, ends] = [
    text.indexOf('moving AS MATERIALIZED ('),
    text.indexOf('),\njudged AS ('),
  ];
  expect(begins).toBeGreaterThan(0);
  const history = `groups AS MATERIALIZED (
    SELECT t.stream, t.symbol, t.fee_symbol, t.state, t.is_final,
           NOT t.is_final OR t.detail_synced_at IS NULL OR t.detail_synced_at < t.changed_at AS is_due,
           t.changed_at >= (SELECT m.moved_since FROM moments m)
             AND (t.first_seen_at < (SELECT m.moved_since FROM moments m)
               OR coalesce(t.occurred_at, t.changed_at) >= (SELECT m.moved_since - interval '1 day' FROM moments m)) AS has_moved,
           count(*) AS transactions, sum(t.amount) AS amount, sum(t.fee) AS fee, max(t.fee) AS largest_fee
      FROM ledger.transactions t WHERE t.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7`;
  await query(
    (text.slice(0, begins) + history + text.slice(ends)).replace(
      'ledger.reconcile(',
      'ledger.reconcile_history(',
    ),
  );
}

beforeAll(createByHistory);

const minutesAgo = fc.integer({ min: 1, max: 3_000 });
const amount = fc.option(fc.integer({ min: -5, max: 50 }), { nil: null });
const coin = fc.constantFrom('BTC', 'ETH', null);
const transaction = fc.record({
  stream: fc.constantFrom('deposit', 'withdraw'),
  symbol: coin,
  amount,
  fee: amount,
  feeSymbol: coin,
  state: fc.constantFrom('success', 'failed', 'pending', null),
  isListed: fc.constantFrom(true, true, true, false),
  detail: fc.option(minutesAgo, { nil: null }),
  changed: minutesAgo,
  seen: minutesAgo,
  at: fc.option(minutesAgo, { nil: null }),
});

test('reconciliation from totals and moving rows has exactly the result of one from the whole history', async () => {
  await query(`
    insert into ledger.final_states values ('success', true), ('failed', false);
    insert into ledger.balances (slip44, symbol, contract_address, balance, observed_at, changed_at, observation)
    values (0, 'BTC', '', 100, now() - interval '10 minutes', now(), 1), (60, 'ETH', '', 7, now(), now(), 1);
    insert into ledger.balance_changes (slip44, symbol, contract_address, balance, observed_at)
    select slip44, symbol, contract_address, balance, observed_at from ledger.balances;
    insert into ledger.streams (name, is_backed) values ('deposit', true), ('withdraw', true)`);
  await forAll(
    fc.array(transaction, { maxLength: 25 }),
    fc.option(minutesAgo, { nil: null }),
    fc.option(minutesAgo, { nil: null }),
  )(40, async (transactions, listsRead, balancesRead) => {
    await query(
      `truncate ledger.transactions; delete from engine.detail_checks; delete from ledger.sync_runs`,
    );
    for (const [job, minutes] of [
      ['transactions', listsRead],
      ['balances', balancesRead],
    ] as const)
      if (minutes !== null)
        await query(`insert into ledger.sync_runs (job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated)
          values ('${job}', now() - interval '${minutes} minutes', now() - interval '${minutes} minutes', 'done', 1, 0, 0, 0)`);
    const ago = (name: string) => `now() - (m->>'${name}')::integer * interval '1 minute'`;
    await query(`
      insert into ledger.transactions (order_no, stream, symbol, amount, fee, fee_symbol, state, is_final, is_success, is_listed,
                                       detail_synced_at, changed_at, first_seen_at, occurred_at)
      select n::text, m->>'stream', m->>'symbol', (m->>'amount')::numeric, (m->>'fee')::numeric, m->>'feeSymbol', m->>'state',
             coalesce(m->>'state' in ('success', 'failed'), false), coalesce(m->>'state' = 'success', false),
             (m->>'isListed')::boolean, ${ago('detail')}, ${ago('changed')}, ${ago('seen')}, ${ago('at')}
        from jsonb_array_elements('${JSON.stringify(transactions)}') with ordinality as u (m, n);
      insert into engine.detail_checks (order_no, is_final, turn)
      select order_no, is_final, 0 from ledger.transactions
       where not is_final or detail_synced_at is null or detail_synced_at < changed_at`);
    for (const readAt of ['now()', 'null', `now() - interval '20 minutes'`]) {
      const of = (
        name: string,
      ) => `select symbol, trim_scale(deposits) as deposits, trim_scale(withdrawals) as withdrawals,
        trim_scale(fees) as fees, trim_scale(difference) as difference, is_explained, explanation,
        trim_scale(open_amount) as open_amount from ledger.${name}(${readAt}) order by symbol`;
      expect(await query(of('reconcile'))).toEqual(await query(of('reconcile_history')));
    }
  });
}, 300_000);

test('a fee that was lowered no longer explains a difference, also before the totals are added up', async () => {
  await query(`
    truncate ledger.transactions, ledger.final_states, ledger.balances, ledger.balance_changes, ledger.streams, ledger.sync_runs;
    insert into ledger.final_states values ('success', true);
    insert into ledger.streams (name, is_backed) values ('deposit', true), ('withdraw', true);
    insert into ledger.balances (slip44, symbol, contract_address, balance, observed_at, changed_at, observation)
    values (60, 'ETH', '', 5000, now() - interval '1 hour', now(), 1);
    insert into ledger.transactions (order_no, stream, symbol, amount, fee, fee_symbol, state, is_final, is_success,
                                     detail_synced_at, changed_at, first_seen_at, occurred_at)
    select order_no, stream, 'ETH', amount, fee, 'ETH', state, state = 'success', state = 'success', ago, ago, ago, ago
      from (values ('in', 'deposit', 5503, 0, 'success'), ('out', 'withdraw', 1, 1, 'success'),
                   ('dear', 'withdraw', 1, 100, 'success'), ('open', 'withdraw', 0, null, 'pending'))
           as v (order_no, stream, amount, fee, state),
           (values (now() - interval '9 days')) as w (ago)`);
  await query('select engine.fold_totals()');
  const judged = async (name: string) =>
    await query(`select trim_scale(difference)::float8 as difference, is_explained, trim_scale(open_amount)::float8 as open
      from ledger.${name}(now()) where symbol = 'ETH'`);
  expect(await judged('reconcile')).toEqual([{ difference: -400, is_explained: true, open: 1000 }]);
  await query(`update ledger.transactions set fee = 2, amount = 99 where order_no = 'dear'`);
  expect(await judged('reconcile')).toEqual([{ difference: -400, is_explained: false, open: 20 }]);
  expect(await judged('reconcile')).toEqual(await judged('reconcile_history'));
});
