import { beforeEach, expect, test } from 'vitest';
import { syncDetails } from '../../src/sync/details/sync-details.ts';
import { runBackfill } from '../../src/sync/run-backfill.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withListedLedger } from '../support/with-listed-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { ledger, query, clear, service, client } = await withListedLedger();
const { signal } = new AbortController();
const now = Date.now();
/** Each test acts as a separate process, without knowledge of a list from an earlier test. */
let context = toolsOver({ ledger, client });

const isOf = (asked: string, orderNo: string) => asked.endsWith(`orderNo=${orderNo}`);
const isDetail = (asked: string) => asked.includes('/transaction/info');
const askedOf = (orderNo: string) => service.asked.filter((asked) => isOf(asked, orderNo)).length;

function put(count: number): void {
  const rows = Array.from({ length: count }, (_, nth) => ({
    ...{ orderNo: `order-${nth}`, amount: '1', type: 'deposit', state: 'success' },
    time: now - nth * 60_000,
  }));
  service.lists.set(
    'deposit',
    rows.map((row) => JSON.stringify(row)),
  );
  for (const row of rows)
    service.details.set(row.orderNo, JSON.stringify({ ...row, fee: '0.1', confirmNum: 2 }));
}

const pass = () => syncTransactions(context, onePass({ effort: 'daemon' }), ['deposit']);
const details = () => syncDetails(context, signal);
const dueAgain = () =>
  query('update engine.detail_checks set due_at = now(), claimed_until = null');
const refused = () =>
  query<{ order_no: string; refusals: number }>(
    'select order_no, refusals from engine.detail_checks where refusals > 0 order by 1',
  );
const withoutDetail = async () =>
  (
    await query<{ order_no: string }>(
      'select order_no from ledger.transactions where detail_synced_at is null order by 1',
    )
  ).map(({ order_no }) => order_no);
const keys = async () =>
  new Set(
    (await query<{ order_no: string }>('select order_no from ledger.transactions')).map(
      ({ order_no }) => order_no,
    ),
  );
const allBut = (count: number, place: number) =>
  new Set([...Array(count).keys()].filter((nth) => nth !== place).map((nth) => `order-${nth}`));

beforeEach(async () => {
  await clear();
  await query(`insert into ledger.final_states values ('success', true)`);
  service.asked.length = 0;
  service.twist = (page) => page;
  service.fault = () => null;
  context = toolsOver({ ledger: { ...ledger }, client });
});

test.each(['http-500', 'reset'] as const)(
  '[H10 H12] an order whose detail always ends with %s is postponed, and all other rows are fetched',
  async (fault) => {
    put(30);
    await pass();
    service.fault = (asked) => (isOf(asked, 'order-7') ? fault : null);
    expect(await details()).toMatchObject({ isComplete: false });
    expect(await withoutDetail()).toEqual(['order-7']);
    expect(await refused()).toEqual([{ order_no: 'order-7', refusals: 1 }]);
    await dueAgain();
    service.asked.length = 0;
    await details();
    expect(await refused()).toEqual([{ order_no: 'order-7', refusals: 2 }]);
    expect(askedOf('order-7')).toBe(1);
    expect(service.asked.length).toBe(2);
    service.fault = () => null;
    await dueAgain();
    expect(await details()).toMatchObject({ isComplete: true });
  },
);

test.each(['http-500', 'reset'] as const)(
  '[H10 H12] a new ledger is complete except for its newest 100 details, which end with %s, and the command reports this',
  async (fault) => {
    put(130);
    const isRefused = (asked: string) =>
      isDetail(asked) && Number(asked.split('orderNo=order-')[1]) < 100;
    service.fault = (asked) => (isRefused(asked) ? fault : null);
    const backfill = () =>
      runBackfill(context, { types: ['deposit'], withDetails: true, isRestart: false, signal });
    expect(await backfill()).toContain('details');
    expect((await keys()).size).toBe(130);
    expect(await withoutDetail()).toHaveLength(100);
    expect(await refused()).toHaveLength(100);
    service.fault = () => null;
    await dueAgain();
    expect(await backfill()).toEqual([]);
  },
);

test('a failing first row is postponed also if only one request is sent at a time', async () => {
  put(6);
  await pass();
  context = toolsOver({ ledger: { ...ledger }, client }, { concurrency: 1 });
  service.fault = (asked) => (isOf(asked, 'order-0') ? 'http-500' : null);
  await details();
  expect(await withoutDetail()).toEqual(['order-0']);
});

test('each of many failing rows costs one request and few more, while other rows are answered', async () => {
  put(40);
  await pass();
  service.fault = (asked) => (isDetail(asked) && /[02468]$/.test(asked) ? 'http-500' : null);
  await details();
  expect(await refused()).toHaveLength(20);
  await dueAgain();
  service.asked.length = 0;
  await details();
  expect((await refused()).map(({ refusals }) => refusals)).toEqual(Array(20).fill(2));
  expect(service.asked.length).toBeLessThanOrEqual(30);
});

test.each(['http-500', 'reset'] as const)(
  '[H10 H12] if every detail ends with %s, no row is postponed, and few requests are sent',
  async (fault) => {
    put(40);
    await pass();
    service.fault = (asked) => (isOf(asked, 'order-0') ? fault : null);
    await details();
    put(80);
    await pass();
    await dueAgain();
    service.fault = (asked) => (isDetail(asked) ? fault : null);
    service.asked.length = 0;
    await expect(details()).rejects.toMatchObject({ code: 'service-unreachable' });
    expect(await refused()).toEqual([{ order_no: 'order-0', refusals: 1 }]);
    // 16 rows are enough evidence, after 8 attempts each; 8 more may be in flight meanwhile.
    expect(service.asked.length).toBeLessThanOrEqual((16 + 8) * 8);
    service.fault = () => null;
    expect(await details()).toMatchObject({ isComplete: true });
  },
);

test.each([0, 70, 130, 249])(
  '[H10] a list page that ends with HTTP 500 because of its row %i is divided: the other rows are stored, the row is a reject',
  async (place) => {
    put(250);
    service.twist = (page) =>
      page.rows.some((row) => row.includes(`"order-${place}"`))
        ? { ...page, status: 500, body: 'Internal Server Error' }
        : page;
    await pass();
    expect(await keys()).toEqual(allBut(250, place));
    expect(service.asked.length).toBeLessThanOrEqual(60);
    const rejects = () => query('select source, reason, payload from ledger.rejects');
    const neighbour =
      place === 249 ? { rowAfter: 'order-248' } : { rowBefore: `order-${place + 1}` };
    expect(await rejects()).toEqual([
      {
        source: 'transaction-list',
        reason: 'the service fails to answer a page with this row alone',
        payload: JSON.stringify(neighbour),
      },
    ]);
    await pass();
    service.asked.length = 0;
    await pass();
    expect(service.asked.length).toBeLessThanOrEqual(2);
    expect(await rejects()).toHaveLength(1);
  },
);

test.each([
  ['a total', false],
  ['no total', true],
])(
  '[H10] new rows above a row that ends with HTTP 500 cost two more requests each time, or a few, in a list with %s',
  async (_what, hasNoTotal) => {
    put(250);
    const bad = ['"order-70"'];
    const arrived: string[] = [];
    service.twist = (page) => {
      const isBad = page.rows.some((row) => bad.some((one) => row.includes(one)));
      const shown = hasNoTotal ? { ...page, totalSize: null } : page;
      return isBad ? { ...shown, status: 500, body: 'Internal Server Error' } : shown;
    };
    const arrive = (count: number) => {
      for (let nth = 0; nth < count; nth += 1) {
        const orderNo = `new-${arrived.length}`;
        const time = now + (arrived.length + 1) * 1_000;
        const row = { orderNo, amount: '1', type: 'deposit', state: 'success', time };
        service.lists.get('deposit')?.unshift(JSON.stringify(row));
        arrived.push(orderNo);
      }
    };
    for (let passes = 0; passes < 2; passes += 1) await pass();
    for (const count of [1, 1, 3, 2, 1]) {
      await pass();
      const before = service.asked.length;
      await pass();
      const quiet = service.asked.length;
      arrive(count);
      await pass();
      expect(service.asked.length - quiet).toBeLessThanOrEqual(
        quiet - before + (hasNoTotal ? 2 : 1),
      );
    }
    const stored = () => [...allBut(250, 70), ...arrived].sort();
    expect([...(await keys())].sort()).toEqual(stored());
    expect(await query('select * from ledger.rejects')).toHaveLength(1);
    // A bad row among new rows, and new rows that push the first bad row off its page.
    arrive(3);
    bad.push('"new-9"');
    arrive(2);
    await pass();
    arrive(25);
    await pass();
    arrive(120);
    for (let passes = 0; passes < 2; passes += 1) await pass();
    expect([...(await keys())].sort()).toEqual(stored().filter((one) => one !== 'new-9'));
  },
);

test('a page size that ends with HTTP 500 is lowered, and pages are no longer divided because of it', async () => {
  put(430);
  service.twist = (page, { pageSize }) =>
    pageSize > 50 ? { ...page, status: 500, body: 'Internal Server Error' } : page;
  expect(await pass()).toMatchObject({ isComplete: true, rowsInserted: 430 });
  service.asked.length = 0;
  await pass();
  expect(service.asked).toHaveLength(1);
});

test.each([
  ['HTTP 500', 500, 'Internal Server Error', 13],
  ['code 4003', 200, '{"code":4003,"data":null,"msg":"permission denied"}', 30],
])(
  'a list that always answers with %s costs one request per pass after two passes',
  async (_what, status, body, most) => {
    put(250);
    service.twist = (page) => ({ ...page, status, body });
    for (const atMost of [most, most, 1, 1]) {
      service.asked.length = 0;
      await expect(pass()).rejects.toThrow(status === 500 ? 'HTTP 500' : 'code 4003');
      expect(service.asked.length).toBeLessThanOrEqual(atMost);
    }
    service.twist = (page) => page;
    expect(await pass()).toMatchObject({ isComplete: true, rowsInserted: 250 });
  },
);
