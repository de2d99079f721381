import fc from 'fast-check';
import { expect, test } from 'vitest';
import '../support/fixed-seed.ts';
import { forAll } from '../support/for-all.ts';
import { type TestLedger, withLedger } from '../support/with-ledger.ts';

const both = await withLedger();
const alone = await withLedger();
const wallets = ['main', 'w2'];

/** Tables that the views read; those that triggers fill are compared, not copied. */
const copied = [
  'ledger.final_states',
  'ledger.transactions',
  'ledger.transaction_changes',
  'ledger.balances',
  'ledger.balance_changes',
  'ledger.coins',
  'ledger.addresses',
  'ledger.rejects',
  'ledger.sync_runs',
  'ledger.reconciliation_runs',
  'engine.detail_checks',
];
const views = [
  ...['daily_totals', 'daily_flows', 'daily_fees', 'totals', 'assets', 'known_chains', 'chains'],
  ...['reconciliation', 'asset_reconciliation', 'unexplained_differences', 'state_transitions'],
  ...['pending_transactions', 'waiting_details', 'total_drift'],
];
const answers = [
  ...views.map((view) => ({ view, rows: `select * from ledger.${view}` })),
  { view: 'counts', rows: 'select wallet, name, ledger_count from ledger.streams' },
  {
    view: 'days',
    rows: 'select wallet, stream, day, transactions from ledger.coverage where transactions <> 0',
  },
];

const text = (value: string | number | boolean | null) =>
  value === null ? 'null' : `'${String(value)}'`;
const wallet = fc.constantFrom(...wallets);
const order = fc.nat(5).map((n) => `order-${n}`);
const coin = fc.constantFrom('BTC', 'USDC', 'ETH', null);
const amount = fc.option(fc.integer({ min: -5, max: 50 }), { nil: null });
const minutesAgo = fc.integer({ min: 1, max: 3_000 });
const asset = fc.constantFrom(`60, 'ETH', ''`, `60, 'USDC', '0xa'`, `195, 'USDC', 'T'`);
const ago = (minutes: number) =>
  `timestamptz '2026-03-01 00:00Z' - interval '1 minute' * ${minutes}`;

const columns = {
  stream: fc.constantFrom('deposit', 'withdraw').map(text),
  symbol: coin.map(text),
  amount: amount.map(text),
  fee: amount.map(text),
  fee_symbol: coin.map(text),
  state: fc.constantFrom('success', 'failed', 'pending', null).map(text),
  to_address: fc.constantFrom('0xa1', 'Tours', 'both', null).map(text),
  is_final: fc.boolean().map(text),
  is_success: fc.boolean().map(text),
  is_listed: fc.constantFrom(true, true, true, false).map(text),
  is_backfilled: fc.boolean().map(text),
  also_listed_in: fc.constantFrom(null, null, null, 'withdraw').map(text),
  occurred_at: minutesAgo.map(ago),
  detail_synced_at: fc.oneof(fc.constant('null'), minutesAgo.map(ago)),
  changed_at: minutesAgo.map(ago),
  first_seen_at: minutesAgo.map(ago),
};
const names = Object.keys(columns) as (keyof typeof columns)[];
const row = fc.record(columns);

const stored = fc.tuple(wallet, order, row).map(
  ([of, key, given]) => `insert into ledger.transactions (wallet, order_no, ${names.join(', ')})
      values ('${of}', '${key}', ${names.map((name) => given[name]).join(', ')})
      on conflict (wallet, order_no) do update set fee = excluded.fee, state = excluded.state, amount = excluded.amount`,
);
const updated = fc
  .tuple(fc.option(wallet, { nil: null }), order, row, fc.subarray(names, { minLength: 1 }))
  .map(
    ([of, key, given, some]) => `update ledger.transactions
        set ${some.map((name) => `${name} = ${given[name]}`).join(', ')}
      where order_no = '${key}' ${of === null ? '' : `and wallet = '${of}'`}`,
  );
const movedRow = fc.tuple(fc.constantFrom(wallets, wallets.toReversed()), order, amount).map(
  ([
    [from, to],
    key,
    some,
  ]) => `update ledger.transactions set wallet = '${to}', amount = ${text(some)}
      where wallet = '${from}' and order_no = '${key}'
        and not exists (select from ledger.transactions where wallet = '${to}' and order_no = '${key}')`,
);
const deleted = fc
  .tuple(wallet, order)
  .map(
    ([of, key]) => `delete from ledger.transactions where (wallet, order_no) = ('${of}', '${key}')`,
  );
const held = fc.tuple(wallet, asset, fc.integer({ min: -5, max: 90 }), minutesAgo).map(
  ([of, key, sum, at]) => `insert into ledger.balances
        (wallet, slip44, symbol, contract_address, chain_name, balance, observed_at, changed_at, observation)
      values ('${of}', ${key}, '${of}', ${sum}, ${ago(at)}, ${ago(at)}, 1)
      on conflict (wallet, slip44, symbol, contract_address) do update set balance = excluded.balance;
      insert into ledger.balance_changes (wallet, slip44, symbol, contract_address, balance, observed_at)
      values ('${of}', ${key}, ${sum}, ${ago(at)})`,
);
const listedCoin = fc.tuple(wallet, asset).map(
  ([
    of,
    key,
  ]) => `insert into ledger.coins (wallet, slip44, symbol, contract_address, observed_at, changed_at, observation)
      values ('${of}', ${key}, ${ago(1)}, ${ago(1)}, 1) on conflict do nothing`,
);
const changed = fc.tuple(wallet, order, minutesAgo).map(
  ([
    of,
    key,
    at,
  ]) => `insert into ledger.transaction_changes (wallet, order_no, observed_at, field, old_value, new_value)
      values ('${of}', '${key}', ${ago(at)}, 'state', 'pending', 'success')`,
);
const rejected = fc.tuple(wallet, order, fc.constantFrom('amount', 'fee', 'state', null)).map(
  ([of, key, field]) => `insert into ledger.rejects
        (wallet, source, order_no, field, payload, reason, fingerprint, first_seen_at, last_seen_at)
      values ('${of}', 'transaction-list', '${key}', ${text(field)}, '{"symbol":"USDC","amount":"7"}', 'odd', '${key}', ${ago(9)}, ${ago(9)})
      on conflict do nothing`,
);
const ran = fc.tuple(wallet, fc.constantFrom('transactions', 'balances'), minutesAgo).map(
  ([of, job, at]) => `insert into ledger.sync_runs
        (wallet, job, started_at, finished_at, outcome, requests, rows_seen, rows_inserted, rows_updated)
      values ('${of}', '${job}', ${ago(at)}, ${ago(at)}, 'done', 1, 0, 0, 0)`,
);
const differed = fc
  .tuple(wallet, fc.integer({ min: -9, max: 9 }), fc.boolean(), minutesAgo, fc.boolean())
  .map(
    ([of, sum, isExplained, at, ofAsset]) => `insert into ledger.reconciliation_runs
        (wallet, symbol, slip44, contract_address, observed_at, expected, reported, difference, is_explained, unexplained_since)
      values ('${of}', 'USDC', ${ofAsset ? `195, 'T'` : 'null, null'}, ${ago(at)}, 0, ${sum}, ${sum}, ${isExplained}, ${ago(at)})`,
  );
const due = fc.tuple(wallet, order, fc.boolean()).map(
  ([
    of,
    key,
    isFinal,
  ]) => `insert into engine.detail_checks (wallet, order_no, is_final, turn, due_at)
      values ('${of}', '${key}', ${isFinal}, 0, ${ago(3)}) on conflict (wallet, order_no) do nothing`,
);
const statement = fc.oneof(
  { weight: 8, arbitrary: stored },
  { weight: 4, arbitrary: updated },
  { weight: 3, arbitrary: fc.oneof(movedRow, deleted, held) },
  { weight: 3, arbitrary: fc.oneof(listedCoin, changed, rejected, ran, differed, due) },
  { weight: 1, arbitrary: fc.constant('select engine.fold_totals()') },
);

async function empty({ query }: TestLedger): Promise<void> {
  await query(`truncate ${copied.join(', ')}, ledger.streams, ledger.coverage`);
  for (const of of wallets)
    await query(`insert into ledger.streams (wallet, name, is_backed)
      values ('${of}', 'deposit', true), ('${of}', 'withdraw', true)`);
}

/** Writes the wallet's rows into the other ledger as if it had never had another wallet. */
async function copyAlone(of: string): Promise<void> {
  await empty(alone);
  await alone.query(`delete from ledger.streams where wallet <> '${of}'`);
  for (const table of copied) {
    const [found] = await both.query<{ rows: string }>(
      `select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as rows from ${table} t where t.wallet = '${of}'`,
    );
    const [listed] = await alone.query<{ columns: string }>(
      `select string_agg(quote_ident(attname), ', ') as columns from pg_attribute
        where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    );
    await alone.ledger.pool.query(
      `insert into ${table} (${listed?.columns}) overriding system value
       select ${listed?.columns} from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
      [found?.rows],
    );
  }
  await alone.query('select engine.fold_totals()');
}

const answer = (from: TestLedger, rows: string, of: string) =>
  from.query(
    `select (to_jsonb(v) - 'age')::text as row from (${rows}) as v where v.wallet = '${of}' order by 1`,
  );

test('each of two wallets gets the answers of a single wallet, with any hand-written changes', async () => {
  await forAll(fc.array(statement, { minLength: 5, maxLength: 30 }))(20, async (statements) => {
    await empty(both);
    await both.query(`insert into ledger.final_states (wallet, state, is_success)
      values ('main', 'success', true), ('w2', 'success', true), ('w2', 'failed', true);
      insert into ledger.addresses (wallet, slip44, address, status, first_seen_at)
      values ('main', 60, '0xa1', 'used', now()), ('w2', 195, '0xa1', 'used', now()), ('main', 195, 'Tours', 'used', now()),
             ('w2', 60, 'both', 'used', now()), ('w2', 195, 'both', 'used', now())`);
    for (const each of statements) await both.query(each);
    await both.query('select engine.fold_totals()');
    for (const of of wallets) {
      await copyAlone(of);
      for (const { view, rows } of answers)
        expect({ of, view, rows: await answer(both, rows, of) }).toEqual({
          of,
          view,
          rows: await answer(alone, rows, of),
        });
    }
  });
}, 300_000);
