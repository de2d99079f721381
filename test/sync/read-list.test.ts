import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ListOrder } from '../../src/kernel/vocabulary.ts';
import { type Effort, efforts } from '../../src/sync/list/doubt.ts';
import { unlistVanished } from '../../src/sync/list/find-vanished.ts';
import type { ListPort } from '../../src/sync/list/list-port.ts';
import { createListSession } from '../../src/sync/list/list-session.ts';
import { isProven, withCheckpoint } from '../../src/sync/list/list-state.ts';
import { type ListVerdict, readList } from '../../src/sync/list/read-list.ts';
import { scanList } from '../../src/sync/list/scan-list.ts';
import { forAll } from '../support/for-all.ts';
import { type Happening, Killed, ListModel, type ShownPage } from './list-model.ts';
import { noLies } from './service-lies.ts';

const orders = fc.constantFrom<ListOrder[]>('newest-first', 'oldest-first', 'unordered');
const ordered = fc.constantFrom<ListOrder[]>('newest-first', 'oldest-first');
const int = (min: number, max: number) => fc.integer({ min, max });
const anywhere = fc.double({ min: 0, max: 1, noNaN: true });
const place = fc.double({ min: 0, max: 0.999, noNaN: true });
const nothing: Happening = { kind: 'nothing' };
const insertions: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(nothing) },
  { weight: 2, arbitrary: int(1, 12).map((count) => ({ kind: 'arrive' as const, count })) },
  { weight: 2, arbitrary: anywhere.map((at) => ({ kind: 'late' as const, at })) },
);
const removal = place.map((at): Happening => ({ kind: 'remove', at }));
const trouble: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 6, arbitrary: insertions },
  { weight: 1, arbitrary: fc.constant<Happening>({ kind: 'kill' }) },
  { weight: 1, arbitrary: int(2, 15).map((size) => ({ kind: 'resize' as const, size })) },
  { weight: 1, arbitrary: int(0, 7).map((rows) => ({ kind: 'lag' as const, rows })) },
);
const network = fc.array(place, { maxLength: 60 });

/** A list of these rows, which arrive 10 ms apart; equal steps share a time. */
function listOf(order: ListOrder | 'shuffled', size: number, rows: number, timeStep = 0) {
  const model = new ListModel(order, size);
  if (timeStep > 0) model.timeStep = (timeStep * model.stepMs) / 10;
  model.arrive(rows);
  return model;
}

/** A port that changes its pages before they arrive. */
function changing(model: ListModel, change: (facts: ShownPage) => ShownPage): ListPort<ShownPage> {
  const port = model.port();
  return { ...port, read: async (page) => change(await port.read(page, page, true)) };
}

/** Runs passes 15 s apart until one ends without a kill; at most one more than the kills of the script. */
async function passes(
  model: ListModel,
  ahead: number[],
  count = 30,
  effort: Effort = efforts.backfill,
): Promise<ListVerdict> {
  for (let pass = 0; pass < count; pass += 1) {
    try {
      return await readList(model.port(ahead), model.beginPass(), effort);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
  }
  throw new Error('no pass ended');
}

/** Rows that the latest answer showed and the ledger lacks. */
function missingOf(model: ListModel): string[] {
  return model.known().filter((key) => !model.ledger.has(key));
}

/** Passes without further changes, until the counts are proven equal. */
async function calm(model: ListModel): Promise<number> {
  model.script([]);
  model.lag = 0;
  for (let pass = 1; pass <= 12; pass += 1) {
    if ((await passes(model, [])).isComplete) return pass;
  }
  return Number.POSITIVE_INFINITY;
}

describe('reading a moving list', () => {
  test('[P1 P4] a row that is listed during a whole pass is in the ledger afterwards, wherever other rows were inserted', async () => {
    const drawn = forAll(
      orders,
      int(2, 15),
      int(0, 150),
      fc.array(insertions, { maxLength: 40 }),
      network,
    );
    await drawn(2_000, async (order, size, count, script, ahead) => {
      const model = new ListModel(order, size);
      const throughout = model.arrive(count);
      model.script(script);
      const verdict = await passes(model, ahead);
      expect(throughout.filter((key) => !model.ledger.has(key))).toEqual([]);
      if (verdict.isComplete) expect(missingOf(model)).toEqual([]);
    });
  });

  test('a full scan meets every row that was listed throughout, in whatever order prefetched pages are answered', async () => {
    const drawn = forAll(
      orders,
      int(2, 8),
      int(20, 150),
      fc.array(insertions, { minLength: 10, maxLength: 60 }),
      network,
    );
    await drawn(500, async (order, size, count, script, ahead) => {
      const model = new ListModel(order, size);
      const throughout = model.arrive(count);
      model.script(script);
      const session = createListSession(model.port(ahead), model.stored);
      await scanList(session, { isSequential: false, hadMismatch: false });
      expect(throughout.filter((key) => !model.ledger.has(key))).toEqual([]);
    });
  });

  test('[P8] after kills, page size changes and lagging totals at any step the list ends complete and proven', async () => {
    const drawn = forAll(
      orders,
      int(2, 15),
      int(0, 150),
      fc.array(trouble, { maxLength: 60 }),
      network,
      fc.constantFrom('empty' as const, 'last-page' as const),
    );
    await drawn(2_000, async (order, size, count, script, ahead, beyondEnd) => {
      const model = listOf(order, size, count);
      model.beyondEnd = beyondEnd;
      model.script(script);
      await passes(model, ahead, 100);
      await passes(model, ahead, 100);
      expect(await calm(model)).toBeLessThanOrEqual(4);
      expect(new Set(model.ledger.keys())).toEqual(new Set(model.rows.map((row) => row.key)));
    });
  });

  test('a prefetched page that was answered before the page in front of it proves nothing', async () => {
    const model = listOf('newest-first', 3, 1);
    await passes(model, []);
    const throughout = model.arrive(7);
    const port = model.port();
    let requests = 100;
    const asked = (page: number) => {
      requests += 1;
      return model.answer(page, requests);
    };
    let early: ShownPage | undefined;
    const crossing: ListPort<ShownPage> = {
      ...port,
      async read(page, upTo, isFresh = false) {
        if (page === 2 && upTo >= 3 && !early) {
          early = { ...model.answer(3, 200), isFresh: false };
          model.arrive(9);
        }
        return page === 3 && early && !isFresh ? early : asked(page);
      },
    };
    const verdict = await readList(crossing, model.beginPass(), efforts.backfill);
    expect(early).toMatchObject({ total: 8 });
    if (verdict.isComplete) {
      expect(throughout.filter((key) => !model.ledger.has(key))).toEqual([]);
    }
    expect(verdict).toMatchObject({ isComplete: model.ledger.size === model.rows.length });
  });

  test('a prefetched page that was answered too early is read again and not taken for a fallen total', async () => {
    const model = listOf('newest-first', 10, 1_000);
    await passes(model, []);
    model.arrive(40);
    // Page 3 is answered before three more rows arrive, page 2 after that.
    model.script([nothing, nothing, { kind: 'arrive', count: 3 }]);
    model.requests = 0;
    const verdict = await passes(model, [0, 0.5, 0], 1, efforts.daemon);
    expect(verdict).toMatchObject({ isComplete: true });
    expect(model.ledger.size).toBe(1_043);
    expect(model.requests).toBeLessThanOrEqual(10);
  });

  test('the next pass reads the new rows that a killed pass left, at their place', async () => {
    const model = listOf('newest-first', 10, 1_000);
    await passes(model, []);
    model.arrive(50);
    // The rows of page 1 are stored, those of page 2 are not.
    model.script([nothing, nothing, { kind: 'kill' }]);
    await expect(readList(model.port(), model.beginPass(), efforts.daemon)).rejects.toThrow(Killed);
    expect(model.ledger.size).toBe(1_010);
    model.script([]);
    model.requests = 0;
    const verdict = await readList(model.port(), model.beginPass(), efforts.daemon);
    expect(verdict).toMatchObject({ isComplete: true });
    expect(model.requests).toBeLessThanOrEqual(6);
  });

  test('a checkpoint covers only its own batch, however far the scan is when it is written', async () => {
    const model = listOf('newest-first', 10, 400);
    const port = model.port();
    let writes = 0;
    let isThirdBatchRead = () => {};
    const thirdBatchRead = new Promise<void>((resolve) => {
      isThirdBatchRead = resolve;
    });
    const slow: ListPort<ShownPage> = {
      ...port,
      read(page, upTo, isFresh) {
        // By then the scan waits for the first write: it has reached its limit of unwritten pages.
        if (page === 12) setImmediate(isThirdBatchRead);
        return port.read(page, upTo, isFresh);
      },
      prepare(batch, state) {
        const write = port.prepare(batch, state);
        return async (afterFinding) => {
          writes += 1;
          if (writes === 1) await thirdBatchRead;
          if (writes === 3) throw new Killed();
          return write(afterFinding);
        };
      },
    };
    await expect(readList(slow, model.beginPass(), efforts.backfill)).rejects.toThrow(Killed);
    expect(model.ledger.size).toBe(80);
    expect(model.stored.checkpoint.walk).toMatchObject({ nextPage: 9 });
  });

  test('[P1] rows that arrive while a doubt is examined are read by the next pass, although the doubt may remain', async () => {
    const drawn = forAll(ordered, int(2, 6), int(3, 12), int(1, 15), int(0, 25));
    await drawn(1_000, async (order, size, pages, count, requests) => {
      const model = listOf(order, size, size * pages);
      await passes(model, []);
      // The service counts a row that it does not list.
      model.lag = -1;
      model.script([
        ...Array.from({ length: requests }, () => nothing),
        { kind: 'arrive', count },
        ...Array.from({ length: 40 }, () => nothing),
      ]);
      const everAsked = requests + 1;
      model.requests = 0;
      for (let pass = 0; pass < 40 && model.requests < everAsked; pass += 1)
        await readList(model.port(), model.beginPass(), efforts.daemon);
      await readList(model.port(), model.beginPass(), efforts.daemon);
      expect(model.rows.filter((row) => !model.ledger.has(row.key))).toEqual([]);
    });
  });

  test('[P5] a list whose order changes with every request still becomes complete', async () => {
    const drawn = forAll(int(3, 15), int(0, 100), fc.array(insertions, { maxLength: 20 }));
    await drawn(400, async (size, count, script) => {
      const model = listOf('shuffled', size, count);
      model.script(script);
      await passes(model, []);
      expect(await calm(model)).toBeLessThanOrEqual(12);
    });
  });

  test('[P2] the list is never complete while a row is missing, even if rows are removed', async () => {
    const removing = fc.oneof(
      { weight: 4, arbitrary: insertions },
      { weight: 1, arbitrary: removal },
    );
    const drawn = forAll(orders, int(2, 10), int(0, 80), fc.array(removing, { maxLength: 30 }));
    await drawn(1_000, async (order, size, count, script) => {
      const model = listOf(order, size, count);
      model.script(script);
      await passes(model, []);
      model.script([]);
      await passes(model, []);
      const verdict = await passes(model, []);
      const vanished = [...model.ledger.keys()].filter(
        (key) => !model.rows.some((row) => row.key === key),
      );
      if (verdict.isComplete) {
        const missing = model.rows.filter((row) => !model.ledger.has(row.key));
        expect([missing.map((row) => row.key), vanished]).toEqual([[], []]);
      }
    });
  });

  test('[P2] if rows are removed during a full scan, all remaining rows are read in this pass or the next', async () => {
    const removals: fc.Arbitrary<Happening> = fc.oneof(
      { weight: 3, arbitrary: fc.constant(nothing) },
      { weight: 1, arbitrary: removal },
    );
    await fc.assert(
      fc.asyncProperty(
        orders,
        int(5, 15),
        int(0, 150),
        fc.array(removals, { maxLength: 30 }),
        network,
        async (order, size, count, script, ahead) => {
          const model = listOf(order, size, count);
          model.script(script);
          await passes(model, ahead);
          model.script([]);
          await passes(model, []);
          expect(
            model.rows.filter((row) => !model.ledger.has(row.key)).map((row) => row.key),
          ).toEqual([]);
        },
      ),
      {
        numRuns: 1_000,
        examples: [
          [
            'unordered',
            12,
            49,
            [...Array.from({ length: 4 }, () => nothing), { kind: 'remove', at: 0 }],
            [],
          ],
        ],
      },
    );
  });

  test('[P3] the model shows that a scan from the last page to the first would miss rows that were listed throughout', async () => {
    const walkDown = async (model: ListModel): Promise<void> => {
      const port = model.port();
      const { size, total } = await port.read(1, 1, true);
      for (let page = Math.ceil((total ?? 0) / size); page >= 1; page -= 1) {
        const pages = [await port.read(page, page, true)];
        await port.prepare({ pages, days: null }, model.stored)(() => model.stored);
      }
    };
    const found = await fc.check(
      fc.asyncProperty(fc.array(insertions, { maxLength: 40 }), async (script) => {
        const model = new ListModel('newest-first', 5);
        const throughout = model.arrive(60);
        model.script(script);
        await walkDown(model);
        expect(throughout.filter((key) => !model.ledger.has(key))).toEqual([]);
      }),
      { numRuns: 500 },
    );
    expect(found.failed).toBe(true);
  });

  test('[P3] a full scan requests no page below the previous one', async () => {
    const drawn = forAll(orders, int(2, 15), int(1, 150));
    await drawn(300, async (order, size, count) => {
      const model = listOf(order, size, count);
      const port = model.port();
      const asked: number[] = [];
      const watched = {
        ...port,
        read: (page: number, upTo: number, isFresh?: boolean) => {
          asked.push(page);
          return port.read(page, upTo, isFresh);
        },
      };
      await scanList(createListSession(watched, model.beginPass()), {
        isSequential: false,
        hadMismatch: false,
      });
      expect(asked).toEqual([...asked].sort((a, b) => a - b));
    });
  });

  test('a pass makes one request if nothing has changed', async () => {
    const drawn = forAll(orders, int(2, 15), int(0, 120));
    await drawn(1_000, async (order, size, count) => {
      const model = listOf(order, size, count);
      await passes(model, []);
      const before = model.stored;
      model.requests = 0;
      await passes(model, []);
      expect(model.requests).toBe(1);
      const { passes: _, totalObservation, ...stored } = model.stored;
      expect(before).toMatchObject(stored);
    });
  });

  test('k new rows at the growing end cost at most ⌈k / page size⌉ + 1 requests, whatever the length of the history', async () => {
    const drawn = forAll(ordered, int(2, 15), int(20, 400), int(1, 90), network);
    await drawn(1_000, async (order, size, count, arrivals, ahead) => {
      const model = listOf(order, size, count);
      await passes(model, []);
      model.arrive(arrivals);
      model.requests = 0;
      const verdict = await passes(model, ahead);
      expect(verdict.isComplete).toBe(true);
      expect(model.requests).toBeLessThanOrEqual(Math.ceil(arrivals / size) + 1);
    });
  });

  /** Rows arrive 10 ms apart: with the last step, a page of five holds two or three times. */
  const timeSteps = fc.constantFrom(1, 20, 30);

  test('a late row anywhere on an ordered list costs a search, not a full scan', async () => {
    const drawn = forAll(
      ordered,
      timeSteps,
      int(300, 900),
      fc.double({ min: 0, max: 1, noNaN: true }),
    );
    await drawn(400, async (order, timeStep, count, at) => {
      const model = listOf(order, 5, count, timeStep);
      await passes(model, []);
      model.late(at);
      model.requests = 0;
      const verdict = await passes(model, []);
      expect(verdict.isComplete).toBe(true);
      const looks = efforts.backfill.looksMs.length;
      expect(model.requests).toBeLessThanOrEqual(Math.ceil(Math.log2(count / 5)) + 6 + looks);
    });
  });

  test('late rows are found by one search for all of them, however soon one pass follows another', async () => {
    const drawn = forAll(ordered, int(300, 900), place, int(500, 30_000));
    await drawn(300, async (order, count, at, everyMs) => {
      const model = listOf(order, 5, count);
      await passes(model, []);
      const late = model.late(at);
      model.requests = 0;
      let made = 0;
      for (; made < 200 && !model.ledger.has(late); made += 1) {
        model.world.time += everyMs - 15_000;
        await readList(model.port(), model.beginPass(), efforts.daemon);
      }
      // A poll in each pass, and in the early ones one more after a pause.
      const polls = made + Math.min(made, Math.ceil(efforts.daemon.standMs / everyMs) + 1);
      expect(model.ledger.has(late)).toBe(true);
      expect(model.requests).toBeLessThanOrEqual(polls + Math.ceil(Math.log2(count / 5)) + 4);
    });
  });

  test('a page that reaches beyond its total does not prove the list: a late row may be missing behind equal counts', async () => {
    const model = listOf('oldest-first', 4, 9);
    await passes(model, []);
    model.lag = 1;
    model.arrive(1);
    await readList(model.port(), model.beginPass(), efforts.daemon);
    const late = model.late(0.2);
    const { isComplete } = await readList(model.port(), model.beginPass(), efforts.daemon);
    expect([isComplete, model.ledger.has(late)]).not.toEqual([true, false]);
    model.lag = 0;
    await passes(model, []);
    expect([isProven(model.current()), model.ledger.has(late)]).toEqual([true, true]);
  });

  test('[P17] each row that vanished from an ordered list is found by a search, and no longer counts as listed', async () => {
    const drawn = forAll(
      ordered,
      timeSteps,
      int(20, 900),
      fc.array(place, { minLength: 1, maxLength: 3 }),
    );
    await drawn(400, async (order, timeStep, count, places) => {
      const model = listOf(order, 5, count, timeStep);
      await passes(model, []);
      for (const at of places) model.remove(at);
      model.requests = 0;
      // The first passes only observe, because a total may lag.
      await passes(model, [], 30, efforts.daemon);
      await passes(model, [], 30, efforts.daemon);
      expect(model.requests).toBeLessThanOrEqual(6);
      const verdict = await passes(model, [], 30, efforts.daemon);
      expect(verdict.isComplete).toBe(true);
      expect(new Set(model.ledger.keys())).toEqual(new Set(model.rows.map((row) => row.key)));
      // Two pages between which a row has vanished are read four more times.
      const searchMax = Math.ceil(Math.log2(Math.max(2, count / 5))) + 9 + 8;
      // If several searches would cost more than a scan, a scan is made, and their days are read twice.
      const scanMax = count / 5 + (12 + 8) * places.length;
      expect(model.requests).toBeLessThanOrEqual(9 + Math.max(places.length * searchMax, scanMax));
    });
  });

  test('a command leaves no doubt about a short list, after any number of late and removed rows', async () => {
    // Each round has changes of one kind, because rows of both kinds at once may leave the total unchanged.
    const places = fc.array(place, { minLength: 1, maxLength: 30 });
    const changes = fc.tuple(fc.constantFrom<('late' | 'remove')[]>('late', 'remove'), places);
    const drawn = forAll(ordered, int(40, 400), fc.array(changes, { minLength: 1, maxLength: 4 }));
    await drawn(300, async (order, count, rounds) => {
      const model = listOf(order, 50, count);
      await passes(model, []);
      for (const [kind, places] of rounds) {
        for (const at of places) model[kind](at);
        const verdict = await passes(model, [], 30, efforts.command);
        expect(verdict.isComplete).toBe(true);
        expect(new Set(model.ledger.keys())).toEqual(new Set(model.rows.map((row) => row.key)));
      }
    });
  });

  test('no row that the service lists is ever marked as unlisted, after any changes of the list', async () => {
    const happenings = fc.oneof(
      { weight: 6, arbitrary: trouble },
      { weight: 2, arbitrary: removal },
    );
    const drawn = forAll(
      ordered,
      timeSteps,
      int(5, 12),
      int(20, 150),
      fc.array(happenings, { maxLength: 60 }),
      network,
    );
    await drawn(1_000, async (order, timeStep, size, count, script, ahead) => {
      const model = listOf(order, size, count, timeStep);
      await passes(model, []);
      model.remove(0.5);
      model.script(script);
      for (let pass = 0; pass < 8; pass += 1) await passes(model, ahead, 100);
      expect(model.wronglyUnlisted).toEqual([]);
    });
  });

  test('no row is marked as unlisted because pages moved between two readings', async () => {
    const model = listOf('newest-first', 5, 40);
    await passes(model, []);
    // One row too many in the ledger, on an old page: without it no search would start.
    model.remove(0.1);
    const session = createListSession(model.port(), model.stored);
    const first = await session.read(1, 1, true);
    // The first row of page 2 moves to page 1, which was already read, and the total does not change.
    model.remove(0.95);
    model.late(0.05);
    const second = await session.read(2, 2, true);
    expect(second.total).toBe(first.total);
    expect(await unlistVanished(session, [first, second], 9)).toBe(0);
    expect(model.wronglyUnlisted).toEqual([]);
  });

  test('a write that was prepared before a concurrent head read was known takes over its total, and the fall to it', async () => {
    const model = listOf('newest-first', 2, 5);
    const session = createListSession(model.port(), model.beginPass());
    await session.store([await session.read(1)]);
    const page = await session.read(2);
    const [first, second] = [
      session.prepare({ pages: [page], days: null }),
      session.prepare({ pages: [], days: null }),
    ];
    model.stored = { ...model.stored, listOrder: 'newest-first', pageSize: 2 };
    model.remove(0);
    model.remove(0);
    model.happen({ kind: 'look', count: 1, storedAfter: 0 });
    await first();
    await second();
    expect(model.stored).toMatchObject({ serviceTotal: 4, checkpoint: { fallen: 1 } });
  });

  test('a row that a single scan of a list without an order has not met stays listed', async () => {
    const model = listOf('unordered', 5, 40);
    await passes(model, []);
    model.world.time += 3_600_000;
    model.arrive(1);
    await passes(model, []);
    expect(missingOf(model)).toEqual([]);
    // All answers come from a replica that lacks the newest row, for as long as one scan takes.
    model.lies = { ...noLies, replica: { ms: 1_800_000, share: 1 } };
    const { walks } = model.stored.checkpoint;
    while (model.stored.checkpoint.walks === walks) await passes(model, [], 1, efforts.daemon);
    expect(model.stored.checkpoint.unseen).toHaveLength(1);
    expect(model.ledger.size).toBe(41);
    expect(model.wronglyUnlisted).toEqual([]);
  });

  test('[P9] a total that stays wrong is not trusted, and costs few requests once it is known', async () => {
    const model = listOf('newest-first', 10, 205);
    model.lag = 5;
    const verdict = await passes(model, []);
    expect(verdict).toMatchObject({ isComplete: false, missing: -5 });
    expect(model.ledger.size).toBe(205);
    model.requests = 0;
    await passes(model, []);
    expect(model.requests).toBe(1);
  });

  test('a scan of a list that repeats its last page in another order each time ends', async () => {
    const model = listOf('shuffled', 5, 40);
    model.beyondEnd = 'last-page';
    for (let pass = 1; pass <= 40 && !isProven(model.current()); pass += 1) await passes(model, []);
    expect(isProven(model.current())).toBe(true);
    expect(missingOf(model)).toEqual([]);
  });

  test('a long list without a total is read to its end although its answers claim a larger page size than they serve', async () => {
    const model = listOf('newest-first', 2, 200);
    model.claimedSize = 10;
    model.lies = { ...noLies, total: { kind: 'absent' } };
    await passes(model, [], 1);
    expect(missingOf(model)).toEqual([]);
  });

  test('scans that explained nothing delay the next scan for the configured patience at most', async () => {
    const model = listOf('newest-first', 5, 500);
    await passes(model, []);
    const doubt = { isScanUnclean: true, fruitlessScans: 10 };
    model.stored = withCheckpoint(model.stored, doubt);
    const start = model.time;
    const effort = { ...efforts.daemon, patienceMs: 3_600_000 };
    while (!isProven(model.current()) && model.time - start < 2 * effort.patienceMs)
      await passes(model, [], 1, effort);
    expect(isProven(model.current())).toBe(true);
    expect(model.time - start).toBeGreaterThan(effort.patienceMs - 60_000);
  });

  test('a total that is wrong in another way each time at most doubles the cost of a correct one', async () => {
    const cost = async (lagOf: (pass: number) => number, arrivals: number): Promise<number> => {
      const model = listOf('newest-first', 5, 200);
      for (let pass = 0; pass < 200; pass += 1) {
        model.lag = lagOf(pass);
        model.arrive(arrivals);
        await passes(model, [], 1, efforts.daemon);
        expect(model.rows.filter((row) => !model.ledger.has(row.key))).toEqual([]);
      }
      return model.requests;
    };
    for (const arrivals of [0, 1]) {
      const right = await cost(() => 0, arrivals);
      const wrong: [string, (pass: number) => number][] = [
        ['lags by two rows', () => 2],
        ['runs ahead by two', () => -2],
        ['runs ahead now and then', (pass) => (pass % 3 === 0 ? -1 : 0)],
        ['jumps', (pass) => ((pass * 7) % 5) - 2],
        ['is cached for three passes', (pass) => arrivals * (pass % 3)],
        ['falls back', (pass) => pass % 2],
      ];
      for (const [what, lagOf] of wrong) {
        expect({ what, ratio: (await cost(lagOf, arrivals)) / right <= 2 }).toEqual({
          what,
          ratio: true,
        });
      }
    }
  });

  test('a search is charged its cost also if its answers count fewer rows and it finds none', async () => {
    const model = listOf('newest-first', 5, 500);
    await passes(model, []);
    const spent = () => model.stored.checkpoint.spentRequests;
    const costs: { requests: number; spent: number }[] = [];
    for (let pass = 0; pass < 4; pass += 1) {
      const before = { requests: model.requests, spent: spent() };
      const port = model.port();
      const read: typeof port.read = (page, ...asked) => {
        model.lag = page === 1 ? -3 : -2;
        return port.read(page, ...asked);
      };
      await readList({ ...port, read }, model.beginPass(), efforts.daemon);
      costs.push({ requests: model.requests - before.requests, spent: spent() - before.spent });
    }
    const search = costs.find(({ requests }) => requests > 3);
    // The poll is ordinary reading.
    expect(search).toEqual({ requests: search?.requests, spent: (search?.requests ?? 0) - 1 });
  });

  test('a scan that has gone back as often as allowed and continues is not clean', async () => {
    const scan = async (happenings: Happening[]) => {
      const model = listOf('newest-first', 10, 400);
      model.script(happenings);
      const session = createListSession(model.port(), model.beginPass());
      const { walk } = await scanList(session, { isSequential: true, hadMismatch: false });
      return { isClean: walk.isClean, missing: missingOf(model).length };
    };
    const swings = (times: number) =>
      Array.from(
        { length: times },
        (_, nth): Happening => ({ kind: 'resize', size: nth % 2 === 0 ? 7 : 10 }),
      );
    expect(await scan(swings(8))).toEqual({ isClean: true, missing: 0 });
    const { isClean, missing } = await scan(swings(60));
    expect(missing).toBeGreaterThan(0);
    expect(isClean).toBe(false);
  });

  test('a row that a list shows and counts twice is a permanent difference and causes no search for it', async () => {
    const model = listOf('newest-first', 20, 64);
    model.lies = { ...noLies, shownAgain: 27 };
    const pass = () => readList(model.port(), model.beginPass(), efforts.daemon);
    for (let done = 0; done < 30; done += 1) await pass();
    expect(model.stored).toMatchObject({ acceptedDifference: 1, ledgerCount: 64 });
    const { requests } = model;
    for (let done = 0; done < 20; done += 1) await pass();
    expect(model.requests - requests).toBe(20);
    model.arrive(1);
    expect(await pass()).toMatchObject({ isComplete: false, missing: 1 });
    expect(model.ledger.size).toBe(65);
    // The search is for the row that is counted and new, although another difference is accepted.
    model.lies = noLies;
    model.arrive(1);
    for (let done = 0; done < 10; done += 1) await pass();
    expect(await pass()).toMatchObject({ isComplete: true, missing: 0 });
  });

  test('each scan that explains nothing about doubles the wait before the next one', async () => {
    const model = listOf('newest-first', 5, 100);
    // One row is counted and never shown, and its page is short: no scan is clean.
    const hiding = changing(model, (facts) => {
      const drop = <T>(values: T[]) => (facts.page === 7 ? values.slice(1) : values);
      const keys = drop(facts.keys);
      return { ...facts, keys, times: drop(facts.times), listed: keys.length };
    });
    const scannedAt: number[] = [];
    for (let pass = 1; pass <= 1_500; pass += 1) {
      const { walks } = model.stored.checkpoint;
      await readList(hiding, model.beginPass(), efforts.daemon);
      if (model.stored.checkpoint.walks > walks) scannedAt.push(pass);
    }
    const waits = scannedAt.slice(1).map((pass, index) => pass - (scannedAt[index] ?? 0));
    // The wait includes the cost of the scans themselves, so the first waits do not quite double.
    for (const [index, wait] of waits.slice(1).entries())
      expect(wait).toBeGreaterThan(1.3 * (waits[index] ?? 0));
    expect(waits.at(-1)).toBeGreaterThan(10 * (waits[0] ?? 0));
  });

  test('[P2] rows that vanish while a scan reads its last page do not hide the row that moved up', async () => {
    const model = listOf('newest-first', 2, 5);
    const oldest = model.rows[0]?.key ?? '';
    model.script([nothing, nothing, { kind: 'remove', at: 0.99 }]);
    await readList(model.port(), model.beginPass(), efforts.backfill);
    expect(model.rows.map((row) => row.key)).toContain(oldest);
    expect([...model.ledger.keys()]).toContain(oldest);
  });

  test('a short page in the middle of a list does not end the list', async () => {
    const model = listOf('unordered', 10, 50);
    const hiding = changing(model, (facts) => {
      const [, ...keys] = facts.keys;
      const [, ...times] = facts.times;
      return facts.page === 2 ? { ...facts, keys, times, listed: keys.length } : facts;
    });
    expect(await readList(hiding, model.beginPass(), efforts.backfill)).toMatchObject({
      isComplete: false,
      missing: 1,
    });
  });

  test('an empty page in the middle of a list does not end the list', async () => {
    const model = listOf('newest-first', 10, 400);
    const hiding = changing(model, (facts) => {
      const none = { keys: [], times: [], datedKeys: [], firstTime: null, lastTime: null };
      return facts.page === 5 ? { ...facts, ...none, listed: 0, fingerprint: '' } : facts;
    });
    const verdict = await readList(hiding, model.beginPass(), efforts.backfill);
    expect(verdict).toMatchObject({ isComplete: false, missing: 10 });
    expect(model.ledger.size).toBe(390);
  });

  test('[P10] a service that ignores the page parameter is reported and not read forever', async () => {
    const model = listOf('newest-first', 10, 50);
    const port = model.port();
    const stuck = {
      ...port,
      read: async (page: number) => ({ ...(await port.read(1, 1, true)), page }),
    };
    await expect(readList(stuck, model.beginPass(), efforts.backfill)).rejects.toThrow(
      /page parameter/,
    );
  });
});

describe('a list that shows no times', () => {
  function withoutTimes(model: ListModel): ListPort<ShownPage> {
    const port = model.port([]);
    return {
      ...port,
      ranks: null,
      async read(page, upTo, isFresh) {
        const facts = await port.read(page, upTo, isFresh);
        return { ...facts, times: [], firstTime: null, lastTime: null };
      },
    };
  }

  async function requestsOfPass(model: ListModel): Promise<number> {
    const before = model.requests;
    const verdict = await readList(withoutTimes(model), model.beginPass(), efforts.backfill);
    expect(verdict).toMatchObject({ isComplete: true });
    return model.requests - before;
  }

  test.each(['newest-first', 'oldest-first'] as const)(
    'is read only at the end where it grows: %s',
    async (order) => {
      const model = listOf(order, 10, 300);
      await requestsOfPass(model);
      for (let round = 0; round < 3; round += 1) {
        model.arrive(5);
        expect(await requestsOfPass(model)).toBeLessThanOrEqual(3);
      }
    },
  );

  test('is not treated as growing at its end because its total lagged for a while', async () => {
    const model = listOf('newest-first', 10, 300);
    await requestsOfPass(model);
    model.lag = 3;
    await readList(withoutTimes(model), model.beginPass(), efforts.backfill);
    model.script([{ kind: 'lag', rows: 5 }, nothing, nothing, { kind: 'lag', rows: 0 }]);
    await requestsOfPass(model);
    model.arrive(5);
    expect(await requestsOfPass(model)).toBeLessThanOrEqual(3);
  });

  test('is read at both ends again once it no longer grows at the known one', async () => {
    const model = listOf('oldest-first', 10, 300);
    await requestsOfPass(model);
    model.arrive(5);
    await requestsOfPass(model);
    expect(model.stored.listOrder).toBe('oldest-first');
    model.order = 'newest-first';
    model.arrive(5);
    await requestsOfPass(model);
    model.arrive(5);
    expect(await requestsOfPass(model)).toBeLessThanOrEqual(3);
  });
});
