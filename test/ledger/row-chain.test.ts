import fc from 'fast-check';
import pg from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../src/kernel/log.ts';
import {
  checkNewAddresses,
  storeListedAddresses,
} from '../../src/ledger/addresses/address-store.ts';
import type { Ledger, LedgerDb } from '../../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { storeBalances } from '../../src/ledger/snapshots/balance-store.ts';
import { storeCoins } from '../../src/ledger/snapshots/coin-store.ts';
import { assignChains } from '../../src/ledger/transactions/assign-chains.ts';
import { fillTransactions } from '../../src/ledger/transactions/fill-transactions.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../src/ledger/transactions/store-transaction-details.ts';
import '../support/fixed-seed.ts';
import { forAll } from '../support/for-all.ts';
import { migrateBefore } from '../support/migrate-before.ts';
import { detailed, listed, readVersions } from '../support/transaction-rows.ts';
import { withLedger } from '../support/with-ledger.ts';
import { balance } from './little-wallet.ts';

const testLedger = await withLedger();
const { ledger, query, clear, connect, connectionString } = testLedger;
const whole = { signal: new AbortController().signal, mostMs: Number.POSITIVE_INFINITY };

beforeEach(async () => {
  await clear();
  await query('truncate ledger.transactions');
});

type Asset = { slip44: number; symbol: string; contractAddress: string };

async function storeAssets(own: Ledger, kind: 'coins' | 'balances', assets: Asset[]) {
  const states = { name: null, decimals: 8, depositState: 1, withdrawState: 1 };
  await own.transaction((db) =>
    kind === 'coins'
      ? storeCoins(
          db,
          assets.map((one) => ({ ...one, ...states })),
          1,
          false,
        )
      : storeBalances(
          db,
          assets.map((one) => balance(one.symbol, '1', one.slip44, one.contractAddress)),
          1,
          false,
        ),
  );
}

const asset = (slip44: number, symbol: string, contractAddress = ''): Asset => ({
  slip44,
  symbol,
  contractAddress,
});

/** Everything in the ledger that an assignment of chains must not change. */
async function facts(): Promise<unknown> {
  return await query(`
    select to_jsonb(t) - '{slip44,contract_address}'::text[] as fact from ledger.transactions t
    union all select to_jsonb(c) from ledger.transaction_changes c
    union all select to_jsonb(o) from engine.outbox o
    union all select to_jsonb(e) from ledger.late_entries e
    union all select to_jsonb(x) from ledger.totals x
    union all select to_jsonb(s) from ledger.streams s
    union all select to_jsonb(d) from engine.detail_checks d
    order by 1`);
}

async function settle(own: Ledger): Promise<void> {
  await checkNewAddresses(own.db);
  await assignChains(own, whole);
}

// --- An independent model: the facts known in a wallet, and the time at which each row got its chain.

type Row = {
  stream: string;
  symbol: string;
  toAddress: string | null;
  feeSymbol: string | null;
  slip44: number | null;
  contract: string | null;
  /** The row was stored or changed by the list after its last detail. */
  isAwaited: boolean;
};

class WalletModel {
  readonly rows = new Map<string, Row>();
  private readonly assets: Asset[] = [];
  private readonly homes = new Map<string, Set<number>>();

  learnAssets(assets: Asset[]): void {
    for (const one of assets)
      if (!this.assets.some((known) => JSON.stringify(known) === JSON.stringify(one)))
        this.assets.push(one);
  }

  learnAddress(slip44: number, address: string): void {
    const key = address.toLowerCase();
    this.homes.set(key, (this.homes.get(key) ?? new Set()).add(slip44));
  }

  /** Looks up the chain of a row that has none. */
  assign(row: Row): void {
    if (row.slip44 !== null) return;
    const ofSymbol = this.assets.filter(({ symbol }) => symbol === row.symbol);
    const home = [...(this.homes.get(row.toAddress?.toLowerCase() ?? '') ?? [])];
    const ofFee = new Set(
      this.assets
        .filter(({ symbol, contractAddress }) => symbol === row.feeSymbol && contractAddress === '')
        .map(({ slip44 }) => slip44),
    );
    const [only, ...others] = new Set(ofSymbol.map(({ slip44 }) => slip44));
    const [paidOn, ...further] = ofFee;
    if (only !== undefined && others.length === 0) row.slip44 = only;
    else if (row.stream === 'deposit' && home.length === 1) row.slip44 = home[0] ?? null;
    else if (paidOn !== undefined && further.length === 0)
      row.slip44 = ofSymbol.some(({ slip44 }) => slip44 === paidOn) ? paidOn : null;
    const there = ofSymbol.filter(({ slip44 }) => slip44 === row.slip44);
    row.contract = there.length === 1 ? (there[0]?.contractAddress ?? null) : null;
  }
}

const symbols = fc.constantFrom('ETH', 'TRX', 'USDT', 'NEW');
const assets = fc.constantFrom(
  ...[asset(60, 'ETH'), asset(195, 'TRX'), asset(60, 'USDT', '0xa'), asset(195, 'USDT', 'Tb')],
  ...[asset(60, 'USDT', '0xb'), asset(60, 'NEW', '0xn'), asset(10, 'ETH'), asset(10, 'NEW')],
);
const order = fc.nat(7).map((n) => `o-${n}`);
const spellings = fc.constantFrom('0xA1', '0xa1', '0xB2', 'Tc3');
type Step =
  | { kind: 'coins' | 'balances'; assets: Asset[] }
  | { kind: 'address'; slip44: number; address: string }
  | { kind: 'list'; orderNo: string; symbol: string; toAddress: string | null }
  | { kind: 'detail'; orderNo: string; feeSymbol: string }
  | { kind: 'settle' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('coins' as const, 'balances' as const),
    assets: fc.array(assets, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    kind: fc.constant('address' as const),
    slip44: fc.constantFrom(60, 195),
    address: spellings,
  }),
  fc.record({
    kind: fc.constant('list' as const),
    orderNo: order,
    symbol: symbols,
    toAddress: fc.option(spellings),
  }),
  fc.record({
    kind: fc.constant('detail' as const),
    orderNo: order,
    feeSymbol: fc.constantFrom('ETH', 'TRX', 'USDT'),
  }),
  fc.record({ kind: fc.constant('settle' as const) }),
);

let observation = 0;

/** Does one step in the ledger and in the model. */
async function take(own: Ledger, model: WalletModel, given: Step): Promise<void> {
  observation += 1;
  switch (given.kind) {
    case 'coins':
    case 'balances':
      await storeAssets(own, given.kind, given.assets);
      return model.learnAssets(given.assets);
    case 'address':
      await own.transaction((db) =>
        storeListedAddresses(db, given.slip44, [given.address], { isChainShown: false }),
      );
      return model.learnAddress(given.slip44, given.address);
    case 'list':
      return await takeListRow(own, model, given);
    case 'detail':
      return await takeDetail(own, model, given);
    case 'settle': {
      const before = await facts();
      await settle(own);
      expect(await facts()).toEqual(before);
      for (const row of model.rows.values()) model.assign(row);
    }
  }
}

async function takeListRow(
  own: Ledger,
  model: WalletModel,
  { orderNo, symbol, toAddress }: Step & { kind: 'list' },
): Promise<void> {
  const stream = Number(orderNo.slice(2)) % 2 === 0 ? 'deposit' : 'withdraw';
  const given = listed({ orderNo, symbol, toAddress, type: stream, observation });
  await own.transaction((db) => storeListedTransactions(db, stream, [given]));
  const none = { stream, symbol, toAddress, feeSymbol: null, slip44: null, contract: null };
  const row = model.rows.get(orderNo) ?? { ...none, isAwaited: true };
  if (row.symbol !== symbol) Object.assign(row, { slip44: null, contract: null });
  const isNews = !model.rows.has(orderNo) || row.symbol !== symbol || row.toAddress !== toAddress;
  Object.assign(row, { symbol, toAddress });
  model.rows.set(orderNo, row);
  if (!isNews) return;
  row.isAwaited = true;
  model.assign(row);
}

async function takeDetail(
  own: Ledger,
  model: WalletModel,
  { orderNo, feeSymbol }: Step & { kind: 'detail' },
): Promise<void> {
  const given = detailed({ orderNo, type: null, fee: '0.1', feeSymbol, observation });
  await own.transaction((db) => storeTransactionDetails(db, [given]));
  const row = model.rows.get(orderNo);
  if (!row || (!row.isAwaited && row.feeSymbol === feeSymbol)) return;
  Object.assign(row, { feeSymbol, isAwaited: false });
  model.assign(row);
}

test('each row has the chain known from its coin, its address or its fee, in any order of arrival', async () => {
  const wallets = [ledger, ledger.forWallet('w2')];
  await forAll(fc.array(fc.tuple(fc.constantFrom(0, 0, 1), step), { minLength: 8, maxLength: 40 }))(
    25,
    async (steps) => {
      await clear();
      await query('truncate ledger.transactions');
      const models = wallets.map(() => new WalletModel());
      const end: [number, Step][] = [0, 1].map((at) => [at, { kind: 'settle' }]);
      for (const [at, given] of [...steps, ...end]) {
        await take(wallets[at] as Ledger, models[at] as WalletModel, given);
        const expected = models.flatMap(({ rows }, n) =>
          [...rows].map(([orderNo, row]) => ({
            wallet: n === 0 ? 'main' : 'w2',
            order_no: orderNo,
            slip44: row.slip44,
            contract_address: row.contract,
          })),
        );
        const stored = await query(
          'select wallet, order_no, slip44, contract_address from ledger.transactions',
        );
        expect(stored.toSorted(byKey)).toEqual(expected.toSorted(byKey));
      }
      expect(
        await query(
          `select from ledger.transaction_changes where field in ('slip44', 'contract_address')`,
        ),
      ).toEqual([]);
    },
  );
}, 240_000);

const byKey = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

/** Chains of the stored rows, with the number of rows of each. */
const chains = () =>
  query(`select symbol, slip44, contract_address, count(*)::int as rows from ledger.transactions
          group by 1, 2, 3 order by 1, 2`);

/** Times of first sight fall while order numbers rise, 1 µs apart. Usually more rows share one than a batch has. */
async function insertRows(count: number, symbol: string, perMoment = 7_000): Promise<void> {
  await testLedger.fill(`
    insert into ledger.transactions (order_no, stream, symbol, to_address, first_seen_at)
    select '${symbol}-' || lpad(n::text, 6, '0'), 'withdraw', '${symbol}', 'x',
           timestamptz '2026-01-01' - n / ${perMoment} * interval '1 microsecond'
      from generate_series(1, ${count}) as n`);
}

/** A ledger whose process dies in its transaction number `at`, before the commit. */
function dying(own: Ledger, at: number): Ledger {
  let begun = 0;
  return {
    ...own,
    transaction: (work, settings) =>
      own.transaction(async (db) => {
        const result = await work(db);
        begun += 1;
        if (begun === at) throw new Error('killed');
        return result;
      }, settings),
  };
}

test('a killed assignment of chains continues where it was, and touches no row twice', async () => {
  await insertRows(12_000, 'NEW');
  await insertRows(300, 'OTHER');
  await storeAssets(ledger, 'coins', [asset(60, 'NEW', '0xn')]);
  for (const at of [1, 2]) await expect(assignChains(dying(ledger, at), whole)).rejects.toThrow();
  expect(await chains()).toEqual([
    { symbol: 'NEW', slip44: 60, contract_address: '0xn', rows: 5_000 },
    { symbol: 'NEW', slip44: null, contract_address: null, rows: 7_000 },
    { symbol: 'OTHER', slip44: null, contract_address: null, rows: 300 },
  ]);
  const versions = () =>
    query(
      `select order_no, ctid, xmin from ledger.transactions where slip44 is not null order by 1`,
    );
  const first = await versions();
  await assignChains(connect(), whole);
  const keys = new Set(first.map((row) => row['order_no']));
  expect((await versions()).filter((row) => keys.has(row['order_no']))).toEqual(first);
  expect(await chains()).toEqual([
    { symbol: 'NEW', slip44: 60, contract_address: '0xn', rows: 12_000 },
    { symbol: 'OTHER', slip44: null, contract_address: null, rows: 300 },
  ]);
}, 60_000);

/** Number of entries of the index of rows without a chain that this connection has read lately. */
async function entriesOf(db: LedgerDb): Promise<number> {
  const { rows } = await db.execute<{ entries: number }>(
    `select pg_stat_get_xact_tuples_returned('ledger.transactions_without_chain'::regclass)::int as entries`,
  );
  return rows[0]?.entries ?? Number.NaN;
}

test('a batch of rows without a chain does not read all rows behind it', async () => {
  const rows = 30_000;
  // The statistics know of no row without a chain.
  await testLedger.fill(`
    insert into ledger.transactions (order_no, stream, slip44) select n, 'withdraw', 60 from generate_series(1, 5000) as n`);
  await query('analyze ledger.transactions');
  await insertRows(rows, 'OTHER', 2_000);
  await storeAssets(ledger, 'coins', [asset(60, 'NEW', '0xn')]);
  const entriesRead: number[] = [];
  const counting: Ledger = {
    ...ledger,
    transaction: (work, settings) =>
      ledger.transaction(async (db) => {
        const readBefore = await entriesOf(db);
        const result = await work(db);
        entriesRead.push((await entriesOf(db)) - readBefore);
        return result;
      }, settings),
  };
  await assignChains(counting, whole);
  expect(entriesRead.reduce((sum, entries) => sum + entries, 0)).toBeGreaterThanOrEqual(rows);
  expect(Math.max(...entriesRead)).toBeLessThan(10_000);
}, 60_000);

test('many earlier deposits of one new address get their chain in batches', async () => {
  await storeAssets(ledger, 'coins', [asset(60, 'USDT', '0xa'), asset(195, 'USDT', 'Tb')]);
  await insertRows(100, 'USDT');
  await testLedger.fill(`
    insert into ledger.transactions (order_no, stream, symbol, to_address)
    select 'd-' || n, 'deposit', 'USDT', case when n % 2 = 0 then '0xB2' else '0xb2' end from generate_series(1, 11000) as n`);
  await ledger.transaction((db) =>
    storeListedAddresses(db, 195, ['0xb2'], { isChainShown: false }),
  );
  await checkNewAddresses(ledger.db);
  await expect(assignChains(dying(ledger, 2), whole)).rejects.toThrow('killed');
  await settle(ledger);
  expect(await chains()).toEqual([
    { symbol: 'USDT', slip44: 195, contract_address: 'Tb', rows: 11_000 },
    { symbol: 'USDT', slip44: null, contract_address: null, rows: 100 },
  ]);
  expect(await query('select from engine.chain_addresses')).toEqual([]);
}, 60_000);

test('a row that was being stored while its coin was stored gets its chain as well', async () => {
  await insertRows(1, 'NEW');
  const writer = new pg.Client({ connectionString });
  await writer.connect();
  onTestFinished(() => writer.end());
  await writer.query(
    `begin; insert into ledger.transactions (order_no, stream, symbol) values ('late', 'withdraw', 'NEW')`,
  );
  await storeAssets(ledger, 'balances', [asset(10, 'NEW')]);
  await assignChains(ledger, whole);
  const waiting = () => query('select wallet, after_order_no from engine.chain_assignments');
  expect(await waiting()).toEqual([{ wallet: 'main', after_order_no: '' }]);
  await writer.query('commit');
  await expect
    .poll(
      async () => {
        await assignChains(ledger, whole);
        return await waiting();
      },
      { timeout: 60_000 },
    )
    .toEqual([]);
  expect(await chains()).toEqual([{ symbol: 'NEW', slip44: 10, contract_address: '', rows: 2 }]);
}, 60_000);

test('without new facts nothing is written, and a known chain stays when the coin gets another one', async () => {
  await storeAssets(ledger, 'coins', [asset(60, 'ETH'), asset(60, 'USDT', '0xa')]);
  await insertRows(3, 'ETH');
  await assignChains(ledger, whole);
  await insertRows(3, 'NONE');
  await storeAssets(ledger, 'coins', [asset(10, 'ETH')]);
  await storeAssets(ledger, 'balances', [asset(10, 'ETH')]);
  await assignChains(ledger, whole);
  const before = await readVersions(testLedger);
  await storeAssets(ledger, 'coins', [asset(60, 'ETH'), asset(10, 'ETH')]);
  await storeAssets(ledger, 'balances', [asset(60, 'USDT', '0xa')]);
  // The second reading may still wait for transactions of other tests; it writes no row.
  await assignChains(ledger, whole);
  expect(await readVersions(testLedger)).toEqual(before);
  expect(await chains()).toEqual([
    { symbol: 'ETH', slip44: 60, contract_address: '', rows: 3 },
    { symbol: 'NONE', slip44: null, contract_address: null, rows: 3 },
  ]);
});

test('a symbol that a later answer fills in determines the chain', async () => {
  await storeAssets(ledger, 'coins', [asset(60, 'ETH')]);
  await storeListedTransactions(ledger.db, 'deposit', [
    listed({ orderNo: 'a' }),
    listed({ orderNo: 'b' }),
  ]);
  await fillTransactions(ledger.db, [detailed({ orderNo: 'a', symbol: 'ETH' })]);
  await storeTransactionDetails(ledger.db, [detailed({ orderNo: 'b', symbol: 'ETH' })]);
  expect(await chains()).toEqual([{ symbol: 'ETH', slip44: 60, contract_address: '', rows: 2 }]);
});

test('rows of an earlier version get their chain after the migration, and views on them stay', async () => {
  const earlier = await withLedger({ isMigrated: false });
  await migrateBefore(earlier.ledger, 'chain_of_each_row');
  await earlier.query(`
    insert into ledger.coins (wallet, slip44, symbol, contract_address, observed_at, changed_at, observation)
    values ('main', 60, 'ETH', '', now(), now(), 1), ('w2', 10, 'ETH', '', now(), now(), 1)`);
  await earlier.query(`
    insert into ledger.transactions (wallet, order_no, stream, symbol, state)
    values ('main', 'a', 'withdraw', 'ETH', 'pending'), ('w2', 'a', 'withdraw', 'ETH', 'pending'), ('w2', 'b', 'withdraw', 'X', 'pending')`);
  await earlier.query('create view public.open as select * from ledger.pending_transactions');
  await migrateLedger(earlier.ledger, { log: silentLog });
  for (const own of [earlier.ledger, earlier.ledger.forWallet('w2')])
    await assignChains(own, whole);
  expect(
    await earlier.query(
      'select wallet, order_no, slip44, contract_address from ledger.pending_transactions order by 1, 2',
    ),
  ).toEqual([
    { wallet: 'main', order_no: 'a', slip44: 60, contract_address: '' },
    { wallet: 'w2', order_no: 'a', slip44: 10, contract_address: '' },
    { wallet: 'w2', order_no: 'b', slip44: null, contract_address: null },
  ]);
  expect(await earlier.query('select order_no from public.open')).toHaveLength(3);
  expect(
    await earlier.query(`
      select relation, "column", since from ledger.contract
       where "column" in ('slip44', 'contract_address') and relation like '%transactions' order by 1, 2`),
  ).toEqual(
    ['pending_transactions', 'transactions'].flatMap((relation) =>
      ['contract_address', 'slip44'].map((column) => ({ relation, column, since: '1.3' })),
    ),
  );
}, 60_000);
