import { beforeAll, expect, test } from 'vitest';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query, fill } = await withLedger();
const rows = 30_000;
const coins = 100;
const growing = /Seq Scan on (transactions|transaction_changes|balance_changes)\b/;

beforeAll(async () => {
  await fill(
    `
    insert into ledger.transactions (order_no, stream, symbol, amount, type, state, is_final, to_address, from_address,
                                     tx_hash, occurred_at, first_seen_at)
    select 'order-' || n, t.type, 'COIN' || n % ${coins}, n, t.type, case when t.is_final then 'success' else 'pending' end,
           t.is_final, '0x' || md5((n % 5000)::text), '0x' || md5(n::text), '0x' || md5(n::text) || md5(n::text),
           t.at, t.at
      from generate_series(1, ${rows}) as n
     cross join lateral (select case n % 2 when 0 then 'deposit' else 'withdraw' end, n <= ${rows - 60},
                                now() - interval '3 years' * (1 - n / ${rows}.0)) as t (type, is_final, at)
     order by n;
    insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
    select order_no, occurred_at + interval '5 minutes', 'state', 'pending', state
      from ledger.transactions where is_final order by occurred_at;
    insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
    select 60, 'COIN' || n % ${coins}, '', n, 0, now() - interval '3 years' * (1 - n / ${rows}.0)
      from generate_series(1, ${rows}) as n;
    insert into ledger.balances (slip44, symbol, contract_address, balance, frozen, observed_at, changed_at, observation)
    select 60, 'COIN' || n, '', n, 0, now(), now(), 1 from generate_series(0, ${coins - 1}) as n;
    insert into ledger.addresses (slip44, address, status, first_seen_at)
    select 60, '0x' || md5(n::text), 'available', now() from generate_series(1, 1000) as n;
    insert into ledger.pools (slip44, threshold, target) values (60, 5, 20)`,
    'vacuum (analyze)',
  );
}, 300_000);

async function planOf(statement: string): Promise<string> {
  const lines = await query<{ 'QUERY PLAN': string }>(`explain ${statement}`);
  return lines.map((line) => line['QUERY PLAN']).join('\n');
}

test.each([
  ['daily_flows of a week', `ledger.daily_flows where day >= current_date - 7`],
  ['daily_flows of one day', `ledger.daily_flows where day = current_date - 400`],
  ['daily_totals, whole', 'ledger.daily_totals'],
  ['daily_flows, whole', 'ledger.daily_flows'],
  ['daily_fees, whole', 'ledger.daily_fees'],
  ['unexpected_deposits', 'ledger.unexpected_deposits'],
  ['pending_transactions by age', `ledger.pending_transactions where age > interval '1 hour'`],
  [
    'balance_history of a balance and a month',
    `ledger.balance_history where slip44 = 60 and symbol = 'COIN1' and contract_address = ''
       and valid_from >= now() - interval '30 days'`,
  ],
  ['balances_at a moment', `ledger.balances_at(now() - interval '1 year')`],
  [
    'transaction_changes of a day',
    `ledger.transaction_changes where observed_at >= now() - interval '1 day'`,
  ],
  ['transaction_changes of an order', `ledger.transaction_changes where order_no = 'order-77'`],
  [
    'transactions of a list and a week',
    `ledger.transactions where stream = 'deposit' and occurred_at >= now() - interval '7 days'`,
  ],
  [
    'transactions of both lists and a week',
    `ledger.transactions
      where stream in ('deposit', 'withdraw') and occurred_at >= now() - interval '7 days'`,
  ],
  [
    'deposits to an address',
    `ledger.transactions where stream = 'deposit' and lower(to_address) = '0xabc'`,
  ],
  [
    'an order as it was',
    `ledger.transactions_at(now() - interval '1 year') where order_no = 'order-77'`,
  ],
  [
    'postings of a week',
    `ledger.postings where booked_at >= now() - interval '7 days' and booked_at < now()`,
  ],
  [
    'unposted_values of a week',
    `ledger.unposted_values where booked_at >= now() - interval '7 days'`,
  ],
  ['sync_health', 'ledger.sync_health'],
  ['pool_levels', 'ledger.pool_levels'],
])('%s: read through an index, not row by row', async (_what, from) => {
  expect(await query('show enable_seqscan')).toEqual([{ enable_seqscan: 'on' }]);
  const plan = await planOf(`select * from ${from}`);
  expect(plan).not.toMatch(growing);
  // A function that is not inlined hides its own plan.
  expect(plan).not.toMatch(
    /Function Scan on (?!pg_(lock_status|stat_get_activity|prepared_xact) )/,
  );
});

test('problems, whose functions hide their plans, read no row of the history one by one', async () => {
  const readOneByOne = async (relation: string) => {
    const client = await ledger.pool.connect();
    try {
      await client.query('begin; set local max_parallel_workers_per_gather = 0');
      await client.query(`select count(*) from ${relation}`);
      const { rows: read } = await client.query(
        `select relname from pg_stat_xact_user_tables where seq_tup_read >= ${rows} order by 1`,
      );
      return read.map(({ relname }) => relname);
    } finally {
      await client.query('rollback');
      client.release();
    }
  };
  expect(await readOneByOne('ledger.problems')).toEqual([]);
  expect(await readOneByOne('ledger.transactions where extra is not null')).toEqual([
    'transactions',
  ]);
});

test('a query without a window is read row by row, which the plans above would show', async () => {
  expect(await planOf('select * from ledger.postings')).toMatch(growing);
});
