import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { readBriefly } from '../../../src/ledger/connection/read-briefly.ts';
import {
  listTransactions,
  type PageBounds,
  type TransactionFilter,
} from '../../../src/ledger/reports/explorer/list-transactions.ts';
import { storeListedTransactions } from '../../../src/ledger/transactions/store-listed-transactions.ts';
import { storeTransactionDetails } from '../../../src/ledger/transactions/store-transaction-details.ts';
import { filterBy } from '../../support/explorer-rows.ts';
import { forAll } from '../../support/for-all.ts';
import { detailed, listed } from '../../support/transaction-rows.ts';
import { withLedger } from '../../support/with-ledger.ts';

const { ledger, query, clear } = await withLedger();

type Row = {
  stream: string;
  minute: number | null;
  symbol: string;
  amount: number;
  isFinal: boolean;
};

const row = fc.record<Row>({
  stream: fc.constantFrom('deposit', 'withdraw'),
  // Few different times, so that many rows share one, with fractions of a second.
  minute: fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 0, max: 4 }) },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
  symbol: fc.constantFrom('BTC', 'ETH'),
  amount: fc.integer({ min: -3, max: 3 }),
  isFinal: fc.boolean(),
});

const filters = fc.record<Partial<TransactionFilter>>({
  stream: fc.constantFrom(null, 'deposit', 'withdraw'),
  coin: fc.constantFrom(null, null, 'BTC', 'btc'),
  min: fc.constantFrom(null, null, '1'),
  isOpen: fc.constantFrom(false, false, true),
});

let stored = 0;

/** Stores the rows and returns their order numbers, which have no meaningful order. */
async function insert(rows: Row[]): Promise<string[]> {
  const orderNos = rows.map(() => {
    stored += 1;
    return `${'zäA-1'[(stored * 7) % 5]}${stored}`;
  });
  if (rows.length === 0) return [];
  const values = rows.map(({ stream, minute, symbol, amount, isFinal }, index) => {
    const time = minute === null ? 'null' : `'2026-01-01 00:0${minute}:00.123+00'`;
    return `('${orderNos[index]}', '${stream}', '${stream}', '${symbol}', ${amount}, ${isFinal}, ${time})`;
  });
  await query(
    `insert into ledger.transactions (order_no, stream, type, symbol, amount, is_final, occurred_at) values ${values.join()}`,
  );
  return orderNos;
}

function isWanted(row: Row, filter: Partial<TransactionFilter>): boolean {
  return (
    (!filter.stream || row.stream === filter.stream) &&
    (!filter.coin || row.symbol === filter.coin.toUpperCase()) &&
    (!filter.min || row.amount >= Number(filter.min)) &&
    (!filter.isOpen || !row.isFinal)
  );
}

beforeEach(clear);

test('paging visits each row once, whatever rows arrive meanwhile and however small the pages are', async () => {
  const bounds = fc.record<PageBounds>({
    pageRows: fc.integer({ min: 1, max: 7 }),
    rowsReadMax: fc.integer({ min: 1, max: 9 }),
  });
  const arrivals = fc.array(fc.array(row, { maxLength: 3 }), { maxLength: 10 });
  await forAll(
    fc.array(row, { maxLength: 40 }),
    filters,
    bounds,
    arrivals,
  )(60, async (rows, drawn, pageBounds, meanwhile) => {
    await clear();
    const orderNos = await insert(rows);
    const wanted = orderNos.filter((_, index) => isWanted(rows[index] as Row, drawn));
    const visited: string[] = [];
    let before: TransactionFilter['before'] = null;
    do {
      const filter = filterBy({ ...drawn, before });
      const page = await readBriefly(ledger, (db) => listTransactions(db, filter, pageBounds));
      expect(page.rows.length).toBeLessThanOrEqual(pageBounds.pageRows);
      visited.push(...page.rows.map(({ orderNo }) => orderNo));
      before = page.next;
      await insert(meanwhile.shift() ?? []);
    } while (before !== null);
    expect(new Set(visited).size).toBe(visited.length);
    expect(visited.filter((orderNo) => orderNos.includes(orderNo)).sort()).toEqual(wanted.sort());
  });
});

test('rows are sorted by latest time, then by number, and rows without a time come last', async () => {
  await query(`insert into ledger.transactions (order_no, stream, type, occurred_at) values
    ('a', 'deposit', 'deposit', '2026-01-01'), ('b', 'withdraw', 'withdraw', '2026-01-01'),
    ('c', 'deposit', 'deposit', '2026-01-02'), ('d', 'deposit', 'deposit', null), ('e', 'withdraw', 'withdraw', '0044-03-15 BC')`);
  const page = await readBriefly(ledger, (db) => listTransactions(db, filterBy()));
  expect(page.rows.map(({ orderNo }) => orderNo)).toEqual(['c', 'b', 'a', 'e', 'd']);
  expect(page.next).toBeNull();
});

test('a coin is matched as it is spelt, and in any case only if no coin is spelt so', async () => {
  await query(`insert into ledger.transactions (order_no, stream, type, symbol, is_listed) values
    ('a', 'deposit', 'deposit', 'USDT', true), ('b', 'withdraw', 'withdraw', 'usdt', true), ('c', 'deposit', 'deposit', 'Usdt', false)`);
  const ofCoin = async (coin: string) => {
    const page = await readBriefly(ledger, (db) => listTransactions(db, filterBy({ coin })));
    return page.rows.map(({ orderNo }) => orderNo).join('');
  };
  expect(await Promise.all(['USDT', 'usdt', 'Usdt'].map(ofCoin))).toEqual(['a', 'b', 'c']);
  expect(await ofCoin('uSDT')).toBe('cba');
});

test('a period includes the UTC days at both ends, and excludes rows without a time', async () => {
  await query(`insert into ledger.transactions (order_no, stream, type, occurred_at) values
    ('before', 'deposit', 'deposit', '2025-12-31 23:59:59.999Z'), ('first', 'deposit', 'deposit', '2026-01-01T00:00:00Z'),
    ('last', 'deposit', 'deposit', '2026-01-02 23:59:59.999Z'), ('after', 'deposit', 'deposit', '2026-01-03T00:00:00Z'),
    ('undated', 'deposit', 'deposit', null)`);
  const filter = filterBy({ from: '2026-01-01', to: '2026-01-02' });
  const page = await readBriefly(ledger, (db) => listTransactions(db, filter));
  expect(page.rows.map(({ orderNo }) => orderNo)).toEqual(['last', 'first']);
});

test('the chain of a row is that of its coin, of the address of its deposit, or of the coin that paid its fee', async () => {
  await query(`
    insert into ledger.balances (slip44, symbol, contract_address, observed_at, changed_at, observation)
    values (0, 'BTC', '', now(), now(), 1), (60, 'ETH', '', now(), now(), 1), (60, 'USDT', 'x', now(), now(), 1),
           (195, 'USDT', 'y', now(), now(), 1);
    insert into ledger.addresses (slip44, address, status, first_seen_at)
    values (195, 'Tx', 'foreign', now()), (60, '0xab', 'foreign', now()), (714, '0xab', 'foreign', now())`);
  const store = (orderNo: string, symbol: string | null, toAddress: string, type = 'deposit') =>
    storeListedTransactions(ledger.db, type === 'deposit' ? 'deposit' : 'withdraw', [
      listed({ orderNo, symbol, toAddress, type, occurredAt: 1_700_000_000_000 }),
    ]);
  await store('1', 'BTC', '0xab');
  await store('2', 'USDT', 'Tx');
  await store('3', 'USDT', '0xAB');
  await store('4', 'USDT', 'Tx', 'withdraw');
  await store('5', null, 'Tx');
  await store('6', 'USDT', '0xcd', 'withdraw');
  await storeTransactionDetails(ledger.db, [
    detailed({ orderNo: '6', symbol: 'USDT', toAddress: '0xcd', fee: '0.1', feeSymbol: 'ETH' }),
  ]);
  const chainsOf = (chain: number | null) =>
    readBriefly(ledger, async (db) => {
      const { rows } = await listTransactions(db, filterBy({ chain }));
      return rows.map(({ orderNo, slip44 }) => [orderNo, slip44]);
    });
  expect(await chainsOf(null)).toEqual([
    ['6', 60],
    ['5', 195],
    ['4', null],
    ['3', null],
    ['2', 195],
    ['1', 0],
  ]);
  expect(await chainsOf(195)).toEqual([
    ['5', 195],
    ['2', 195],
  ]);
  expect(await chainsOf(0)).toEqual([['1', 0]]);
  expect(await chainsOf(60)).toEqual([['6', 60]]);
});

test('a page is read-only: writing is refused, and a statement is aborted after 2 s', async () => {
  const write = readBriefly(ledger, (db) => db.execute('delete from ledger.transactions'));
  await expect(write).rejects.toMatchObject({ cause: { code: '25006' } });
  const slow = readBriefly(ledger, (db) => db.execute('select pg_sleep(30)'));
  await expect(slow).rejects.toMatchObject({ cause: { code: '57014' } });
});
