import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import { createPageReader } from '../../src/sync/list/list-pages.ts';
import { probeSize, rememberedSize } from '../../src/sync/list/probe-size.ts';
import { syncTransactions, transactionStream } from '../../src/sync/streams/sync-transactions.ts';
import { forAllSync } from '../support/for-all.ts';
import type { PageAnswer } from '../support/listing-service.ts';
import { toolsOver } from '../support/tools-over.ts';
import { withListedLedger } from '../support/with-listed-ledger.ts';
import { onePass } from '../support/with-wallet.ts';

const { query, clear, service, context } = await withListedLedger();
const { signal } = new AbortController();
const now = Date.now();
const count = 430;

const pass = () => syncTransactions(context, onePass({ effort: 'backfill' }), ['deposit']);
const askedSizes = () =>
  service.asked.map((path) => Number(new URLSearchParams(path.split('?')[1]).get('pageSize')));
const keptSize = async () =>
  (
    await query<{ size: number }>(
      `select (checkpoint ->> 'requestedPageSize')::int as size from ledger.streams`,
    )
  ).map(({ size }) => size);

const refused = (page: PageAnswer, status: number): PageAnswer => ({
  ...page,
  status,
  body: status === 200 ? '{"code":7,"msg":"busy"}' : '<html>not found</html>',
});

beforeEach(async () => {
  await clear();
  await query(`insert into ledger.final_states values ('success', true)`);
  service.asked.length = 0;
  service.twist = (page) => page;
  const rows = Array.from({ length: count }, (_, nth) => ({
    ...{ orderNo: `order-${nth}`, amount: '1', type: 'deposit', state: 'success' },
    time: now - nth * 60_000,
  }));
  service.lists.set(
    'deposit',
    rows.map((each) => JSON.stringify(each)),
  );
});

test.each([1, 3])(
  'a single 404 of a gateway at request %i costs two requests and does not change the page size',
  async (nth) => {
    await pass();
    const calm = service.asked.length;
    await clear();
    service.asked.length = 0;
    service.twist = (page) => (service.asked.length === nth ? refused(page, 404) : page);
    expect(await pass()).toMatchObject({ isComplete: true, rowsInserted: count });
    expect(service.asked.length).toBeLessThanOrEqual(calm + 2);
    expect(await keptSize()).toEqual([100]);
  },
);

test.each([4, 8, 10])(
  'a service that is busy for %i requests keeps its page size',
  async (busy) => {
    service.twist = (page) => (service.asked.length <= busy ? refused(page, 200) : page);
    expect(await pass()).toMatchObject({ isComplete: true, rowsInserted: count });
    expect(await keptSize()).toEqual([100]);
  },
);

test.each([
  [200, 30, 25],
  [400, 50, 50],
  [404, 10, 10],
])(
  'a page size that the service refuses with HTTP %i is lowered until one of at most %i is granted, and kept',
  async (...given) => {
    const [status, limit, kept] = given;
    service.twist = (page, { pageSize }) => (pageSize > limit ? refused(page, status) : page);
    expect(await pass()).toMatchObject({ isComplete: true, rowsInserted: count });
    expect(await keptSize()).toEqual([kept]);
    service.asked.length = 0;
    await pass();
    expect(askedSizes()).toEqual([kept]);
  },
);

test('a smaller configured size is requested from the next pass on, and a larger one again after it', async () => {
  await pass();
  for (const pageSize of [30, 100]) {
    service.asked.length = 0;
    await syncTransactions(toolsOver(context, { pageSize }), onePass(), ['deposit']);
    expect(askedSizes()).toEqual([pageSize]);
    expect(await keptSize()).toEqual([pageSize]);
  }
});

test('a service that refuses every page size is reported after few requests, and the page size is kept', async () => {
  service.twist = (page) => refused(page, 400);
  await expect(pass()).rejects.toMatchObject({ code: 'service-refused' });
  expect(askedSizes()).toEqual([100, 50, 25, 12, 10]);
  service.twist = (page) => page;
  expect(await pass()).toMatchObject({ isComplete: true });
  expect(await keptSize()).toEqual([100]);
});

test('a page that is refused because of one of its rows is divided if its size was granted before', async () => {
  service.twist = (page) =>
    page.rows.some((row) => row.includes('"order-130"')) ? refused(page, 200) : page;
  await pass();
  expect(await query('select count(*)::int as n from ledger.transactions')).toEqual([
    { n: count - 1 },
  ]);
  expect(await query('select source, reason, payload from ledger.rejects')).toEqual([
    {
      source: 'transaction-list',
      reason: 'the service refuses a page with this row alone',
      payload: '{"rowBefore":"order-131"}',
    },
  ]);
  expect(await keptSize()).toEqual([100]);
});

test.each([
  ['granted again', 1_000, 100, [100, 100]],
  ['still refused', 30, 25, [100, 25, 25]],
])('a larger page size is probed once, and %s', async (_what, limit, kept, sizes) => {
  service.twist = (page, { pageSize }) => (pageSize > limit ? refused(page, 400) : page);
  const stream = transactionStream(context, 'deposit');
  const pages = createPageReader(stream, {
    requestedPageSize: 25,
    probeSize: 100,
    concurrency: 1,
    signal,
  });
  expect(pages.requestedPageSize()).toBe(25);
  await pages.read(1, 1, true);
  await pages.read(2, 2, true);
  expect(pages.requestedPageSize()).toBe(kept);
  expect(askedSizes()).toEqual(sizes);
});

const hourMs = 3_600_000;

test('a lowered page size is probed once a day, and the configured one never', () => {
  const sizes = fc.constantFrom(10, 25, 50, 100);
  const drawn = forAllSync(fc.array(sizes, { minLength: 1 }), fc.nat(30), sizes);
  drawn(100, (granted, hours, configured) => {
    let remembered: Parameters<typeof probeSize>[0] = {
      requestedPageSize: 100,
      sizeReducedAt: null,
    };
    let probedAt = Number.NEGATIVE_INFINITY;
    let at = 0;
    for (const limit of granted) {
      at += hours * hourMs;
      const probe = probeSize(remembered, configured, at);
      if (probe !== undefined) {
        expect(probe).toBe(configured);
        expect(at - probedAt).toBeGreaterThanOrEqual(24 * hourMs);
        probedAt = at;
      }
      const asked = probe ?? remembered.requestedPageSize;
      const used = Math.min(limit, asked);
      remembered = rememberedSize(
        remembered,
        { used, isProbed: probe !== undefined },
        configured,
        at,
      );
      if (remembered.sizeReducedAt === null) expect(used).toBeGreaterThanOrEqual(configured);
      else if (remembered.sizeReducedAt === at) probedAt = at;
    }
  });
});

const silent = (served: number, hasTotal: boolean) => {
  service.twist = (page, { list, pageNo, pageSize }) => {
    const size = Math.min(served, pageSize);
    const all = service.lists.get(list) ?? [];
    return {
      ...page,
      pageSize: undefined,
      totalSize: hasTotal ? all.length : undefined,
      rows: all.slice((pageNo - 1) * size, pageNo * size),
    };
  };
};
const learnedOfList = async () =>
  await query('select list_order, page_size, ledger_count::int from ledger.streams');

test.each([
  ['newest-first', 100, true],
  ['newest-first', 50, true],
  ['newest-first', 100, false],
  ['newest-first', 50, false],
  ['oldest-first', 100, true],
  ['oldest-first', 50, true],
  ['oldest-first', 100, false],
  ['oldest-first', 50, false],
] as const)(
  'missing page sizes in answers do not make a list unordered: %s, %i rows a page, total %s',
  async (...given) => {
    const [order, served, hasTotal] = given;
    const rows = service.lists.get('deposit') ?? [];
    if (order === 'oldest-first') rows.reverse();
    silent(served, hasTotal);
    await pass();
    // Without a total an empty page shows the end, and one more read ends the pass.
    const pages = Math.ceil(count / served);
    expect(service.asked.length).toBeLessThanOrEqual(pages + (hasTotal ? 1 : 3));
    expect(await learnedOfList()).toEqual([
      { list_order: order, page_size: served, ledger_count: count },
    ]);
    service.asked.length = 0;
    const { isComplete } = await pass();
    expect(service.asked).toHaveLength(1);
    expect(isComplete).toBe(hasTotal);
    const added = JSON.stringify({ ...JSON.parse(rows[0] ?? ''), orderNo: 'new', time: now + 1 });
    if (order === 'oldest-first') rows.push(added);
    else rows.unshift(added);
    await pass();
    expect(await learnedOfList()).toEqual([
      { list_order: order, page_size: served, ledger_count: count + 1 },
    ]);
  },
);

test('a list without totals and page sizes can grow beyond its first page, for any page size of the service', async () => {
  const rows = (service.lists.get('deposit') ?? []).toReversed();
  for (const length of [30, 60, 65, 130]) {
    service.lists.set('deposit', rows.slice(0, length));
    silent(50, false);
    await pass();
    expect(await learnedOfList()).toMatchObject([{ ledger_count: length }]);
  }
  expect(await learnedOfList()).toMatchObject([{ list_order: 'oldest-first', page_size: 50 }]);
});

test.each([
  ['an empty page', 0],
  ['the last page again', 7],
] as const)(
  'a list with one page of unstated size is proven with few requests if the answer behind its end is %s',
  async (_, behind) => {
    service.lists.set('deposit', (service.lists.get('deposit') ?? []).slice(0, 7));
    service.twist = (page, { list, pageNo }) => {
      const rows = (service.lists.get(list) ?? []).slice(0, pageNo === 1 ? 7 : behind);
      return { ...page, rows, pageSize: undefined };
    };
    expect(await pass()).toMatchObject({ isComplete: true, rowsInserted: 7 });
    expect(service.asked.length).toBeLessThanOrEqual(5);
    const former = service.asked.length;
    expect(await pass()).toMatchObject({ isComplete: true });
    expect(service.asked.length - former).toBe(1);
  },
);

test('a total that counts only the rows of its page does not prove a first page of unstated size', async () => {
  service.twist = (page, { list, pageNo }) => {
    const rows = (service.lists.get(list) ?? []).slice((pageNo - 1) * 50, pageNo * 50);
    return { ...page, rows, pageSize: undefined, totalSize: rows.length };
  };
  expect(await pass()).toMatchObject({ isComplete: false, rowsInserted: count });
});

test.each([
  ['newest-first', 50],
  ['newest-first', 100],
  ['oldest-first', 50],
  ['oldest-first', 100],
] as const)(
  'a total that counts only the rows of its page hides none of the first rows of an empty list: %s, pages of 50 claimed as %i',
  async (order, said) => {
    const rows = (service.lists.get('deposit') ?? []).slice(0, 130);
    service.lists.set('deposit', []);
    service.twist = (page, { list, pageNo }) => {
      const shown = (service.lists.get(list) ?? []).slice((pageNo - 1) * 50, pageNo * 50);
      return { ...page, rows: shown, pageSize: said, totalSize: shown.length };
    };
    expect(await pass()).toMatchObject({ isComplete: true });
    service.lists.set('deposit', order === 'newest-first' ? rows : rows.toReversed());
    for (const rowsInserted of [130, 0, 0, 0])
      expect(await pass()).toMatchObject({ isComplete: false, rowsInserted });
    expect(await learnedOfList()).toMatchObject([{ ledger_count: 130 }]);
  },
);

test('a total that counts only the rows of its page does not prove a first page that is shorter than it claims', async () => {
  service.twist = (page, { list, pageNo }) => {
    const rows = (service.lists.get(list) ?? []).slice((pageNo - 1) * 50, pageNo * 50);
    return { ...page, rows, pageSize: 100, totalSize: rows.length };
  };
  expect(await pass()).toMatchObject({ isComplete: false, rowsInserted: count });
});

test.each([[[130, 190, 191, 300]], [[30, 60, 100, 130, 131]], [[430, 431]]])(
  'new rows of an oldest-first list without totals are found although its pages are smaller than they claim: %j',
  async (lengths) => {
    const rows = (service.lists.get('deposit') ?? []).toReversed();
    const added = Array.from({ length: 5 }, (_, nth) =>
      JSON.stringify({ ...JSON.parse(rows[0] ?? ''), orderNo: `new-${nth}`, time: now + nth }),
    );
    const all = [...rows, ...added];
    service.twist = (page, { list, pageNo }) => {
      const shown = (service.lists.get(list) ?? []).slice((pageNo - 1) * 50, pageNo * 50);
      return { ...page, rows: shown, pageSize: 100, totalSize: null };
    };
    for (const length of lengths) {
      service.lists.set('deposit', all.slice(0, length));
      await pass();
      expect(await learnedOfList()).toMatchObject([{ ledger_count: length }]);
    }
    const former = service.asked.length;
    for (const _ of [1, 2]) await pass();
    expect(service.asked.length - former).toBeLessThanOrEqual(4);
  },
);

test('the first row of an empty list costs one more request than a later row', async () => {
  const rows = (service.lists.get('deposit') ?? []).slice(-3);
  service.lists.set('deposit', []);
  await pass();
  for (const [length, asked] of [
    [1, 2],
    [2, 1],
    [3, 1],
  ] as const) {
    service.lists.set('deposit', rows.slice(rows.length - length));
    const former = service.asked.length;
    expect(await pass()).toMatchObject({ isComplete: true });
    expect([length, service.asked.length - former]).toEqual([length, asked]);
  }
});

test('a page behind the end without a stated size does not change the size of the other pages', async () => {
  service.lists.set('deposit', (service.lists.get('deposit') ?? []).slice(0, 400));
  service.twist = (page, { list, pageNo }) => {
    const rows = (service.lists.get(list) ?? []).slice((pageNo - 1) * 50, pageNo * 50);
    const behind = { body: '{"code":0,"data":null,"msg":""}' };
    const isBehind = rows.length === 0 && pageNo > 1;
    return { ...page, rows, pageSize: 50, totalSize: null, ...(isBehind && behind) };
  };
  await pass();
  expect(await query('select is_backed from ledger.streams')).toEqual([{ is_backed: true }]);
  expect(service.asked.length).toBeLessThan(20);
});
