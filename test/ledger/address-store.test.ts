import { beforeEach, expect, test } from 'vitest';
import { storeListedAddresses } from '../../src/ledger/address-store.ts';
import { storeListedTransactions } from '../../src/ledger/store-listed-transactions.ts';
import { listed } from './transaction-rows.ts';
import { withLedger } from './with-ledger.ts';

const { ledger, connect, query, clear, logged } = await withLedger();
beforeEach(clear);

const store = (addresses: string[], slip44 = 60) =>
  ledger.transaction((tx) => storeListedAddresses(tx, slip44, addresses));
const readRows = () =>
  query(`select slip44, address, status, first_deposit_order_no as deposit
           from ledger.addresses order by slip44, address collate "C"`);
const readCounts = () => query('select name, ledger_count from ledger.streams order by name');

test('new addresses are foreign and counted for their chain; stored ones stay as they are', async () => {
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

test('a page that brings nothing new writes nothing', async () => {
  await store(['0xa', '0xb']);
  const versions = () =>
    query(`select address, ctid::text, xmin::text, xmax::text from ledger.addresses
           union all select name, ctid::text, xmin::text, xmax::text from ledger.streams order by 1`);
  const before = await versions();
  expect(await store(['0xb', '0xa'])).toEqual({ inserted: 0 });
  expect(await store([])).toEqual({ inserted: 0 });
  expect(await versions()).toEqual(before);
});

test('an address that a stored deposit went to is used at once, with the first deposit; a withdrawal’s is not', async () => {
  await ledger.transaction((tx) =>
    storeListedTransactions(tx, 'deposit', [
      listed({ orderNo: 'later', toAddress: '0xAB', occurredAt: 2_000 }),
      listed({ orderNo: 'first', toAddress: '0xab', occurredAt: 1_000 }),
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

test('[V14] addresses that differ in case only are two, as the service says', async () => {
  expect(await store(['0xA', '0xa'])).toEqual({ inserted: 2 });
});

test('[V14] text of any kind is one address, byte for byte', async () => {
  const hostile = [`'; drop table x; --`, '{a,"b"}', 'NULL', '\\', ' ', '\u{1F600}\n'];
  expect(await store(hostile)).toEqual({ inserted: hostile.length });
  const rows = await query<{ address: string }>('select address from ledger.addresses');
  expect(new Set(rows.map(({ address }) => address))).toEqual(new Set(hostile));
});

test('several readers of one list at once count each address once', async () => {
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

test('an address and its deposit that are stored at the same moment still find each other', async () => {
  const other = connect();
  await Promise.all(
    Array.from({ length: 60 }, (_, nth) => [
      ledger.transaction((tx) => storeListedAddresses(tx, 60, [`0xA${nth}`])),
      other.transaction((tx) =>
        storeListedTransactions(tx, 'deposit', [
          listed({ orderNo: `order-${nth}`, toAddress: `0xa${nth}` }),
        ]),
      ),
    ]).flat(),
  );
  expect(await query(`select address from ledger.addresses where status <> 'used'`)).toEqual([]);
  expect(logged).toEqual([]);
});
