import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { checkNewAddresses } from '../../src/ledger/addresses/address-store.ts';
import { adoptForeign, listForeign } from '../../src/ledger/addresses/adopt-store.ts';
import { openPoolRequests } from '../../src/ledger/addresses/pool-requests.ts';
import {
  mirrorPools,
  noteListRead,
  readPoolLevels,
  takeAddress,
} from '../../src/ledger/addresses/pool-store.ts';
import { readStatus } from '../../src/ledger/reports/read-status.ts';
import { storeListedTransactions } from '../../src/ledger/transactions/store-listed-transactions.ts';
import { countRowsRead } from '../support/count-rows-read.ts';
import { listed } from '../support/transaction-rows.ts';
import { until } from '../support/until.ts';
import { withLedger } from '../support/with-ledger.ts';

const { ledger, connect, query, clear, logged } = await withLedger();
beforeEach(clear);
beforeEach(() =>
  query(`insert into ledger.final_states values ('success', true), ('failed', false)`),
);

const isSomeoneLockedOut = async () =>
  (await query('select from pg_locks where not granted')).length > 0;

const eth = { slip44: 60, threshold: 5, target: 10 };
const tron = { slip44: 195, threshold: 1, target: 2 };
const addAddresses = (rows: string) =>
  query(`insert into ledger.addresses (slip44, address, status, assigned_at, generated_by, first_seen_at)
    select slip44, slip44 || '-' || status || '-' || n || '-' || coalesce(ago, ''), status,
           now() - ago::interval, generated_by::bigint, now()
      from (values ${rows}) as r (slip44, status, ago, generated_by, num), generate_series(1, num) n`);
const writeRequest = async (slip44: number, owner: string) => {
  const [request] = await query<{ id: string }>(`
    insert into ledger.address_requests (slip44, num, state, requested_at, owner)
    values (${slip44}, 5, 'sent', now(), '${owner}') returning id`);
  return Number(request?.id);
};

test('the table matches the setting, keeps the state of chains that stay, and is written only for a change', async () => {
  await mirrorPools(ledger, [eth, tron]);
  await query(
    `update ledger.pools set is_filling = true, refusals = 2, num_max = 50, last_error = 'no'`,
  );
  const versions = () => query('select xmin::text, ctid::text from ledger.pools order by slip44');
  const before = await versions();
  await mirrorPools(ledger, [tron, eth]);
  expect(await versions()).toEqual(before);
  await mirrorPools(ledger, [
    { ...eth, target: 20 },
    { ...tron, slip44: 0 },
  ]);
  expect(
    await query(
      'select slip44, threshold, target, is_filling, refusals, num_max, last_error from ledger.pools order by slip44',
    ),
  ).toEqual([
    { ...tron, slip44: 0, is_filling: false, refusals: 0, num_max: 200, last_error: null },
    { ...eth, target: 20, is_filling: true, refusals: 2, num_max: 50, last_error: 'no' },
  ]);
  await mirrorPools(ledger, []);
  expect(await query('select * from ledger.pools')).toEqual([]);
});

test('a stopped chain is still stopped after it was removed from the settings and added again', async () => {
  const held = () =>
    query(`select slip44, target, chain_filter, refused_at is not null as refused from ledger.pools
            order by slip44`);
  await mirrorPools(ledger, [eth, tron, { slip44: 0, threshold: 1, target: 2 }]);
  await query(`insert into ledger.addresses (slip44, address, status, first_seen_at)
    values (60, '0x' || repeat('a', 40), 'available', now())`);
  await query(`update ledger.pools set chain_filter = 'broken' where slip44 = 60`);
  await query(`update ledger.pools set refused_at = now() where slip44 = 195`);
  await mirrorPools(ledger, [{ slip44: 1, threshold: 1, target: 2 }]);
  expect(await held()).toEqual([
    { slip44: 1, target: 2, chain_filter: null, refused: false },
    { slip44: 60, target: 0, chain_filter: 'broken', refused: false },
    { slip44: 195, target: 0, chain_filter: null, refused: true },
  ]);
  expect(await takeAddress(ledger.db, 60, 'customer')).toBeNull();
  const problems = await query('select name, subject from ledger.problems');
  expect(problems).toContainEqual({ name: 'chain_filter_broken', subject: '60' });
  expect(problems).not.toContainEqual({ name: 'address_refused', subject: '195' });
  await mirrorPools(ledger, [eth, tron]);
  expect(await held()).toEqual([
    { slip44: 60, target: eth.target, chain_filter: 'broken', refused: false },
    { slip44: 195, target: tron.target, chain_filter: null, refused: true },
  ]);
  expect(await takeAddress(ledger.db, 60, 'customer')).toBeNull();
});

test('concurrent updates of the table from the settings all succeed and agree', async () => {
  const others = [ledger, connect(), connect()];
  await Promise.all(
    Array.from({ length: 12 }, (_, nth) => mirrorPools(others[nth % 3] ?? ledger, [eth, tron])),
  );
  expect(await query('select slip44 from ledger.pools order by slip44')).toHaveLength(2);
});

test('a process that starts with other pools and one that plans a request do not deadlock', async () => {
  await mirrorPools(ledger, [eth, tron]);
  const planning = await ledger.pool.connect();
  onTestFinished(() => planning.release(true));
  await planning.query('begin');
  await planning.query('select from ledger.pools where slip44 = 60 for update');
  const mirroring = mirrorPools(connect(), [{ ...eth, target: 20 }, tron]);
  await until(isSomeoneLockedOut);
  await planning.query('update ledger.pools set is_filling = true where slip44 = 60');
  await planning.query('commit');
  await mirroring;
  expect(await query('select is_filling, target from ledger.pools where slip44 = 60')).toEqual([
    { is_filling: true, target: 20 },
  ]);
  expect(logged).toEqual([]);
});

test('a refusal that is stored while the pool is planned waits for the plan', async () => {
  await mirrorPools(ledger, [eth]);
  const id = await writeRequest(60, 'a sender taken for dead');
  const planning = await ledger.pool.connect();
  onTestFinished(() => planning.release(true));
  await planning.query('begin');
  await planning.query('select from ledger.pools where slip44 = 60 for update');
  const refusal = { error: 'no', refusals: 1, delayMs: 1_000, numMax: 5 };
  const failing = openPoolRequests(connect(), 'slip44').failRequest(id, refusal);
  await until(isSomeoneLockedOut);
  await planning.query(`update ledger.address_requests set state = 'unknown'`);
  await planning.query('commit');
  await failing;
  expect(await query('select state from ledger.address_requests')).toEqual([{ state: 'unknown' }]);
  expect(await query('select refusals from ledger.pools')).toEqual([{ refusals: 0 }]);
  expect(logged).toEqual([]);
});

test('the pool levels count addresses by status, by request and by week', async () => {
  await mirrorPools(ledger, [eth, tron]);
  await addAddresses(`
    (60, 'available', null, 1, 40), (60, 'foreign', null, null, 7),
    (60, 'assigned', '1 day', 1, 6), (60, 'assigned', '8 days', 1, 50),
    (60, 'used', '6 days', 1, 2), (60, 'used', null, null, 3), (0, 'foreign', null, null, 2)`);
  await query(`insert into ledger.address_requests (slip44, num, state, requested_at, finished_at, received) values
    (60, 10, 'done', now() - interval '23 hours', now(), 9), (60, 100, 'done', now() - interval '25 hours', now(), 100),
    (60, 30, 'failed', now(), now(), 0), (60, 200, 'unknown', now() - interval '30 hours', null, null)`);
  expect(await readPoolLevels(ledger.db)).toEqual([
    {
      slip44: 0,
      ...{ available: 0, assigned: 0, used: 0, foreign: 2, threshold: null, target: null },
      ...{ generated24h: 0, daysLeft: null, lastError: null },
    },
    {
      slip44: 60,
      ...{ available: 40, assigned: 56, used: 5, foreign: 7, threshold: 5, target: 10 },
      // Eight in seven days: 40 last 35 days.
      ...{ generated24h: 210, daysLeft: 35, lastError: null },
    },
    {
      slip44: 195,
      ...{ available: 0, assigned: 0, used: 0, foreign: 0, threshold: 1, target: 2 },
      ...{ generated24h: 0, daysLeft: null, lastError: null },
    },
  ]);
  await addAddresses(`(60, 'assigned', '2 days', 1, 3)`);
  const [row] = await query(
    'select days_left, pg_typeof(days_left)::text from ledger.pool_levels where slip44 = 60',
  );
  expect(row).toEqual({ days_left: '25.5', pg_typeof: 'numeric' });
});

test('the levels of a chain read its addresses at most once, and only if they are counted', async () => {
  await query(`insert into ledger.addresses (slip44, address, status, first_seen_at)
    select 60 + n % 5, 'many-' || n, 'assigned', now() from generate_series(1, 5000) as n`);
  await query('vacuum analyze ledger.addresses');
  const client = await ledger.pool.connect();
  onTestFinished(() => client.release(true));
  await client.query('begin; set local max_parallel_workers_per_gather = 0');
  const rowsRead = (columns: string) =>
    countRowsRead(client, 'addresses', () =>
      client.query(`select ${columns} from own.pool_levels where slip44 = 61`),
    );
  expect(await rowsRead('*')).toBeLessThan(7_500);
  expect(await rowsRead('slip44, available, days_left')).toBeLessThan(500);
});

test('the view has the columns that users rely on', async () => {
  const columns = await query<{ name: string }>(`select attname as name from pg_attribute
    where attrelid = 'ledger.pool_levels'::regclass and attnum > 0 order by attnum`);
  expect(columns.map(({ name }) => name)).toEqual(
    ['slip44', 'available', 'assigned', 'used', 'threshold', 'target'].concat(
      'generated_24h',
      'days_left',
      'foreign_addresses',
      'wallet',
    ),
  );
});

test('only named addresses without a deposit are adopted, and for the customer who has them on another chain', async () => {
  await addAddresses(`(60, 'foreign', null, null, 5), (195, 'foreign', null, null, 1),
    (60, 'assigned', '1 day', 1, 1), (60, 'available', null, 1, 1)`);
  await query(`insert into ledger.addresses (slip44, address, status, assigned_to, assigned_no, assigned_at, first_seen_at)
    values (195, '60-FOREIGN-5-', 'assigned', 'customer', 1, now(), now())`);
  await ledger.transaction((db) =>
    storeListedTransactions(db, 'deposit', [
      listed({ orderNo: 'seen', state: 'success', toAddress: '60-FOREIGN-1-' }),
      listed({ orderNo: 'failed', state: 'failed', toAddress: '60-foreign-2-' }),
    ]),
  );
  await query(`insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
    values (61, '60-FOREIGN-3-', 'available', 1, now())`);
  expect(await listForeign(ledger.db, 60, null)).toEqual([
    expect.objectContaining({ address: '60-foreign-2-', hasDeposit: true, isHandedOut: false }),
    expect.objectContaining({ address: '60-foreign-3-', isHandedOut: false, otherPools: [61] }),
    expect.objectContaining({ address: '60-foreign-4-', hasDeposit: false, otherPools: [] }),
    expect.objectContaining({ address: '60-foreign-5-', hasDeposit: false, isHandedOut: true }),
  ]);
  await query(`update ledger.addresses set address = 'another' where slip44 = 61`);
  const adopt = (named: string[] | null) => ledger.transaction((db) => adoptForeign(db, 60, named));
  expect(await adopt(['60-FOREIGN-3-', '60-foreign-2-', 'nowhere'])).toBe(1);
  expect(await adopt(null)).toBe(1);
  expect(await adopt(null)).toBe(0);
  expect(
    await query(`select address, status, assigned_to as "to", first_deposit_order_no as deposit
                   from ledger.addresses where address like '%foreign%' order by slip44, address`),
  ).toEqual([
    { address: '60-foreign-1-', status: 'used', to: null, deposit: 'seen' },
    { address: '60-foreign-2-', status: 'foreign', to: null, deposit: null },
    { address: '60-foreign-3-', status: 'available', to: null, deposit: null },
    { address: '60-foreign-4-', status: 'available', to: null, deposit: null },
    { address: '60-foreign-5-', status: 'assigned', to: 'customer', deposit: null },
    { address: '195-foreign-1-', status: 'foreign', to: null, deposit: null },
  ]);
});

test('the pool of a removed chain stays until its open request is closed', async () => {
  await mirrorPools(ledger, [eth, tron]);
  await writeRequest(195, 'a sender');
  await mirrorPools(ledger, [eth]);
  const pools = () => query('select slip44, threshold, target from ledger.pools order by slip44');
  expect(await pools()).toEqual([eth, { slip44: 195, threshold: 0, target: 0 }]);
  await mirrorPools(ledger, [{ ...eth, target: 11 }]);
  await query(`update ledger.address_requests set state = 'done'`);
  await mirrorPools(ledger, [eth]);
  expect(await pools()).toEqual([eth]);
});

test('an address that is adopted while its deposit is being stored becomes used', async () => {
  await addAddresses(`(60, 'foreign', null, null, 40)`);
  const other = connect();
  await Promise.all([
    ...Array.from({ length: 40 }, (_, nth) =>
      other.transaction((db) =>
        storeListedTransactions(db, 'deposit', [
          listed({
            orderNo: `order-${nth}`,
            state: 'success',
            toAddress: `60-foreign-${nth + 1}-`,
          }),
        ]),
      ),
    ),
    ...Array.from({ length: 5 }, () => ledger.transaction((db) => adoptForeign(db, 60, null))),
  ]);
  await checkNewAddresses(ledger.db);
  expect(await query(`select address from ledger.addresses where status <> 'used'`)).toEqual([]);
});

test('the status shows the remaining days, the reason for an unfilled pool, and unexpected deposits', async () => {
  await mirrorPools(ledger, [eth]);
  await query(`update ledger.pools set last_error = 'code 1003: limit reached'`);
  await addAddresses(`(60, 'available', null, 1, 4), (60, 'assigned', '1 day', 1, 7), (60, 'foreign', null, null, 2),
    (195, 'foreign', null, null, 1)`);
  await query(`insert into ledger.addresses (slip44, address, status, generated_by, first_seen_at)
    values (195, '60-FOREIGN-2-', 'available', 1, now())`);
  const now = Date.now();
  const deposit = (orderNo: string, toAddress: string | null, change = {}) =>
    listed({ orderNo, state: 'success', toAddress, occurredAt: now, ...change });
  await ledger.transaction((db) =>
    storeListedTransactions(db, 'deposit', [
      deposit('ours', '60-assigned-1-1 day'),
      deposit('foreign', '60-foreign-1-'),
      deposit('foreign again', '60-FOREIGN-1-'),
      deposit('ours on another chain', '60-foreign-2-'),
      deposit('unknown', 'nowhere'),
      deposit('without address', null),
      deposit('long ago', 'nowhere', { occurredAt: now - 8 * 86_400_000 }),
    ]),
  );
  await ledger.transaction((db) =>
    storeListedTransactions(db, 'withdraw', [
      deposit('going out', 'nowhere', { type: 'withdraw' }),
    ]),
  );
  const { pools, unexpectedDeposits } = await readStatus(ledger.db, [eth]);
  expect(unexpectedDeposits).toEqual({ foreign: 2, unknown: 1 });
  expect(pools).toEqual([
    {
      ...eth,
      wallet: 'main',
      chain: null,
      available: 4,
      daysLeft: 4,
      lastError: 'code 1003: limit reached',
    },
  ]);
});

test('no wait of a pool is prolonged by a clock that goes back', async () => {
  await mirrorPools(ledger, [eth]);
  const requests = openPoolRequests(ledger, 'slip44');
  const read = async () =>
    (await requests.plan(60, (pool) => ({ pool, write: null })))?.decision.pool;
  // The clock was a day ahead at the refusal and at the reading of the list.
  await query(`update ledger.pools set next_try_at = now() + interval '1 day', refusals = 1`);
  const id = await writeRequest(60, 'ended');
  await query(
    `update ledger.address_requests set state = 'unknown', list_read_at = now() + interval '1 day'`,
  );
  expect(await read()).toMatchObject({ nextTryInMs: 0, open: { id, listReadAgeMs: null } });
  await noteListRead(ledger.db, id);
  expect((await read())?.open?.listReadAgeMs).toBeGreaterThanOrEqual(0);
  // The longest wait that a refusal sets is kept.
  await query(`update ledger.pools set next_try_at = now() + interval '59 minutes'`);
  expect((await read())?.nextTryInMs).toBeGreaterThan(3_000_000);
  await requests.end();
});
