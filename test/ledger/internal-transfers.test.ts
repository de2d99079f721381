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

const digits = 'b7f1c2d3e4a5968778695a4b3c2d1e0f'.repeat(2);
const base58 = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4t';

const row = fc.record({
  wallet: fc.constantFrom('main', 'w2', 'w3'),
  stream: fc.constantFrom('deposit', 'withdraw'),
  hash: fc.constantFrom(
    digits,
    `0X${digits.toUpperCase()}`,
    base58,
    base58.toLowerCase(),
    'N/A',
    '',
    null,
  ),
  symbol: fc.constantFrom('BTC', 'BTC', 'BTC', 'ETH', null),
  address: fc.constantFrom('0xab', '0xAB', '0xcd', null),
  amount: fc.option(fc.integer({ min: 1, max: 3 }), { nil: null, freq: 9 }),
  state: fc.constantFrom('success', 'success', 'pending', 'failed'),
  isListed: fc.constantFrom(true, true, true, false),
  hours: fc.constantFrom<number>(0, 0, 0, 24, 25),
});
type Row = typeof row extends fc.Arbitrary<infer T> ? T : never;
type Numbered = Row & { no: number };

async function store(rows: Row[]): Promise<void> {
  await ledger.pool.query(
    `insert into ledger.transactions (wallet, order_no, stream, symbol, tx_hash, to_address, amount, state, is_final, is_success,
                                      is_listed, fee, fee_symbol, occurred_at)
     select m->>'wallet', n::text, m->>'stream', m->>'symbol', m->>'hash', m->>'address', (m->>'amount')::numeric, m->>'state',
            m->>'state' <> 'pending', m->>'state' = 'success', (m->>'isListed')::boolean, 0.1, 'ETH',
            timestamptz '2026-03-01 00:00Z' + (m->>'hours')::integer * interval '1 hour'
       from jsonb_array_elements($1::jsonb) with ordinality as u (m, n)`,
    [JSON.stringify(rows)],
  );
}

/** Pairs according to the view's comment, found without the database. */
function expectedPairs(rows: Row[]): string[] {
  const live = rows
    .map((each, index): Numbered => ({ ...each, no: index + 1 }))
    .filter(({ isListed, state, hash }) => isListed && state !== 'failed' && keyOf(hash));
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
  const isPossible = (into.amount ?? 0) <= (out.amount ?? 9) && into.hours >= out.hours - 24;
  const isSameHash = keyOf(out.hash) === keyOf(into.hash);
  return out.wallet !== into.wallet && isSameHash && isSameAsset && isPossible && !areAtOdds;
}

/** Returns one text for the spellings of a hash; null for no hash. */
function keyOf(hash: string | null): string | null {
  if (hash === null || hash.length < 64) return null;
  return hash.startsWith('0X') ? hash.slice(2).toLowerCase() : hash;
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
    hash: digits,
    symbol: 'BTC',
    address: '0xAB',
    amount: 3,
    state: 'success',
    isListed: true,
    hours: 1,
  },
  {
    wallet: 'w2',
    stream: 'deposit',
    hash: digits,
    symbol: 'BTC',
    address: '0xab',
    amount: 2,
    state: 'pending',
    isListed: true,
    hours: 2,
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
      tx_hash: digits,
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

/** Stores the transfer with these values of the withdrawal and the deposit, and counts its pairs. */
async function countPairs(out: Partial<Row>, into: Partial<Row>): Promise<number> {
  await query(empty);
  const [sent, received] = transfer as [Row, Row];
  await store([
    { ...sent, ...out },
    { ...received, ...into },
  ]);
  return (await found()).length;
}

test.for([
  ...[
    'N/A',
    'null',
    'pending',
    'internal',
    'none',
    '-',
    '0x',
    '0x0',
    '0',
    '1234567890',
    'off-chain',
  ],
  ...['0x'.padEnd(66, '0'), '0x'.padEnd(66, 'f'), ''.padEnd(64, 'f'), ''.padEnd(44, '1')],
  '2026-11-10',
  '00000000-0000-0000-0000-000000000000',
  'internal transfer 2026-11-10 number 12345678',
])('the text %s is no hash and pairs nothing', async (hash) => {
  expect(await countPairs({ hash }, { hash })).toBe(0);
});

test.for([
  base58,
  '5j7s6NiJS3JAkvgkoc18WVAsiSaci2pxB2A6ueCJP4tprA2TFg9wSyTLeYouxPBJEMzJinENTkpA52YStRW5Dia7',
  '3Kc8YvRbAVJmxfJ6LtH5DqXg9WnSzTuP2eQo4ZMhFw7B',
  'QOOBRVQMX4HW5QZ2EGLQDQCQTKRF3UP3JKDGKYPCXMI6AVV35KQA',
  'o8R+mJtVt7u0h2l5XzJwWq1cNfKyeGdBsa9TPo3iYvE=',
  `${digits}:1`,
  '0x0000000000000000000000000000000000000000000000000000000000000011',
  '0xb7f1c2d3',
  'tx-20261110-17',
  '0.0.1234567@1791234567.123456789',
  'bafy2bzaceb5mfzf2lxqrxnnzxbkqk4rrvb3wsd3zqg6qvtjm2tqvkuznnxm4i',
])('the hash %s pairs its rows', async (hash) => {
  expect(await countPairs({ hash }, { hash })).toBe(1);
});

test('64 hexadecimal digits are one hash in either case and with or without 0x; other hashes keep their case', async () => {
  const upper = digits.toUpperCase();
  const spellings = [digits, upper, `0x${digits}`, `0x${upper}`, `0X${upper}`];
  for (const out of spellings)
    for (const into of spellings)
      expect([out, into, await countPairs({ hash: out }, { hash: into })]).toEqual([out, into, 1]);
  expect(await countPairs({ hash: base58 }, { hash: base58.toLowerCase() })).toBe(0);
});

test('no transfer brings more than was sent, nor more than a day before it was sent', async () => {
  expect(await countPairs({ amount: 1 }, { amount: 2 })).toBe(0);
  expect(await countPairs({ amount: 2 }, { amount: 2 })).toBe(1);
  expect(await countPairs({ amount: null }, { amount: 2 })).toBe(1);
  expect(await countPairs({ hours: 25 }, { hours: 1 })).toBe(1);
  expect(await countPairs({ hours: 26 }, { hours: 1 })).toBe(0);
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
  const hash38 = `'0x' || encode(sha256('38'), 'hex')`;
  const fill = async (receiver: string) => {
    await query(`${empty};
      insert into ledger.transactions (wallet, order_no, stream, symbol, tx_hash, amount, is_final, is_success, occurred_at)
      select case n % 2 when 0 then '${receiver}' else 'main' end, n::text,
             case n % 2 when 0 then 'deposit' else 'withdraw' end, 'BTC', '0x' || encode(sha256((n / 2)::text::bytea), 'hex'), 1, true, true, now()
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
  expect(await plan('')).toMatch(/(Hash|Merge) Cond: .*right.*tx_hash/);
  for (const where of [
    `wallet = 'main' and order_no = '77'`,
    `to_wallet = 'w2' and to_order_no = '76'`,
    `tx_hash = ${hash38}`,
  ])
    expect([where, await plan(`where ${where}`)]).toEqual([
      where,
      expect.not.stringMatching(/Seq Scan on transactions/),
    ]);
  expect(
    await query(`select * from ledger.internal_transfers where tx_hash = ${hash38}`),
  ).toHaveLength(1);
});
