import { beforeEach, expect, test } from 'vitest';
import { isUnequal } from '../../src/sync/checks/drift.ts';
import { verifyLedger } from '../../src/sync/checks/verify-ledger.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withListedLedger } from '../support/with-listed-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { ledger, query, clear, service, client } = await withListedLedger();
const contextOf = (pageSize: number) => toolsOver({ ledger, client }, { pageSize, looksMs: [0] });
const context = contextOf(100);
const ofShortPages = contextOf(20);
const { signal } = new AbortController();
const now = Date.now();
const pass = (effort: 'backfill' | 'command' | 'daemon' = 'backfill', over = context) =>
  syncTransactions(over, onePass({ effort }), ['deposit']);

type Order = 'newest-first' | 'oldest-first' | 'unordered';

/** Numbers of minutes ago at which these rows are listed. */
function put(order: Order, minutes: number[]): void {
  const sign = order === 'newest-first' ? 1 : -1;
  const placed =
    order === 'unordered'
      ? minutes.toSorted((a, b) => (a % 7) - (b % 7) || a - b)
      : minutes.toSorted((a, b) => sign * (a - b));
  service.lists.set(
    'deposit',
    placed.map((ago) =>
      JSON.stringify({
        ...{ orderNo: `order-${ago}`, amount: '1', type: 'deposit', state: 'success' },
        time: now - ago * 60_000,
      }),
    ),
  );
}

const history = (rows: number) => Array.from({ length: rows }, (_, nth) => nth);
const held = async () =>
  (
    await query<{ n: number }>('select count(*)::int as n from ledger.transactions where is_listed')
  )[0]?.n;

/** Each page behind the end is refused, and the total is off by `error`; null: no total. */
function refuseBehindEnd(error: number | null): void {
  service.twist = (page, { pageNo }) => ({
    ...page,
    totalSize: error === null ? null : Number(page.totalSize) + error,
    ...(page.rows.length === 0 &&
      pageNo > 1 && { body: '{"code":40002,"data":null,"msg":"page out of range"}' }),
  });
}

beforeEach(async () => {
  await clear();
  await query(`insert into ledger.final_states values ('success', true)`);
  service.asked.length = 0;
  service.twist = (page) => page;
});

const orders: Order[] = ['newest-first', 'oldest-first', 'unordered'];
const cases = orders.flatMap((order) =>
  [0, 1, 12, -1, null].flatMap((error) => [80, 90, 7].map((rows) => [error, rows, order] as const)),
);

test.each(cases)(
  '[P12] if pages behind the end are refused, a total off by %s neither stops the reading of %i rows nor hides news: %s',
  async (error, rows, order) => {
    const read = (effort: 'backfill' | 'daemon') => pass(effort, ofShortPages);
    put(order, history(rows));
    refuseBehindEnd(error);
    expect(await read('backfill')).toMatchObject({ isComplete: error === 0, rowsInserted: rows });
    for (let passes = 0; passes < 2; passes += 1) await read('daemon');
    put(order, [...history(rows), -1]);
    await read('daemon');
    await read('daemon');
    expect(await held()).toBe(rows + 1);
    refuseBehindEnd(0);
    expect((await read('backfill')).isComplete).toBe(true);
    service.asked.length = 0;
    expect((await read('daemon')).isComplete).toBe(true);
    expect(service.asked.length).toBe(1);
  },
);

test.each([
  ['code 40002', { body: '{"code":40002,"data":null,"msg":"page out of range"}' }],
  ['the last page under its own number', null],
])(
  'without a total, the end of a list is found behind a full and a short last page if the page behind it is %s',
  async (_, refusal) => {
    for (const rows of [100, 300, 345, 7]) {
      await clear();
      put('newest-first', history(rows));
      const pages = Math.ceil(rows / 100);
      service.twist = (page, { pageNo }) => {
        if (page.rows.length > 0 || pageNo === 1) return { ...page, totalSize: null };
        const last = (service.lists.get('deposit') ?? []).slice((pages - 1) * 100);
        return { ...page, totalSize: null, ...(refusal ?? { pageNo: pages, rows: last }) };
      };
      expect(await pass()).toMatchObject({ rowsInserted: rows });
      expect(await query('select is_backed from ledger.streams')).toEqual([{ is_backed: true }]);
    }
  },
);

const failing = { status: 500, body: 'Internal Server Error' };

test.each(orders.flatMap((order) => [300, 345, 100, 7, 1].map((rows) => [rows, order] as const)))(
  '[P12] without a total, a list of %i rows is read whole, and later rows too, if each page behind its end is HTTP 500: %s',
  async (rows, order) => {
    service.twist = (page, { pageNo }) => ({
      ...page,
      totalSize: null,
      ...(page.rows.length === 0 && pageNo > 1 && failing),
    });
    put(order, history(rows));
    expect(await pass()).toMatchObject({ rowsInserted: rows });
    if (rows > 1)
      expect(await query('select is_backed from ledger.streams')).toEqual([{ is_backed: true }]);
    for (const arrived of [-1, -2]) {
      put(order, [...history(rows), -1, arrived]);
      await pass('daemon');
    }
    expect(await held()).toBe(rows + 2);
    // One page fewer than the ledger knows.
    put(order, history(Math.max(1, rows - 150)));
    await pass('daemon');
    const [compared] = await verifyLedger(context, { signal, isRepair: false });
    expect(compared).toMatchObject({ compared: Math.max(1, rows - 150), missing: [] });
  },
);

test.each([
  ['every page behind the second', () => false],
  ['every page once two were read', (asked: number) => asked > 2],
])(
  '[P12] without a total, HTTP 500 in place of %s is not the end of the list',
  async (_what, isDown) => {
    put('newest-first', history(430));
    let asked = 0;
    service.twist = (page, { pageNo, pageSize }) => {
      asked += 1;
      const isFailing = isDown(asked) || pageNo * pageSize > 200;
      return { ...page, totalSize: null, ...(isFailing && failing) };
    };
    await expect(pass()).rejects.toThrow('HTTP 500');
    expect(await query('select is_backed from ledger.streams')).toEqual([{ is_backed: false }]);
    service.twist = (page) => ({ ...page, totalSize: null });
    await pass();
    expect(await held()).toBe(430);
  },
);

const outOfRange = { status: 200, body: '{"code":40002,"data":null,"msg":"page out of range"}' };

test.each(
  orders.flatMap((order) =>
    [100, 200, 237].flatMap((rows) =>
      [outOfRange, { status: 404, body: '{}' }].map((refusal) => ({ rows, order, refusal })),
    ),
  ),
)(
  '[P12] without a total, if pages are smaller than claimed, the end is proven and an idle pass is cheap: $rows rows, $order, $refusal.status',
  async ({ rows, order, refusal }) => {
    service.twist = (page, { list, pageNo, pageSize }) => {
      const size = Math.min(20, pageSize);
      const shown = (service.lists.get(list) ?? []).slice((pageNo - 1) * size, pageNo * size);
      const isBehind = shown.length === 0 && pageNo > 1;
      return { ...page, totalSize: null, rows: shown, ...(isBehind && refusal) };
    };
    put(order, history(rows));
    expect(await pass()).toMatchObject({ rowsInserted: rows });
    expect(await query('select is_backed from ledger.streams')).toEqual([{ is_backed: true }]);
    await pass('daemon');
    service.asked.length = 0;
    for (let passes = 0; passes < 5; passes += 1) await pass('daemon');
    expect(service.asked.length).toBeLessThanOrEqual(order === 'newest-first' ? 5 : 25);
    put(order, [...history(rows), ...Array.from({ length: 30 }, (_, nth) => -1 - nth)]);
    await pass('daemon');
    await pass('daemon');
    expect(await held()).toBe(rows + 30);
  },
);

test.each(orders)(
  '[P12] without a total, a one-page list whose end cannot be shown is not fully scanned by each command: %s',
  async (order) => {
    service.twist = (page, { list, pageNo }) => {
      const shown = (service.lists.get(list) ?? []).slice((pageNo - 1) * 20, pageNo * 20);
      return { ...page, totalSize: null, rows: shown, ...(shown.length === 0 && outOfRange) };
    };
    put(order, history(240));
    expect(await pass()).toMatchObject({ rowsInserted: 240 });
    for (let passes = 0; passes < 2; passes += 1) await pass('command');
    expect(await query('select is_backed from ledger.streams')).toEqual([{ is_backed: false }]);
    service.asked.length = 0;
    for (let passes = 0; passes < 5; passes += 1) await pass('command');
    expect(service.asked.length).toBeLessThanOrEqual(order === 'newest-first' ? 5 : 25);
    put(order, [...history(240), -1]);
    await pass('daemon');
    expect(await held()).toBe(241);
  },
);

test('without a total, a service that ignores the page number is still reported', async () => {
  put('newest-first', history(300));
  service.twist = (page) => ({
    ...page,
    ...{ totalSize: null, pageNo: 1, rows: (service.lists.get('deposit') ?? []).slice(0, 100) },
  });
  await expect(pass()).rejects.toThrow('the service seems to ignore the page parameter');
});

const compare = async () => {
  const [compared] = await verifyLedger(context, { signal, isRepair: false });
  if (compared === undefined) throw new Error('nothing was compared');
  return { ...compared, isUnequal: isUnequal(compared) };
};

test('rows that the service counts and does not list are a difference until a scan has accepted it', async () => {
  put('newest-first', history(250));
  await pass();
  service.twist = (page) => ({ ...page, totalSize: Number(page.totalSize) + 40 });
  expect(await compare()).toMatchObject({ unshown: 40, unaccepted: 40, isUnequal: true });
  for (let passes = 0; passes < 3; passes += 1) await pass();
  expect(await compare()).toMatchObject({ unshown: 40, unaccepted: 0, isUnequal: false });
});

test('a total that is ahead of a growing list is no difference', async () => {
  put('newest-first', history(250));
  await pass();
  const begin = performance.now();
  const arrived = () => Math.floor((performance.now() - begin) / 1_000);
  // Each row is counted for a second before it is shown.
  service.twist = (page, { list, pageNo }) => {
    put('newest-first', [
      ...history(250),
      ...Array.from({ length: arrived() }, (_, nth) => -1 - nth),
    ]);
    const rows = service.lists.get(list) ?? [];
    return {
      ...page,
      rows: rows.slice((pageNo - 1) * 100, pageNo * 100),
      totalSize: rows.length + 1,
    };
  };
  expect(await compare()).toMatchObject({ unshown: 0 });
});

test.each(orders)(
  'if pages are numbered from 0, a verification reports that page 0 shows rows that are missing: %s',
  async (order) => {
    put(order, history(250));
    service.twist = (page, { list, pageNo }) => ({
      ...page,
      rows: (service.lists.get(list) ?? []).slice(pageNo * 100, (pageNo + 1) * 100),
    });
    for (let passes = 0; passes < 3; passes += 1) await pass();
    expect(await held()).toBe(150);
    expect(await compare()).toMatchObject({ missing: [], onPageZero: 100, isUnequal: true });
  },
);

test.each(orders)(
  'rows that vanish from a list are found although pages behind its end are refused: %s',
  async (order) => {
    put(order, history(401));
    refuseBehindEnd(0);
    expect((await pass()).isComplete).toBe(true);
    put(
      order,
      history(401).filter((ago) => ago !== 200),
    );
    expect((await pass()).isComplete).toBe(true);
    expect(await query('select order_no from ledger.transactions where not is_listed')).toEqual([
      { order_no: 'order-200' },
    ]);
    put(order, [1, 2, 3]);
    expect((await pass()).isComplete).toBe(true);
    expect(await held()).toBe(3);
  },
);

test.each([null, 0, 150])(
  'if pages are smaller than they claim, a refused page is no end that a total of %s could confirm',
  async (totalSize) => {
    const shown = (refusedFrom: number) => {
      service.twist = (page, { list, pageNo }) => ({
        ...page,
        ...{ totalSize, pageSize: 100 },
        rows: (service.lists.get(list) ?? []).slice((pageNo - 1) * 50, pageNo * 50),
        ...(pageNo >= refusedFrom && {
          body: '{"code":40002,"data":null,"msg":"page out of range"}',
        }),
      });
    };
    put('newest-first', history(430));
    shown(1_000);
    await pass();
    expect(await held()).toBe(430);
    shown(5);
    const [compared] = await verifyLedger(context, { signal, isRepair: true });
    expect(compared).toMatchObject({ compared: 200, extra: [], isEndRefused: true });
    expect(await held()).toBe(430);
  },
);

test('an oldest-first list without a total that shrinks and repeats its last page is read further', async () => {
  service.twist = (page, { list, pageNo, pageSize }) => {
    const rows = service.lists.get(list) ?? [];
    const last = Math.max(1, Math.ceil(rows.length / pageSize));
    const shown = Math.min(pageNo, last);
    return {
      ...page,
      ...{
        totalSize: null,
        pageNo: shown,
        rows: rows.slice((shown - 1) * pageSize, shown * pageSize),
      },
    };
  };
  put('oldest-first', history(101));
  await pass();
  put('oldest-first', history(101).slice(2));
  for (let passes = 0; passes < 2; passes += 1) await pass('daemon');
  put('oldest-first', [...history(101).slice(2), -1]);
  await pass('daemon');
  expect(await held()).toBe(102);
});

test.each([0, 15])(
  'new rows of an oldest-first list are found although its last page is full and its total is always %i',
  async (totalSize) => {
    put('oldest-first', history(300));
    service.twist = (page) => ({ ...page, totalSize });
    await pass();
    put('oldest-first', [...history(300), -1]);
    await pass('daemon');
    expect(await held()).toBe(301);
  },
);
