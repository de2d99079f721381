import fc from 'fast-check';
import { Client } from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import '../support/fixed-seed.ts';
import { forAll } from '../support/for-all.ts';
import { withLedger } from '../support/with-ledger.ts';

const { query, clear, connectionString } = await withLedger();

/** What the view must show, from the transactions and addresses themselves. */
const recount = `
  select t.wallet, t.symbol, t.state, h.slip44, count(*)::integer as transactions, trim_scale(sum(t.amount)) as amount
    from ledger.transactions t
    left join (select wallet, address_key, min(slip44) as slip44 from ledger.addresses
                group by 1, 2 having min(slip44) = max(slip44)) as h
      on h.wallet = t.wallet and h.address_key = ledger.address_key(t.to_address)
   where t.stream = 'deposit' and t.is_listed
     and (t.wallet, t.symbol) in (select wallet, symbol from ledger.assets group by 1, 2 having count(*) > 1)
   group by 1, 2, 3, 4`;
const shown = `select wallet, symbol, state, slip44, transactions::integer, trim_scale(amount) as amount from ledger.deposit_chains`;

async function expectRight(client: Pick<Client, 'query'>): Promise<void> {
  const differing = await client.query(`
    select 'missing' as what, to_jsonb(w) as row from (${recount} except all ${shown}) as w
    union all
    select 'wrong', to_jsonb(f) from (${shown} except all (${recount})) as f`);
  expect(differing.rows).toEqual([]);
}

beforeEach(async () => {
  await clear();
  await query(`truncate ledger.transactions;
    insert into ledger.streams (wallet, name, last_walk_at) values ('main', 'deposit', now()), ('w2', 'deposit', now());
    insert into ledger.coins (wallet, slip44, symbol, contract_address, observed_at, changed_at, observation)
    select *, now(), now(), 1
      from (values ('main', 60, 'ETH', ''), ('main', 60, 'USDT', '0xa'), ('main', 195, 'USDT', 'Tb'), ('w2', 60, 'USDT', '0xa'),
                   ('w2', 56, 'USDT', '0xa'), ('w2', 60, 'ETH', ''), ('w2', 10, 'ETH', '')) as v`);
});

const quote = (value: string | boolean | null) => (value === null ? 'null' : `'${value}'`);
const columns = {
  wallet: fc.constantFrom('main', 'main', 'w2'),
  stream: fc.constantFrom('deposit', 'deposit', 'withdraw'),
  symbol: fc.constantFrom('USDT', 'ETH', 'DOT', null),
  amount: fc.constantFrom(null, '5', '5', '3.50', '-1', '1e-18'),
  state: fc.constantFrom('success', 'pending', null),
  is_listed: fc.constantFrom(true, true, true, false),
  to_address: fc.constantFrom('0xA1', '0xa1', '0xb2', 'Tc3', null),
  occurred_at: fc.constantFrom(
    '2026-03-29 00:30Z',
    '2026-03-29 00:59:59.999999Z',
    '2026-03-29 01:00Z',
    '2026-10-25 12:00Z',
    'infinity',
    '-infinity',
    null,
  ),
  first_seen_at: fc.constantFrom('2026-03-30', 'now'),
};
const names = Object.keys(columns) as (keyof typeof columns)[];
const row = fc.record(columns);
type Row = { [Name in keyof typeof columns]: string | boolean | null };
const keys = fc.uniqueArray(
  fc.nat(6).map((n) => `o-${n}`),
  { minLength: 1, maxLength: 4 },
);
const isIn = (orders: string[]) => `order_no in (${orders.map(quote).join(', ')})`;
const address = fc.record({
  wallet: columns.wallet,
  slip44: fc.constantFrom('60', '195', '56'),
  text: fc.constantFrom('0xa1', '0xb2', 'Tc3'),
});

const statement = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(keys, fc.array(row, { minLength: 4, maxLength: 4 })).map(
      ([orders, rows]) => `insert into ledger.transactions (order_no, ${names.join(', ')}) values
        ${orders.map((order, at) => `(${quote(order)}, ${names.map((name) => quote((rows[at] as Row)[name])).join(', ')})`).join(', ')}
        on conflict (wallet, order_no) do update set to_address = excluded.to_address, state = excluded.state`,
    ),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        keys,
        row,
        fc.subarray(
          names.filter((name) => name !== 'wallet'),
          { minLength: 1 },
        ),
      )
      .map(
        ([orders, given, some]) =>
          `update ledger.transactions set ${some.map((name) => `${name} = ${quote((given as Row)[name])}`).join(', ')} where ${isIn(orders)}`,
      ),
  },
  {
    weight: 4,
    arbitrary: address.map(
      ({ wallet, slip44, text }) =>
        `insert into ledger.addresses (wallet, slip44, address, status, first_seen_at)
         values ('${wallet}', ${slip44}, '${text}', 'foreign', now()) on conflict do nothing`,
    ),
  },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      `select engine.keep_chain_deposits('main', '1 minute'), engine.keep_chain_deposits('w2', '1 minute')`,
      `select engine.keep_chain_deposits('main', '0')`,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'truncate ledger.transactions',
      'delete from ledger.addresses where slip44 = 60',
      'update ledger.addresses set slip44 = slip44 + 1000 where slip44 < 1000 and slip44 > 60',
      `update ledger.transactions set wallet = 'w3' where wallet = 'main'`,
      `delete from ledger.transactions where to_address = '0xa1'`,
      `delete from ledger.coins where slip44 = 195`,
      `update ledger.transactions set to_address = case to_address when '0xb2' then 'Tc3' else '0xb2' end`,
      'select engine.fold_totals()',
    ),
  },
);

test('after any statements, rolled back ones included, deposits per chain are what a recount gives', async () => {
  const client = await connectOne();
  await forAll(
    fc.array(fc.record({ statement, isUndone: fc.boolean() }), { maxLength: 14 }),
    fc.constantFrom('UTC', 'America/St_Johns', 'Pacific/Apia'),
  )(100, async (steps, timeZone) => {
    await client.query(`set time zone '${timeZone}'; truncate ledger.transactions`);
    for (const step of steps) {
      await client.query('begin');
      // A key may be taken already.
      const isDone = await client.query(step.statement).then(
        () => true,
        () => false,
      );
      if (isDone) await expectRight(client);
      await client.query(step.isUndone ? 'rollback' : 'commit');
    }
    await expectRight(client);
  });
}, 300_000);

test('a change that was not committed when its hour was read is read afterwards', async () => {
  const [writer, other] = [await connectOne(), await connectOne()];
  await other.query(`
    insert into ledger.addresses (slip44, address, status, first_seen_at) values (60, '0xa1', 'foreign', now());
    insert into ledger.transactions (order_no, stream, symbol, amount, to_address, occurred_at)
    values ('a', 'deposit', 'USDT', 5, '0xa1', '2026-03-29'), ('b', 'deposit', 'USDT', 5, 'Tc3', '2026-03-29')`);
  const keep = () => other.query(`select engine.keep_chain_deposits('main', '1 minute')`);
  await writer.query('begin');
  await writer.query(`
    update ledger.transactions set to_address = 'Tc3' where order_no = 'a';
    insert into ledger.addresses (slip44, address, status, first_seen_at) values (195, 'Tc3', 'foreign', now())`);
  await keep();
  await expectRight(other);
  await writer.query('commit');
  await expectRight(other);
  await keep();
  await expectRight(other);
});

test('what was kept is not read again, and only the hour of a new deposit is', async () => {
  await query(`
    insert into ledger.transactions (order_no, stream, symbol, amount, to_address, occurred_at, first_seen_at)
    select 'old-' || n, 'deposit', 'USDT', 1, '0xb2', timestamptz '2026-01-01' + n * interval '1 minute', '2026-02-01'
      from generate_series(1, 5000) as n;
    select engine.keep_chain_deposits('main', '1 minute')`);
  const client = await connectOne();
  /** Lookups of addresses: each deposit that is read makes one. */
  const lookups = async () => {
    const { rows } = await client.query(
      `select coalesce(idx_scan, 0)::integer as scans from pg_stat_xact_user_tables where relname = 'addresses'`,
    );
    return rows[0].scans;
  };
  await client.query('begin');
  await client.query('select * from ledger.deposit_chains');
  expect(await lookups()).toBe(0);
  await client.query(`insert into ledger.transactions (order_no, stream, symbol, amount, to_address, occurred_at)
    values ('new', 'deposit', 'USDT', 1, '0xb2', '2026-06-01')`);
  await expectShown(client, '5001');
  expect(await lookups()).toBeLessThan(10);
  await client.query('rollback');
});

async function expectShown(client: Client, amount: string): Promise<void> {
  const { rows } = await client.query('select amount from ledger.deposit_chains');
  expect(rows).toEqual([{ amount }]);
}

async function connectOne(): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
