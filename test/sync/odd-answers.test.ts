import { beforeEach, expect, test } from 'vitest';
import { auditHistory } from '../../src/sync/checks/audit-history.ts';
import { verifyLedger } from '../../src/sync/checks/verify-ledger.ts';
import { syncAllDetails, syncDetails } from '../../src/sync/details/sync-details.ts';
import { syncTransactions } from '../../src/sync/streams/sync-transactions.ts';
import type { PageAnswer } from '../support/listing-service.ts';
import { makeClient } from '../support/make-client.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withListedLedger } from '../support/with-listed-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { ledger, query, clear, service, client, context } = await withListedLedger();
const { signal } = new AbortController();
const now = Date.now();
const count = 430;

function row(nth: number, fields: Record<string, unknown> = {}) {
  const time = now - nth * 60_000;
  return {
    orderNo: `order-${nth}`,
    amount: '1',
    type: 'deposit',
    state: 'success',
    time,
    ...fields,
  };
}

const put = (rows: object[]) =>
  service.lists.set(
    'deposit',
    rows.map((each) => JSON.stringify(each)),
  );
const pass = () => syncTransactions(context, onePass({ effort: 'backfill' }), ['deposit']);
const daemonPass = () => syncTransactions(context, onePass({ effort: 'daemon' }), ['deposit']);
const refusedPage = { status: 200, body: '{"code":40002,"data":null,"msg":"page out of range"}' };
const orders = async () =>
  (await query<{ order_no: string }>('select order_no from ledger.transactions')).map(
    ({ order_no }) => order_no,
  );

beforeEach(async () => {
  await clear();
  await query(`insert into ledger.final_states values ('success', true)`);
  service.asked.length = 0;
  service.twist = (page) => page;
  service.details.clear();
  put(Array.from({ length: count }, (_, nth) => row(nth)));
});

/** Rows of a page of another size than the requested one. */
function inSize(pageNo: number, size: number): Pick<PageAnswer, 'rows'> {
  const all = service.lists.get('deposit') ?? [];
  return { rows: all.slice((pageNo - 1) * size, pageNo * size) };
}

test.each([10, 50])(
  '[P7] the reader plans with a page size cut down to %i rows, whether the answer claims the cut size or the requested one',
  async (size) => {
    for (const said of [size, 100]) {
      await clear();
      service.twist = (page, { pageNo }) => ({ ...page, pageSize: said, ...inSize(pageNo, size) });
      expect(await pass()).toMatchObject({ isComplete: true, rowsInserted: count });
    }
  },
);

test.each(['null', '[]', '{}'])(
  'a list that is known to be empty costs one request per pass if its answer is %s, and its first rows are found',
  async (data) => {
    put([]);
    service.twist = (page) =>
      page.rows.length > 0 ? page : { ...page, body: `{"code":0,"data":${data},"msg":"success"}` };
    // A new client has not accepted such an answer yet.
    const passOfNew = async () => {
      service.asked.length = 0;
      const { client: own } = await makeClient(service.baseUrl);
      const report = await syncTransactions(
        toolsOver({ ledger, client: own }),
        onePass({ effort: 'command' }),
        ['deposit'],
      );
      return { isComplete: report.isComplete, requests: service.asked.length };
    };
    await passOfNew();
    for (let passes = 0; passes < 2; passes += 1)
      expect(await passOfNew()).toEqual({ isComplete: true, requests: 1 });
    put([row(1)]);
    expect(await passOfNew()).toMatchObject({ isComplete: true });
    expect(await orders()).toEqual(['order-1']);
    put([]);
    await expect(passOfNew()).rejects.toThrow('an answer without the list deposit');
    expect(service.asked.length).toBeGreaterThan(1);
  },
);

const requestsMax = 150;

/** Page 2 never shows its last row, and the total counts it. Aborts a pass that does not end. */
function withShortPage(delayMs: number): AbortSignal {
  const stop = new AbortController();
  service.twist = async (page, { pageNo }) => {
    if (service.asked.length > requestsMax) stop.abort();
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    return pageNo === 2 ? { ...page, rows: page.rows.slice(0, -1) } : page;
  };
  return stop.signal;
}
const sliced = (sliceMs: number, looksMs: number[], stop: AbortSignal) =>
  syncTransactions(
    toolsOver({ ledger, client }, { looksMs }),
    onePass({ effort: 'backfill', sliceMs, signal: stop }),
    ['deposit'],
  );

test.each([
  ['shorter than the waits before a second look', 600, [400, 400], 0],
  ['shorter than a scan', 60, [0], 30],
])(
  '[P7] a page that stays short ends a backfill whose slices are %s without a proof',
  async (_what, sliceMs, looksMs, delayMs) => {
    const stop = withShortPage(delayMs);
    expect(await sliced(sliceMs, looksMs, stop)).toMatchObject({
      isComplete: false,
      rowsInserted: count - 1,
    });
    // Also after a pass that ended like this.
    service.asked.length = 0;
    expect(await sliced(sliceMs, looksMs, stop)).toMatchObject({ isComplete: false });
    expect(await query(`select is_complete from ledger.streams where name = 'deposit'`)).toEqual([
      { is_complete: false },
    ]);
  },
  60_000,
);

test('new rows of a list that no scan can read cleanly are news, not part of the history', async () => {
  await query(`insert into ledger.wallets (wallet, base_url, key_fingerprint, first_seen_at)
    values ('main', 'http://127.0.0.1', 'x', now()) on conflict (wallet) do update set first_seen_at = now()`);
  withShortPage(0);
  await pass();
  const listed = Array.from({ length: count }, (_, nth) => row(nth));
  put([row(-1, { orderNo: 'new', time: Date.now() + 1_000 }), ...listed]);
  await pass();
  expect(await orders()).toContain('new');
  expect(await query('select order_no from ledger.transactions where not is_backfilled')).toEqual([
    { order_no: 'new' },
  ]);
  expect(
    await query(`select kind from engine.outbox where key = 'new' union all
                 select kind from ledger.events where key = 'new' order by 1`),
  ).toEqual([{ kind: 'transaction.final' }, { kind: 'transaction.seen' }]);
});

test('[P8] a page size that shrinks in the middle of a walk loses no row', async () => {
  service.twist = (page, { pageNo }) =>
    service.asked.length < 4 ? page : { ...page, pageSize: 30, ...inSize(pageNo, 30) };
  expect(await pass()).toMatchObject({ isComplete: true, rowsInserted: count });
});

test.each([
  ['too small', 100, false],
  ['too big', 431, false],
  ['much too big', 1_000_000, false],
  ['zero', 0, false],
  ['negative', -5, false],
  ['text', String(count), true],
  ['nonsense', 'many', false],
  ['null', null, false],
  ['a fraction', 1.5, false],
])(
  '[P9] a total that is %s neither ends a full scan early nor prolongs it, and causes no false proof',
  async (_what, totalSize, isComplete) => {
    service.twist = (page) => ({ ...page, totalSize });
    expect(await pass()).toMatchObject({ isComplete, rowsInserted: count });
    expect(service.asked.length).toBeLessThan(60);
    service.asked.length = 0;
    await pass();
    expect(await orders()).toHaveLength(count);
    expect(service.asked.length).toBeLessThan(60);
  },
);

test('[P10] a service that always sends the same page is reported, and the reading ends', async () => {
  service.twist = (page, { pageNo }) => ({ ...page, pageNo, ...inSize(1, 100) });
  await expect(pass()).rejects.toMatchObject({ code: 'service-parameters' });
  expect(service.asked.length).toBeLessThan(60);
});

test('[P13] a page that belongs to another request is requested again, and its rows are not stored as the requested ones', async () => {
  const crossed = new Set<number>();
  service.twist = (page, { pageNo }) => {
    if (pageNo < 3 || crossed.has(pageNo)) return page;
    crossed.add(pageNo);
    return { ...page, pageNo: pageNo - 1, ...inSize(pageNo - 1, 100) };
  };
  expect(await pass()).toMatchObject({ isComplete: true, rowsInserted: count });
  const times = (pageNo: number) =>
    service.asked.filter((path) => path.includes(`pageNo=${pageNo}&`)).length;
  expect([1, 2, 3, 4, 5].map(times)).toEqual([2, 1, 2, 2, 2]);
});

test('[P13] a detail that belongs to another order is not stored for the requested order', async () => {
  put([row(1), row(2)]);
  await pass();
  service.details.set('order-1', JSON.stringify(row(2, { fee: '2', confirmNum: 2 })));
  service.details.set('order-2', JSON.stringify(row(2, { fee: '2', confirmNum: 2 })));
  expect((await syncDetails(context, signal)).isComplete).toBe(false);
  const read = () => query('select order_no, fee from ledger.transactions order by 1');
  expect(await read()).toEqual([
    { order_no: 'order-1', fee: null },
    { order_no: 'order-2', fee: '2' },
  ]);
});

test('[P14] a list page that was requested before a detail and arrives after it does not overwrite the detail', async () => {
  put([row(1, { state: 'pending' })]);
  await pass();
  service.details.set('order-1', JSON.stringify(row(1, { state: 'success', fee: '0.1' })));
  await query(`update engine.detail_checks set due_at = now() + interval '1 hour'`);
  put([row(0), row(1, { state: 'confirming' })]);
  let isHeld = false;
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  service.twist = async (page) => {
    isHeld = true;
    await held;
    return page;
  };
  const late = pass();
  await expect.poll(() => isHeld).toBe(true);
  await query('update engine.detail_checks set due_at = now()');
  expect(await syncAllDetails(context, signal)).toMatchObject({ rowsSeen: 1, isComplete: true });
  letGo();
  await late;
  expect(
    await query(`select state, fee from ledger.transactions where order_no = 'order-1'`),
  ).toEqual([{ state: 'success', fee: '0.1' }]);
});

test('[P6] a change of an open row that does not move is found through its detail, without reading the list', async () => {
  put([row(1, { state: 'pending' }), row(2)]);
  for (const nth of [1, 2]) service.details.set(`order-${nth}`, JSON.stringify(row(nth)));
  service.details.set('order-1', JSON.stringify(row(1, { state: 'pending' })));
  await pass();
  await syncAllDetails(context, signal);
  expect(
    await query('select order_no, due_at > now() as is_due from ledger.waiting_details'),
  ).toEqual([{ order_no: 'order-1', is_due: true }]);
  service.details.set('order-1', JSON.stringify(row(1, { fee: '0.1' })));
  await query('update engine.detail_checks set due_at = now() where due_at > now()');
  service.asked.length = 0;
  await syncAllDetails(context, signal);
  expect(service.asked).toEqual(['/api/v1/transaction/info?orderNo=order-1']);
  expect(
    await query(`select state, fee, is_final from ledger.transactions where order_no = 'order-1'`),
  ).toEqual([{ state: 'success', fee: '0.1', is_final: true }]);
});

test('a pass does not wait for details that the service does not provide yet, but for those that another worker has claimed', async () => {
  put([row(1), row(2), row(3)]);
  service.details.set('order-1', JSON.stringify(row(1)));
  service.details.set('order-2', 'null');
  service.details.set('order-3', JSON.stringify(row(3)));
  await pass();
  const startedAt = performance.now();
  expect(await syncAllDetails(context, signal)).toMatchObject({ rowsSeen: 2, isComplete: false });
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  service.details.set('order-2', JSON.stringify(row(2)));
  await query(`update engine.detail_checks set due_at = now(),
               claim = gen_random_uuid(), claimed_until = now() + interval '2 seconds'`);
  expect(await syncAllDetails(context, signal)).toMatchObject({ rowsSeen: 1, isComplete: true });
});

test('[P16] reading the list again keeps the values of details and causes no further detail request', async () => {
  put([row(1), row(2)]);
  for (const nth of [1, 2])
    service.details.set(
      `order-${nth}`,
      JSON.stringify(row(nth, { fee: '0.10', feeSymbol: 'ETH', confirmNum: '7' })),
    );
  await pass();
  await syncAllDetails(context, signal);
  await query('update ledger.streams set checkpoint = null');
  service.asked.length = 0;
  expect(await pass()).toMatchObject({ rowsUpdated: 0 });
  await syncAllDetails(context, signal);
  expect(service.asked.filter((path) => path.includes('/info'))).toEqual([]);
  expect(
    await query('select distinct fee, fee_symbol, confirm_num from ledger.transactions'),
  ).toEqual([{ fee: '0.10', fee_symbol: 'ETH', confirm_num: 7 }]);
});

test('[P18] if an orderNo appears again with other content, the row has the new content and the log the old one', async () => {
  put([row(1, { amount: '1', toAddress: '0xA' })]);
  await pass();
  await query('update ledger.streams set checkpoint = null');
  put([row(1, { amount: '900', toAddress: '0xB', type: 'withdraw' })]);
  await pass();
  expect(await query('select amount, to_address, type from ledger.transactions')).toEqual([
    { amount: '900', to_address: '0xB', type: 'withdraw' },
  ]);
  expect(
    await query('select field, old_value, new_value from ledger.transaction_changes order by 1'),
  ).toEqual([
    { field: 'amount', old_value: '1', new_value: '900' },
    { field: 'to_address', old_value: '0xA', new_value: '0xB' },
    { field: 'type', old_value: 'deposit', new_value: 'withdraw' },
  ]);
});

test('[P17] a row that the service removes stays and is marked as unlisted, and the mark is removed when the row returns', async () => {
  const all = Array.from({ length: 60 }, (_, nth) => row(nth));
  put(all);
  expect((await pass()).isComplete).toBe(true);
  put(all.filter((_, nth) => nth !== 30));
  for (let passes = 0; passes < 4; passes += 1) await pass();
  const unlisted = () => query('select order_no from ledger.transactions where not is_listed');
  expect(await unlisted()).toEqual([{ order_no: 'order-30' }]);
  put(all);
  expect(await pass()).toMatchObject({ isComplete: true });
  expect(await unlisted()).toEqual([]);
  expect(await orders()).toHaveLength(60);
});

/** The page object with null for its list. */
const nullList = { rows: ['null],"list":null,"x":[null'] };

test.each([
  ['newest-first', null],
  ['newest-first', undefined],
  ['oldest-first', null],
  ['oldest-first', undefined],
] as const)(
  '[V13] without a total, null in place of the list behind the last page is the end of the list (%s, total %s)',
  async (order, totalSize) => {
    // The last page is full, so only the page behind it shows the end.
    const rows = Array.from({ length: 400 }, (_, nth) => row(nth));
    const inOrder = order === 'oldest-first' ? rows.reverse() : rows;
    put(inOrder);
    service.twist = (page) => ({ ...page, totalSize, ...(page.rows.length === 0 && nullList) });
    expect(await pass()).toMatchObject({ isComplete: false, rowsInserted: 400 });
    const late = row(-1);
    put(order === 'oldest-first' ? [...inOrder, late] : [late, ...inOrder]);
    expect(await pass()).toMatchObject({ rowsInserted: 1 });
    expect(await orders()).toHaveLength(401);
  },
);

test.each([
  ['code 40002', refusedPage],
  ['HTTP 404', { status: 404, body: 'not found' }],
] as const)(
  '[P12] without a total, %s behind a full last page is the end of the list if a smaller page shows it',
  async (_, refusal) => {
    put(Array.from({ length: 400 }, (_, nth) => row(nth)));
    service.twist = (page, { pageNo }) => ({
      ...page,
      totalSize: null,
      ...(page.rows.length === 0 && pageNo > 1 && refusal),
    });
    expect(await pass()).toMatchObject({ rowsInserted: 400 });
    expect(await query('select is_backed from ledger.streams')).toEqual([{ is_backed: true }]);
    const [read] = await verifyLedger(context, { signal, isRepair: false });
    expect(read).toMatchObject({ compared: 400, missing: [], isEndRefused: false });
    put(Array.from({ length: 401 }, (_, nth) => row(nth - 1)));
    expect(await pass()).toMatchObject({ rowsInserted: 1 });
    // Pages that are refused for a while are not the end: their rows stay listed.
    service.twist = (page, { pageNo }) => ({
      ...page,
      totalSize: null,
      ...(pageNo > 2 && refusal),
    });
    for (let passes = 0; passes < 3; passes += 1)
      expect(await pass()).toMatchObject({ isComplete: false });
    expect(await query('select 1 from ledger.transactions where not is_listed')).toEqual([]);
    const [compared] = await verifyLedger(context, { signal, isRepair: false });
    expect(compared).toMatchObject({ compared: 200, missing: [], extra: [], isEndRefused: true });
    expect(compared?.unmet).toHaveLength(201);
  },
);

test.each([
  [null, 100],
  [null, 0],
  [0, 100],
  [150, 100],
  [399, 100],
])(
  '[P12] with a total of %s, a refused page behind 400 rows proves nothing if all pages except those of %i rows are refused',
  async (totalSize, size) => {
    put(Array.from({ length: 400 }, (_, nth) => row(nth)));
    // A service that cuts its pages at fixed places looks exactly the same.
    service.twist = (page, { pageNo, pageSize }) => {
      const isOther = size > 0 && pageSize !== size;
      const isRefused = page.rows.length === 0 || isOther || pageNo > 4;
      return { ...page, totalSize, ...(isRefused && refusedPage) };
    };
    expect(await pass()).toMatchObject({ isComplete: false, rowsInserted: 400 });
    expect(await query('select is_backed from ledger.streams')).toEqual([{ is_backed: false }]);
  },
);

test('[P12] without a total, a single row that fills the only page fails no pass although the page behind it is refused', async () => {
  service.twist = (page, { pageNo }) => ({
    ...page,
    totalSize: null,
    ...(page.rows.length === 0 && pageNo > 1 && refusedPage),
  });
  put(Array.from({ length: 99 }, (_, nth) => row(nth)));
  await daemonPass();
  put(Array.from({ length: 100 }, (_, nth) => row(nth - 1)));
  for (let passes = 0; passes < 3; passes += 1) await daemonPass();
  expect(await orders()).toHaveLength(100);
});

test.each([
  ['the same first page', 0],
  ['a first page with news', 3],
])(
  'without a total, a pass that failed behind its first page causes no gap in the next one, which sees %s',
  async (_, news) => {
    service.twist = (page) => ({ ...page, totalSize: null });
    for (let passes = 0; passes < 2; passes += 1) await daemonPass();
    put(Array.from({ length: count + 300 }, (_, nth) => row(nth - 300)));
    service.twist = (page, { pageNo }) =>
      pageNo > 2 ? { ...page, body: '{}', status: 403 } : { ...page, totalSize: null };
    await expect(daemonPass()).rejects.toMatchObject({ code: 'service-authentication' });
    expect(await orders()).toHaveLength(count + 200);
    service.twist = (page) => ({ ...page, totalSize: null });
    put(Array.from({ length: count + 300 + news }, (_, nth) => row(nth - 300 - news)));
    await daemonPass();
    expect(await orders()).toHaveLength(count + 300 + news);
    service.asked.length = 0;
    await daemonPass();
    expect(service.asked).toHaveLength(1);
  },
);

test('[V13] without a total, null in place of the first page is an error, not an empty list', async () => {
  service.twist = (page) => ({ ...page, totalSize: null, ...nullList });
  await expect(pass()).rejects.toMatchObject({
    code: 'service-malformed',
    message: expect.stringContaining('a page without a list'),
  });
  expect(await query('select 1 from ledger.streams where is_complete')).toEqual([]);
});

test('[V13] without a total, null in place of a page in the middle is requested again', async () => {
  let nulls = 2;
  service.twist = (page, { pageNo }) => {
    const isNull = pageNo === 3 && nulls > 0;
    if (isNull) nulls -= 1;
    return { ...page, totalSize: null, ...(isNull && nullList) };
  };
  expect(await pass()).toMatchObject({ rowsInserted: count });
});

test.each([null, count])(
  '[P8] a page that cannot be read does not undo the rows of earlier pages (total %s)',
  async (totalSize) => {
    const isBroken = { value: true };
    service.twist = (page, { pageNo, pageSize }) => {
      const isUnreadable = isBroken.value && pageNo * pageSize > 200;
      return { ...page, totalSize, ...(isUnreadable && { body: '{"code":0,"data":"no' }) };
    };
    await expect(pass()).rejects.toMatchObject({ code: 'service-malformed' });
    expect(await orders()).toHaveLength(200);
    service.asked.length = 0;
    isBroken.value = false;
    expect(await pass()).toMatchObject({ rowsInserted: count - 200 });
    // The scan continues behind the pages that it has read.
    expect(service.asked.filter((path) => path.includes('pageNo=2&'))).toEqual([]);
  },
);

test.each([
  ['null', '{"code":0,"data":null,"msg":"ok"}'],
  ['{}', '{"code":0,"data":{},"msg":"ok"}'],
  ['[]', '{"code":0,"data":[],"msg":"ok"}'],
  ['no data', '{"code":0,"msg":"ok"}'],
])(
  '[V13] an answer without a list (%s) is an empty list only while the ledger has no rows of that list',
  async (_form, body) => {
    service.twist = (page) => ({ ...page, body });
    expect(await pass()).toMatchObject({ isComplete: true, rowsInserted: 0 });
    service.twist = (page) => page;
    expect(await pass()).toMatchObject({ isComplete: true, rowsInserted: count });
    service.twist = (page) => ({ ...page, body });
    for (let passes = 0; passes < 3; passes += 1) {
      await expect(pass()).rejects.toMatchObject({
        code: 'service-malformed',
        message: `an answer without the list deposit, of which the ledger has ${count} rows`,
      });
    }
    for (const isRepair of [false, true])
      await expect(verifyLedger(context, { signal, isRepair })).rejects.toMatchObject({
        code: 'service-malformed',
        cure: expect.not.stringContaining('verify --repair'),
      });
    expect(await query('select from ledger.transactions where is_listed')).toHaveLength(count);
    service.twist = (page) => page;
    expect(await pass()).toMatchObject({ isComplete: true, rowsUpdated: 0 });
  },
);

test('late rows are found together with new rows, for any number of both', async () => {
  const rows = Array.from({ length: 1_600 }, (_, nth) => row(nth * 50));
  const listed = () => rows.toSorted((one, other) => other.time - one.time);
  put(listed());
  expect((await pass()).isComplete).toBe(true);
  let passes = 0;
  const settings = { ...context.settings, looksMs: [1] };
  const daemon = { ...context, settings, clock: () => Date.now() + passes * 15_000 };
  const since = new Map<string, number>();
  let longest = 0;
  for (; passes < 120; passes += 1) {
    rows.push(row(-1 - 2 * passes), row(-2 - 2 * passes));
    if (passes % 3 === 0) {
      const late = row(25 + 397 * passes);
      since.set(late.orderNo, passes);
      rows.push(late);
    }
    put(listed());
    await syncTransactions(daemon, onePass({ effort: 'daemon' }), ['deposit']);
    const known = new Set(await orders());
    for (const [orderNo, began] of since) {
      if (!known.has(orderNo)) continue;
      longest = Math.max(longest, passes - began);
      since.delete(orderNo);
    }
  }
  const waiting = [...since.values()].map((began) => passes - began);
  // Ten minutes; a row that arrives alone is found in two.
  expect(Math.max(longest, ...waiting)).toBeLessThan(40);
}, 60_000);

const beEmptyFor11Minutes = () =>
  query(`update ledger.streams set empty_since = empty_since - interval '11 minutes'`);

test('a list that is suddenly empty is treated as a fault: rows are marked only after it has been empty for a while', async () => {
  expect((await pass()).isComplete).toBe(true);
  const listed = () => query('select from ledger.transactions where is_listed');
  put([]);
  for (let passes = 0; passes < 3; passes += 1)
    await expect(pass()).rejects.toMatchObject({
      code: 'service-malformed',
      message: `the list deposit is suddenly empty, of which the ledger has ${count} rows`,
    });
  expect(await listed()).toHaveLength(count);
  await beEmptyFor11Minutes();
  for (let passes = 0; passes < 3; passes += 1) await pass();
  expect(await listed()).toEqual([]);
});

test('a list is treated as a fault if it is empty after a long pause, or after it had rows in between', async () => {
  expect((await pass()).isComplete).toBe(true);
  await query(`update ledger.streams set last_success_at = now() - interval '1 day'`);
  const all = service.lists.get('deposit') ?? [];
  put([]);
  await expect(pass()).rejects.toMatchObject({ code: 'service-malformed' });
  await beEmptyFor11Minutes();
  service.lists.set('deposit', all);
  expect((await pass()).isComplete).toBe(true);
  put([]);
  await expect(pass()).rejects.toMatchObject({ code: 'service-malformed' });
  expect(await query('select from ledger.transactions where is_listed')).toHaveLength(count);
});

test('a list without totals that stays empty no longer fails a pass after it has been empty for a while', async () => {
  service.twist = (page) => ({ ...page, totalSize: null });
  await pass();
  put([]);
  await expect(pass()).rejects.toMatchObject({ code: 'service-malformed' });
  await beEmptyFor11Minutes();
  for (let passes = 0; passes < 4; passes += 1)
    expect(await pass()).toMatchObject({ isComplete: false, rowsInserted: 0 });
});

test('a list that was empty once is treated as a fault when it is empty again a day later, also oldest-first', async () => {
  const rows = service.lists.get('deposit')?.toReversed() ?? [];
  service.lists.set('deposit', rows);
  await pass();
  service.lists.set('deposit', []);
  await expect(daemonPass()).rejects.toMatchObject({ code: 'service-malformed' });
  service.lists.set('deposit', rows);
  await daemonPass();
  await query(`update ledger.streams set empty_since = empty_since - interval '1 day'`);
  service.lists.set('deposit', []);
  await expect(pass()).rejects.toMatchObject({ code: 'service-malformed' });
  expect(await query('select 1 from ledger.transactions where not is_listed')).toEqual([]);
});

test('a list whose total is always 0 is treated as a fault when it is suddenly empty', async () => {
  service.twist = (page) => ({ ...page, totalSize: 0 });
  for (let passes = 0; passes < 2; passes += 1)
    expect(await pass()).toMatchObject({ isComplete: false });
  put([]);
  for (let passes = 0; passes < 2; passes += 1)
    await expect(pass()).rejects.toMatchObject({ code: 'service-malformed' });
});

test('a list that has been empty for a while is no fault in the next pass of a daemon', async () => {
  expect((await pass()).isComplete).toBe(true);
  put([]);
  await expect(daemonPass()).rejects.toMatchObject({ code: 'service-malformed' });
  await beEmptyFor11Minutes();
  await auditHistory(context, signal).catch(() => undefined);
  // A daemon judges the difference only after several passes.
  for (let passes = 0; passes < 3; passes += 1) expect((await daemonPass()).isComplete).toBe(false);
});

test('[V13] a page without a list is a failure, not an empty page, and no row is marked as unlisted because of it', async () => {
  expect((await pass()).isComplete).toBe(true);
  for (const rows of [['null],"list":null,"x":[null'], ['],"list":{},"x":[']]) {
    service.twist = (page) => ({ ...page, rows });
    await expect(pass()).rejects.toMatchObject({ code: 'service-malformed' });
  }
  expect(await query('select count(*)::int as n from ledger.transactions where is_listed')).toEqual(
    [{ n: count }],
  );
});

test.each([75, 70])(
  'a verification of %i rows whose totals count only the rows of their page costs a few requests per page',
  async (rows) => {
    const sized = toolsOver({ ledger, client }, { pageSize: 20 });
    put(Array.from({ length: rows }, (_, nth) => row(nth)));
    service.twist = (page) => ({ ...page, totalSize: page.rows.length });
    await syncTransactions(sized, onePass({ effort: 'backfill' }), ['deposit']);
    expect(await orders()).toHaveLength(rows);
    service.asked.length = 0;
    const [compared] = await verifyLedger(sized, { signal, isRepair: false });
    expect(compared).toMatchObject({ compared: rows, missing: [], different: [], extra: [] });
    expect(service.asked.length).toBeLessThanOrEqual(50);
  },
);
