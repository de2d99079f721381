import { beforeEach, expect, test } from 'vitest';
import {
  checkNewAddresses,
  storeListedAddresses,
} from '../../src/ledger/addresses/address-store.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { listed } from '../support/transaction-rows.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query, clear, logged } = await withLedger();
beforeEach(clear);
beforeEach(() =>
  query(`insert into ledger.final_states values ('success', true), ('failed', false)`),
);

const store = (addresses: string[], slip44 = 60) =>
  ledger.transaction((tx) => storeListedAddresses(tx, slip44, addresses));
const readRows = () =>
  query(`select slip44, address, status, first_deposit_order_no as deposit
           from ledger.addresses order by slip44, address collate "C"`);
const readCounts = () => query('select name, ledger_count from ledger.streams order by name');

test('new addresses are foreign and counted for their chain; stored ones do not change', async () => {
  expect(await store(['0xa', '0xb', '0xa'])).toEqual({ inserted: 2 });
  await query(`update ledger.addresses set status = 'available' where address = '0xa'`);
  expect(await store(['0xc', '0xa'])).toEqual({ inserted: 1 });
  expect(await store(['0xa'], 195)).toEqual({ inserted: 1 });
  expect(await readRows()).toEqual([
    { slip44: 60, address: '0xa', status: 'available', deposit: null },
    { slip44: 60, address: '0xb', status: 'foreign', deposit: null },
    { slip44: 60, address: '0xc', status: 'foreign', deposit: null },
    { slip44: 195, address: '0xa', status: 'foreign', deposit: null },
  ]);
  expect(await readCounts()).toEqual([
    { name: 'addresses:195', ledger_count: '1' },
    { name: 'addresses:60', ledger_count: '3' },
  ]);
});

test('a page without new rows causes no write', async () => {
  await store(['0xa', '0xb']);
  const versions = () =>
    query(`select address, ctid::text, xmin::text, xmax::text from ledger.addresses
           union all select name, ctid::text, xmin::text, xmax::text from ledger.streams order by 1`);
  const before = await versions();
  expect(await store(['0xb', '0xa'])).toEqual({ inserted: 0 });
  expect(await store([])).toEqual({ inserted: 0 });
  expect(await versions()).toEqual(before);
});

test('an address with a stored deposit is used at once with that deposit; the address of a withdrawal is not', async () => {
  await ledger.transaction((tx) =>
    storeListedTransactions(tx, 'deposit', [
      listed({ orderNo: 'later', state: 'success', toAddress: '0xAB', occurredAt: 2_000 }),
      listed({ orderNo: 'first', state: 'Success', toAddress: 'ab', occurredAt: 1_000 }),
      listed({ orderNo: 'failed', state: 'failed', toAddress: '0xab', occurredAt: 500 }),
    ]),
  );
  await ledger.transaction((tx) =>
    storeListedTransactions(tx, 'withdraw', [
      listed({ orderNo: 'out', toAddress: '0xcd', type: 'withdraw' }),
    ]),
  );
  await store(['0xaB', '0xcd']);
  expect(await readRows()).toEqual([
    { slip44: 60, address: '0xaB', status: 'used', deposit: 'first' },
    { slip44: 60, address: '0xcd', status: 'foreign', deposit: null },
  ]);
});

test('[V14] one address in two spellings is one row, which the stream counts as often as the list shows it', async () => {
  expect(await store(['0xaBc', '0xABC', 'abc', 'TAbc', 'Tabc'])).toEqual({ inserted: 3 });
  expect(await readCounts()).toEqual([{ name: 'addresses:60', ledger_count: '5' }]);
  expect(await store(['0xABC', 'ABC'])).toEqual({ inserted: 0 });
  expect(await readCounts()).toEqual([{ name: 'addresses:60', ledger_count: '6' }]);
  expect(
    await query(
      'select address, address_key, listed_as from ledger.addresses order by address collate "C"',
    ),
  ).toEqual([
    {
      address: '0xaBc',
      address_key: 'abc'.padStart(40, '0'),
      listed_as: ['0xaBc', '0xABC', 'abc', 'ABC'],
    },
    { address: 'TAbc', address_key: 'TAbc', listed_as: ['TAbc'] },
    { address: 'Tabc', address_key: 'Tabc', listed_as: ['Tabc'] },
  ]);
});

test('an address that an answer and the list spell differently is one item of the list', async () => {
  await query(`insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
               values (60, '0xAbCd', 'available', 1, now());
               insert into ledger.streams (name, ledger_count) values ('addresses:60', 1)`);
  expect(await store(['0xabcd'])).toEqual({ inserted: 0 });
  expect(await readCounts()).toEqual([{ name: 'addresses:60', ledger_count: '1' }]);
  expect(await store(['0xABCD', '0xabcd'])).toEqual({ inserted: 0 });
  expect(await readCounts()).toEqual([{ name: 'addresses:60', ledger_count: '2' }]);
  expect(await query('select address, status from ledger.addresses')).toEqual([
    { address: '0xAbCd', status: 'available' },
  ]);
});

test('[V14] any text is one address, byte for byte', async () => {
  const hostile = [`'; drop table x; --`, '{a,"b"}', 'NULL', '\\', ' ', '\u{1F600}\n'];
  expect(await store(hostile)).toEqual({ inserted: hostile.length });
  const rows = await query<{ address: string }>('select address from ledger.addresses');
  expect(new Set(rows.map(({ address }) => address))).toEqual(new Set(hostile));
});

test('concurrent readers of one list count each address once', async () => {
  const readers = [connect(), connect(), connect(), connect()];
  const addresses = Array.from({ length: 50 }, (_, nth) => `0x${nth}`);
  const stored = await Promise.all(
    readers.map((reader, lane) =>
      reader.transaction((tx) =>
        storeListedAddresses(tx, 60, lane % 2 ? addresses : [...addresses].reverse()),
      ),
    ),
  );
  expect(stored.reduce((sum, { inserted }) => sum + inserted, 0)).toBe(50);
  expect(await readCounts()).toEqual([{ name: 'addresses:60', ledger_count: '50' }]);
});

test('an address and its deposit that are stored at the same moment are still linked', async () => {
  const other = connect();
  await Promise.all(
    Array.from({ length: 60 }, (_, nth) => [
      ledger.transaction((tx) => storeListedAddresses(tx, 60, [`0xA${nth}`])),
      other.transaction((tx) =>
        storeListedTransactions(tx, 'deposit', [
          listed({ orderNo: `order-${nth}`, state: 'success', toAddress: `0xa${nth}` }),
        ]),
      ),
    ]).flat(),
  );
  await checkNewAddresses(ledger.db);
  expect(await query(`select address from ledger.addresses where status <> 'used'`)).toEqual([]);
  expect(logged).toEqual([]);
});

test('a deposit that is committed long after its address marks the address in the following passes', async () => {
  const writer = await ledger.pool.connect();
  try {
    await writer.query('begin');
    await writer.query(`insert into ledger.transactions (order_no, stream, type, state, to_address, observation)
                        values ('slow', 'deposit', 'deposit', 'success', '0xAA', 1)`);
    await store(['0xaa']);
    // Passes during the transaction of the deposit do not see it, and continue to check the address.
    await checkNewAddresses(ledger.db);
    await checkNewAddresses(ledger.db);
    expect(await readRows()).toMatchObject([{ status: 'foreign', deposit: null }]);
    await writer.query('commit');
  } finally {
    writer.release();
  }
  await checkNewAddresses(ledger.db);
  expect(await readRows()).toMatchObject([{ status: 'used', deposit: 'slow' }]);
  // Other databases of the server have transactions as well.
  await until(async () => {
    await checkNewAddresses(ledger.db);
    return (
      (await query('select from ledger.addresses where unchecked_until is not null')).length === 0
    );
  });
  expect(await readRows()).toMatchObject([{ status: 'used', deposit: 'slow' }]);
});
