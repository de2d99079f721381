import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { createPageReader } from '../../src/sync/list/list-pages.ts';
import { syncAddresses } from '../../src/sync/pools/sync-addresses.ts';
import { syncTransactions, transactionStream } from '../../src/sync/streams/sync-transactions.ts';
import { forAll } from '../support/for-all.ts';
import { makeClient } from '../support/make-client.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withListedLedger } from '../support/with-listed-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { ledger, query, clear, service, client } = await withListedLedger();
const now = Date.now();
const count = 430;
/** Each test acts as a separate process, without knowledge of bad rows from an earlier test. */
let context = toolsOver({ ledger, client });

const goodRow = (nth: number) =>
  JSON.stringify({
    orderNo: `order-${nth}`,
    amount: '1',
    type: 'deposit',
    state: 'success',
    time: now - nth * 60_000,
  });
const brokenRow = (nth: number) => goodRow(nth).replace('"1"', '');
const hugeRow = (nth: number) => goodRow(nth).replace('"1"', `"${'1'.repeat(9 * 1024 * 1024)}"`);

const put = (bad: (nth: number) => string, places: number[], length = count) =>
  service.lists.set(
    'deposit',
    Array.from({ length }, (_, nth) => (places.includes(nth) ? bad(nth) : goodRow(nth))),
  );
const pass = () => syncTransactions(context, onePass({ effort: 'backfill' }), ['deposit']);
const orders = async () =>
  new Set(
    (await query<{ order_no: string }>('select order_no from ledger.transactions')).map(
      ({ order_no }) => order_no,
    ),
  );
const rejects = () =>
  query<{ payload: string }>('select source, order_no, field, reason, payload from ledger.rejects');
const allBut = (places: number[], length = count) =>
  new Set(
    Array.from({ length }, (_, nth) => nth)
      .filter((nth) => !places.includes(nth))
      .map((nth) => `order-${nth}`),
  );

beforeEach(async () => {
  await clear();
  await query(`insert into ledger.final_states values ('success', true)`);
  service.asked.length = 0;
  service.twist = (page) => page;
  service.lists.clear();
  context = toolsOver({ ledger: { ...ledger }, client });
});

test.each([
  ['that is not JSON', brokenRow, 130],
  ['first of a page', brokenRow, 200],
  ['last of the list', brokenRow, 429],
  ['of 9 MiB', hugeRow, 130],
])('a row %s affects no other row, and is kept as a reject', async (_what, bad, place) => {
  put(bad, [place]);
  expect(await pass()).toMatchObject({ isComplete: false });
  expect(await orders()).toEqual(allBut([place]));
  const [reject, ...others] = await rejects();
  expect(others).toEqual([]);
  expect(reject).toMatchObject({ source: 'transaction-list', order_no: null, field: null });
  expect(reject?.payload).toMatch(new RegExp(`^\\{"orderNo":"order-${place}"`));
  expect(Buffer.byteLength(reject?.payload ?? '')).toBeLessThanOrEqual(64 * 1024);
});

test('bad rows at any place are one reject each, and every other row is stored', async () => {
  const drawn = forAll(
    fc.uniqueArray(fc.nat(149), { minLength: 1, maxLength: 8 }),
    fc.constantFrom(10, 30, 50, 100),
  );
  await drawn(12, async (places, pageSize) => {
    await clear();
    context = toolsOver({ ledger: { ...ledger }, client }, { pageSize });
    put(brokenRow, places, 150);
    await pass();
    expect(await orders()).toEqual(allBut(places, 150));
    expect(await rejects()).toHaveLength(places.length);
  });
}, 120_000);

test('a list row with an amount closes the reject of an unreadable one', async () => {
  const openRejects = () => query('select field from ledger.rejects where resolved_at is null');
  put((nth) => goodRow(nth).replace('"1"', '"one"'), [0], 20);
  await pass();
  expect(await openRejects()).toEqual([{ field: 'amount' }]);
  put(goodRow, [], 20);
  await pass();
  expect(await openRejects()).toEqual([]);
});

test('one bad row costs a search for it, not a request per row; then an unchanged list costs two requests per pass', async () => {
  put(brokenRow, [70]);
  await pass();
  const divided = service.asked.filter((path) => !path.endsWith('pageSize=100'));
  expect(divided.length).toBeLessThanOrEqual(25);
  await pass();
  const before = await rejects();
  service.asked.length = 0;
  await pass();
  expect(service.asked.length).toBeLessThanOrEqual(2);
  expect(await rejects()).toEqual(before);
});

test('a bad row that moves because of new rows stays one reject, and the new rows are stored', async () => {
  put(brokenRow, [70]);
  await pass();
  for (const arrived of ['new-1', 'new-2']) {
    const rows = service.lists.get('deposit') ?? [];
    rows.unshift(
      goodRow(-1)
        .replace('order--1', arrived)
        .replace(`${now}`, `${now + 1_000}`),
    );
    service.asked.length = 0;
    await pass();
    expect((await orders()).has(arrived)).toBe(true);
    expect(service.asked.length).toBeLessThanOrEqual(30);
  }
  expect(await rejects()).toHaveLength(1);
});

test('a row is stored once it can be read again', async () => {
  put(brokenRow, [70]);
  await pass();
  put(goodRow, []);
  await pass();
  await query(`update ledger.streams set checkpoint = null`);
  expect(await pass()).toMatchObject({ isComplete: true });
  expect(await orders()).toEqual(allBut([]));
});

test('a row whose answer has nothing that can be kept is one reject all the same', async () => {
  put(goodRow, []);
  service.twist = (page) => {
    const hasRow = page.rows.some((each) => each.includes('"order-70"'));
    return hasRow ? { ...page, body: `<html>error ${Math.random()}</html>` } : page;
  };
  await pass();
  await query('update ledger.streams set checkpoint = null');
  await pass();
  expect(await orders()).toEqual(allBut([70]));
  expect(await rejects()).toHaveLength(1);
});

test('pages of a service with its own page size are not divided: the failure concerns the whole service', async () => {
  put(brokenRow, [130]);
  service.twist = (page, { pageNo, pageSize }) => {
    const all = service.lists.get('deposit') ?? [];
    if (pageSize >= 50) return page;
    return { ...page, pageSize: 50, rows: all.slice((pageNo - 1) * 50, pageNo * 50) };
  };
  await expect(pass()).rejects.toMatchObject({ code: 'service-malformed' });
  expect(service.asked.length).toBeLessThan(60);
});

test.each([30, 50])('a page cut down to %i rows is divided in its own grid', async (size) => {
  put(brokenRow, [3, 75]);
  service.twist = (page, { pageNo, pageSize }) => {
    const served = Math.min(pageSize, size);
    const all = service.lists.get('deposit') ?? [];
    return { ...page, pageSize: served, rows: all.slice((pageNo - 1) * served, pageNo * served) };
  };
  await pass();
  expect(await orders()).toEqual(allBut([3, 75]));
});

test('a fault of the whole service does not cause a flood of smaller requests', async () => {
  put(goodRow, []);
  service.twist = (page) => ({ ...page, rows: ['<html>please log in</html>'] });
  await expect(pass()).rejects.toMatchObject({ code: 'service-malformed' });
  expect(service.asked.length).toBeLessThanOrEqual(10);
  service.asked.length = 0;
  service.twist = (page, { pageNo }) => (pageNo === 1 ? page : { ...page, rows: ['<html>'] });
  await expect(pass()).rejects.toMatchObject({ code: 'service-malformed' });
  expect(service.asked.length).toBeLessThanOrEqual(60);
});

test('a short list without any readable row is given up after a few rows', async () => {
  put(goodRow, [], 99);
  service.twist = (page) => ({ ...page, rows: page.rows.map((row) => row.replace('"1"', '')) });
  await expect(pass()).rejects.toMatchObject({ code: 'service-malformed' });
  expect(service.asked.length).toBeLessThanOrEqual(60);
  expect(await rejects()).toEqual([]);
});

test('many bad rows at the start of a page hide none of the good rows after them', async () => {
  const bad = [...Array(30).keys()];
  put(brokenRow, bad, 100);
  await pass();
  expect(await orders()).toEqual(allBut(bad, 100));
  expect(await rejects()).toHaveLength(30);
});

test('a row counts as bad only after several answers, including one to a request for that row alone', async () => {
  put(goodRow, []);
  let failures = 0;
  service.twist = (page, { pageSize }) => {
    if (!page.rows.some((each) => each.includes('"order-70"'))) return page;
    if (pageSize === 1) failures += 1;
    return pageSize > 1 || failures <= 3 ? { ...page, rows: ['{"cut'] } : page;
  };
  expect(await pass()).toMatchObject({ isComplete: true });
  expect(await orders()).toEqual(allBut([]));
  expect(await rejects()).toEqual([]);
});

test('rows behind a bad row with the same fault are read once the fault has passed', async () => {
  put(goodRow, []);
  const failed = new Set<string>();
  service.twist = (page, { pageSize }) => {
    const [row = ''] = page.rows;
    const { orderNo } = JSON.parse(row || '{}') as { orderNo?: string };
    const isBad = page.rows.some((each) => each.includes('"order-70"'));
    const isFault = pageSize === 1 && /^order-7[0-4]$/.test(orderNo ?? '') && !failed.has(row);
    if (isFault) failed.add(row);
    return isBad || isFault ? { ...page, rows: ['{"cut'] } : page;
  };
  await pass();
  expect(await orders()).toEqual(allBut([70]));
  expect(await rejects()).toHaveLength(1);
});

test('a page read in parts has the age of its oldest part and the lowest total of all parts', async () => {
  put(brokenRow, [70]);
  const { client: another } = await makeClient(service.baseUrl);
  service.twist = (page, { pageNo, pageSize }) =>
    pageSize === 25 && pageNo === 4 ? { ...page, totalSize: count - 1 } : page;
  const stream = transactionStream(toolsOver({ ledger, client: another }), 'deposit');
  const { signal } = new AbortController();
  const pages = createPageReader(stream, { requestedPageSize: 100, concurrency: 1, signal });
  // Three attempts at the page, then its first half.
  expect(await pages.read(1, 1, true)).toMatchObject({
    ...{ observation: 4, total: count - 1, size: 100, listed: 100, unstorable: 1 },
    content: { records: { length: 99 }, rejects: { length: 1 } },
  });
});

test('temporary faults lose no row, however a page is divided because of them', async () => {
  put(goodRow, []);
  await forAll(fc.infiniteStream(fc.nat(99)))(8, async (dice) => {
    await clear();
    context = toolsOver({ ledger: { ...ledger }, client });
    service.twist = (page) => (dice.next().value < 30 ? { ...page, rows: ['{"cut'] } : page);
    await pass();
    expect(await orders()).toEqual(allBut([]));
    expect(await rejects()).toEqual([]);
  });
}, 120_000);

test('an address that cannot be read is a reject of its list', async () => {
  service.lists.set('addresses', ['{"address":"0xa"}', '{"address":}', '{"address":"0xc"}']);
  context = toolsOver({ ledger: { ...ledger }, client }, { chains: [60] });
  await syncAddresses(context, onePass());
  expect(await query('select address from ledger.addresses order by 1')).toEqual([
    { address: '0xa' },
    { address: '0xc' },
  ]);
  expect(await rejects()).toMatchObject([{ source: 'address-list', payload: '{"address":}' }]);
});
