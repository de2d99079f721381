import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import '../support/fixed-seed.ts';
import { forAll } from '../support/for-all.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, query } = await withLedger();
const empty = `
  truncate ledger.transactions, ledger.addresses, ledger.coins, ledger.streams;
  update engine.home set disturbed_by = null`;
beforeEach(() => query(empty));

const row = fc.record({
  wallet: fc.constantFrom('main', 'w2', 'w3'),
  stream: fc.constantFrom('deposit', 'withdraw'),
  hash: fc.constantFrom('h1', 'h1', 'h2', '', null),
  symbol: fc.constantFrom('BTC', 'BTC', 'BTC', 'ETH', null),
  address: fc.constantFrom('0xab', '0xAB', '0xcd', null),
  amount: fc.option(fc.integer({ min: 1, max: 3 }), { nil: null, freq: 9 }),
  state: fc.constantFrom('success', 'success', 'pending', 'failed'),
  isListed: fc.constantFrom(true, true, true, false),
});
type Row = typeof row extends fc.Arbitrary<infer T> ? T : never;
type Numbered = Row & { no: number };

async function store(rows: Row[]): Promise<void> {
  await ledger.pool.query(
    `insert into ledger.transactions (wallet, order_no, stream, symbol, tx_hash, to_address, amount, state, is_final, is_success,
                                      is_listed, fee, fee_symbol, occurred_at)
     select m->>'wallet', n::text, m->>'stream', m->>'symbol', m->>'hash', m->>'address', (m->>'amount')::numeric, m->>'state',
            m->>'state' <> 'pending', m->>'state' = 'success', (m->>'isListed')::boolean, 0.1, 'ETH',
            timestamptz '2026-03-01 00:00Z' + n * interval '1 hour'
       from jsonb_array_elements($1::jsonb) with ordinality as u (m, n)`,
    [JSON.stringify(rows)],
  );
}

/** Pairs according to the view's comment, found without the database. */
function expectedPairs(rows: Row[]): string[] {
  const live = rows
    .map((each, index): Numbered => ({ ...each, no: index + 1 }))
    .filter(({ isListed, state, hash }) => isListed && state !== 'failed' && hash);
  const pairs = live
    .filter(({ stream }) => stream === 'withdraw')
    .flatMap((out) =>
      live
        .filter((into) => into.stream === 'deposit' && mayBeOne(out, into))
        .map((into) => ({ out, into, rank: rankOf(out, into) })),
    )
    .sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const taken = new Set<number>();
  const chosen: string[] = [];
  for (const { out, into } of pairs) {
    if (taken.has(out.no) || taken.has(into.no)) continue;
    taken.add(out.no).add(into.no);
    const isExact = out.amount !== null && out.amount === into.amount;
    const isSuccess = out.state === 'success' && into.state === 'success';
    chosen.push(`${out.wallet} ${out.no} ${into.wallet} ${into.no} ${isExact} ${isSuccess}`);
  }
  return chosen;
}

function mayBeOne(out: Row, into: Row): boolean {
  const [from, to] = [out.address?.toLowerCase(), into.address?.toLowerCase()];
  const areAtOdds = from !== undefined && to !== undefined && from !== to;
  const isSameAsset = out.symbol !== null && out.symbol === into.symbol;
  return out.wallet !== into.wallet && out.hash === into.hash && isSameAsset && !areAtOdds;
}

/** Sorts as text: same address, same amount, smallest difference, then the keys. */
function rankOf(out: Numbered, into: Numbered): string {
  const isSameAddress = out.address !== null && into.address !== null;
  const areKnown = out.amount !== null && into.amount !== null;
  const apart = areKnown ? Math.abs((out.amount ?? 0) - (into.amount ?? 0)) : 9;
  const keys = [out.wallet, pad(out.no), into.wallet, pad(into.no)];
  return [isSameAddress ? 0 : 1, apart === 0 ? 0 : 1, apart, ...keys].join(' ');
}

/** Order numbers sort as texts. */
const pad = (no: number) => String(no).padEnd(3);

const found = async () =>
  (
    await query<{ pair: string }>(
      `select concat_ws(' ', wallet, order_no, to_wallet, to_order_no, is_exact::text, is_success::text) as pair
         from ledger.internal_transfers`,
    )
  ).map(({ pair }) => pair);

test('each withdrawal is paired with the best deposit of another wallet, and each row is in one pair at most', async () => {
  await forAll(fc.array(row, { maxLength: 12 }))(300, async (rows) => {
    await query(empty);
    await query(
      `insert into ledger.streams (wallet, name) values ('main', 'addresses'), ('w2', 'addresses')`,
    );
    await store(rows);
    expect(new Set(await found())).toEqual(new Set(expectedPairs(rows)));
  });
}, 120_000);

const transfer: Row[] = [
  {
    wallet: 'main',
    stream: 'withdraw',
    hash: 'h1',
    symbol: 'BTC',
    address: '0xAB',
    amount: 3,
    state: 'success',
    isListed: true,
  },
  {
    wallet: 'w2',
    stream: 'deposit',
    hash: 'h1',
    symbol: 'BTC',
    address: '0xab',
    amount: 2,
    state: 'pending',
    isListed: true,
  },
];

test('a transfer has the values of both rows', async () => {
  await store(transfer);
  expect(await query('select * from ledger.internal_transfers')).toEqual([
    {
      wallet: 'main',
      order_no: '1',
      to_wallet: 'w2',
      to_order_no: '2',
      tx_hash: 'h1',
      symbol: 'BTC',
      amount: '3',
      received: '2',
      fee: '0.1',
      fee_symbol: 'ETH',
      occurred_at: new Date('2026-03-01T01:00:00Z'),
      received_at: new Date('2026-03-01T02:00:00Z'),
      is_exact: false,
      is_success: false,
      state: 'success',
      to_state: 'pending',
    },
  ]);
});

test('rows on different known chains are no transfer', async () => {
  await store(transfer);
  await query(`
    insert into ledger.coins (wallet, slip44, symbol, contract_address, observed_at, changed_at, observation)
    values ('main', 60, 'BTC', '', now(), now(), 1)`);
  expect(await found()).toHaveLength(1);
  const address = (slip44: number) =>
    query(`insert into ledger.addresses (wallet, slip44, address, status, first_seen_at)
           values ('w2', ${slip44}, '0xab', 'foreign', now())`);
  await address(195);
  expect(await found()).toEqual([]);
  await address(60);
  expect(await found()).toHaveLength(1);
});

test('orders and hashes are found by index, and a ledger with one wallet returns no transfers at once', async () => {
  const fill = async (receiver: string) => {
    await query(`${empty};
      insert into ledger.transactions (wallet, order_no, stream, symbol, tx_hash, amount, is_final, is_success, occurred_at)
      select case n % 2 when 0 then '${receiver}' else 'main' end, n::text,
             case n % 2 when 0 then 'deposit' else 'withdraw' end, 'BTC', 'h' || n / 2, 1, true, true, now()
        from generate_series(1, 20000) as n`);
    await query('vacuum (analyze) ledger.transactions');
  };
  const plan = async (where: string) => {
    const lines = await query<{ 'QUERY PLAN': string }>(
      `explain (analyze, timing off, costs off) select * from ledger.internal_transfers ${where}`,
    );
    return lines.map((line) => line['QUERY PLAN']).join('\n');
  };
  await fill('main');
  const single = await plan('');
  expect(single).toMatch(/One-Time Filter/);
  expect(single).not.toMatch(/Scan on transactions \w .*actual/);
  await fill('w2');
  for (const where of [
    `wallet = 'main' and order_no = '77'`,
    `to_wallet = 'w2' and to_order_no = '76'`,
    `tx_hash = 'h38'`,
  ])
    expect([where, await plan(`where ${where}`)]).toEqual([
      where,
      expect.not.stringMatching(/Seq Scan on transactions/),
    ]);
  expect(await query(`select * from ledger.internal_transfers where tx_hash = 'h38'`)).toHaveLength(
    1,
  );
});
