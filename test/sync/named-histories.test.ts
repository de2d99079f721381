import { describe, expect, test } from 'vitest';
import type { History, ListSetup, Round } from './draw-history.ts';
import type { Happening } from './list-model.ts';
import { playHistory } from './play-history.ts';
import { newFigures } from './proof-judge.ts';
import { type Lies, noLies } from './service-lies.ts';

type Setup = Partial<Omit<ListSetup, 'lies'>> & { lies?: Partial<Lies> };

/** A list with relevant rows, order and lies; everything unspecified is plain. */
function list({ lies, ...setup }: Setup): ListSetup {
  return {
    order: 'newest-first',
    rows: 0,
    size: 2,
    claimsMore: false,
    isOrderFixed: true,
    hasTimes: true,
    canUnlist: true,
    timeStep: 1,
    stepMs: 60_000,
    undatedEach: 0,
    beyondEnd: 'empty',
    aheadMax: 0,
    batchRows: 1,
    pauseShare: 0,
    ...setup,
    lies: { ...noLies, ...lies },
  };
}

function round(between: Happening[], during: Happening[] = [], more: Partial<Round> = {}): Round {
  return { effort: 'daemon', between, during, ahead: [], ...more };
}

function history(lists: ListSetup[], rounds: Round[], more: Partial<History> = {}): History {
  const plain = { isTogether: false, requestMs: 0, luck: 1, calmEffort: 'daemon' } as const;
  return { lists, rounds, ...plain, ...more };
}

const nothing: Happening = { kind: 'nothing' };
const arrive = (count: number): Happening => ({ kind: 'arrive', count });
const late: Happening = { kind: 'late', at: 0 };
const remove: Happening = { kind: 'remove', at: 0 };
const move: Happening = { kind: 'move', at: 0 };
const share: Happening = { kind: 'share', at: 0 };
const kill: Happening = { kind: 'kill' };
const look = (storedAfter: number): Happening => ({ kind: 'look', count: 1, storedAfter });
const bringBack: Happening = { kind: 'bring-back' };

/** The smallest histories that once broke a guarantee. */
const histories: [name: string, History][] = [
  [
    'shorter pages than before mark no row as unlisted while their size is taken for the page size of the service',
    history(
      [
        list({
          ...{ rows: 2, size: 7, isOrderFixed: false, stepMs: 7_200_000, timeStep: 14_400_000 },
          ...{ aheadMax: 2, batchRows: 40, beyondEnd: 'empty-and-zero' },
          lies: { replica: { ms: 1000, share: 0.9 }, shortShare: 0.2, spoiltShare: 0.2 },
        }),
      ],
      [
        round([remove, arrive(5)], [], { effort: 'backfill' }),
        round([remove], [], { effort: 'backfill' }),
      ],
      { isTogether: true, requestMs: 300, luck: 7625074, calmEffort: 'backfill' },
    ),
  ],
  [
    'totals of two processes count in the order of their answers: an older one that is stored later hides no fall of the total',
    history(
      [
        list({ rows: 37, batchRows: 40, lies: { shortShare: 0.2 } }),
        list({ rows: 4, batchRows: 40, lies: { replica: { ms: 60000, share: 0.9 } } }),
      ],
      [
        round([{ kind: 'resize', size: 4 }], [look(0)], { effort: 'command' }),
        round([], [nothing, look(0), look(2)]),
        round([remove]),
        round([], [look(0), nothing, look(0), nothing, look(0)], { effort: 'backfill' }),
      ],
      { requestMs: 3000, luck: 426653300, calmEffort: 'backfill' },
    ),
  ],
  [
    'a write that was prepared before a concurrent head read was known keeps the fall of the total that the head read shows',
    history(
      [list({ rows: 40, size: 8, batchRows: 40, aheadMax: 1, lies: { spoiltShare: 0.2 } })],
      [
        round([], [nothing, nothing, look(0), look(0), nothing, kill]),
        round([], [nothing, kill]),
        round([arrive(4)], [look(0), nothing, look(0), look(0), nothing, look(0), late]),
      ],
      { requestMs: 3000, luck: 2147483631 },
    ),
  ],
  [
    'a total below the place of a row shows no surplus and marks no row as unlisted, in a list whose coarse times hide that it has no order',
    history(
      [
        list({ order: 'unordered', rows: 37, size: 1, pauseShare: 0.3 }),
        list({
          ...{ order: 'unordered', rows: 33, size: 3, isOrderFixed: false, canUnlist: false },
          ...{ timeStep: 14_400_000, undatedEach: 7, beyondEnd: 'last-page' },
          ...{ aheadMax: 3, batchRows: 40, lies: { total: { kind: 'constant', rows: 30 } } },
        }),
      ],
      [
        round([remove], [nothing, share]),
        round([move, arrive(7)], [nothing, kill]),
        round([], [nothing, late], { effort: 'backfill' }),
      ],
      { requestMs: 300, luck: 418616262, calmEffort: 'backfill' },
    ),
  ],
  [
    'a total below the place of a row shows no surplus to scans with short pages, which mark no listed row as unlisted',
    history(
      [
        list({
          ...{ order: 'oldest-first', rows: 38, size: 4 },
          lies: {
            ...{ total: { kind: 'capped', rows: 3 }, shortShare: 0.2 },
            replica: { ms: 5000, share: 0.5 },
          },
        }),
        list({ rows: 39, size: 8 }),
      ],
      [
        round([], [...Array(5).fill(nothing), arrive(8)]),
        round([]),
        round([share, late], [...Array(4).fill(nothing), remove, ...Array(4).fill(nothing), move], {
          effort: 'command',
        }),
        round([remove]),
        round([bringBack, arrive(1)], [nothing, nothing, remove], { effort: 'backfill' }),
      ],
      { isTogether: true, requestMs: 300, luck: 170324404 },
    ),
  ],
  [
    'pages that are smaller than they claim only seem to reach beyond the total: a scan shows their size, and the list is proven',
    history(
      [
        list({
          ...{ order: 'oldest-first', rows: 25, size: 6, claimsMore: true },
          lies: { total: { kind: 'capped', rows: 6 } },
        }),
      ],
      [round([], [arrive(6)])],
    ),
  ],
  [
    'a row on a page behind the apparent end is marked as unlisted neither by the scan that read the page nor by the next one',
    history(
      [
        list({
          rows: 2,
          size: 8,
          beyondEnd: 'refused',
          batchRows: 40,
          lies: { total: { kind: 'page' }, replica: { ms: 60000, share: 0.5 } },
        }),
      ],
      [round([], [arrive(3), arrive(4), arrive(2)], { effort: 'command' })],
      { requestMs: 300, luck: 1729007078, calmEffort: 'backfill' },
    ),
  ],
  [
    'a row on a page that was read again because it arrived out of order is not marked as unlisted',
    history(
      [
        list({
          rows: 14,
          size: 3,
          beyondEnd: 'empty-and-zero',
          aheadMax: 4,
          batchRows: 10,
          lies: {
            total: { kind: 'sometimes-absent', share: 0 },
            replica: { ms: 60000, share: 0.5 },
            spoiltShare: 0.2,
          },
        }),
        list({
          rows: 5,
          size: 4,
          batchRows: 40,
          lies: { replica: { ms: 20000, share: 0.5 }, spoiltShare: 0.2 },
        }),
      ],
      [
        round([{ kind: 'resize', size: 7 }, nothing, arrive(2)]),
        round([], [arrive(8), nothing, arrive(7)], { effort: 'backfill' }),
      ],
      { isTogether: true, luck: 1669887734, calmEffort: 'backfill' },
    ),
  ],
  [
    'a row out of order at the seam of two pages makes a list unordered, whatever the totals are',
    history(
      [
        list({
          order: 'unordered',
          rows: 39,
          size: 8,
          isOrderFixed: false,
          timeStep: 14400000,
          undatedEach: 7,
          batchRows: 40,
          lies: { total: { kind: 'jitters', rows: 12 } },
        }),
        list({ rows: 1, size: 7, stepMs: 86400000, batchRows: 40 }),
      ],
      [round([move], [nothing, share])],
      { luck: 14, calmEffort: 'backfill' },
    ),
  ],
  [
    'an empty page with a total of 0 from a lagging replica is not the end of a longer list',
    history(
      [
        list({
          rows: 2,
          beyondEnd: 'empty-and-zero',
          lies: { replica: { ms: 60_000, share: 0.5 }, shortShare: 0.2 },
        }),
      ],
      [round([], [arrive(1)])],
      { luck: 5 },
    ),
  ],
  [
    'two scans that end on an empty page of a lagging replica mark no row as unlisted',
    history(
      [
        list({
          order: 'oldest-first',
          rows: 7,
          beyondEnd: 'empty-and-zero',
          lies: { replica: { ms: 60_000, share: 0.5 } },
        }),
      ],
      [round([remove], [], { effort: 'backfill' })],
      { luck: 36, calmEffort: 'backfill' },
    ),
  ],
  [
    'a page without a total that has rows beyond the known total shows that the known total is older',
    history(
      [
        list({
          order: 'oldest-first',
          rows: 3,
          lies: { total: { kind: 'sometimes-absent', share: 0.4000878052889124 } },
        }),
      ],
      [round([]), round([late])],
      { luck: 3, calmEffort: 'command' },
    ),
  ],
  [
    'a day with differing rows is a doubt from the write on that finds it',
    history(
      [list({ rows: 16, size: 8, lies: { replica: { ms: 5_000, share: 0.9 }, spoiltShare: 0.2 } })],
      [
        round([], [remove]),
        round([remove]),
        round([bringBack, late, arrive(1)]),
        round([arrive(2)]),
      ],
      { requestMs: 3_000, luck: 27, calmEffort: 'backfill' },
    ),
  ],
  [
    'a vanished row explains no fall of the total during the scan that found it missing',
    history(
      [
        list({
          order: 'unordered',
          rows: 5,
          size: 3,
          isOrderFixed: false,
          aheadMax: 4,
          batchRows: 10,
        }),
      ],
      [
        round([remove], [nothing, remove, late, nothing, nothing, nothing, remove]),
        round(
          [late, arrive(4), late],
          [nothing, nothing, late, nothing, nothing, remove, arrive(1)],
          { effort: 'backfill', ahead: [0, 0, 0, 0, 0, 0] },
        ),
      ],
      { requestMs: 300, luck: 1_797_062_427, calmEffort: 'command' },
    ),
  ],
  [
    'a chain of consistent scans begins again with the first total',
    history(
      [
        list({
          order: 'oldest-first',
          rows: 38,
          size: 9,
          stepMs: 7_200_000,
          beyondEnd: 'last-page',
          batchRows: 10,
          lies: { total: { kind: 'capped', rows: 21 }, replica: { ms: 200, share: 0.5 } },
        }),
        list({
          order: 'unordered',
          rows: 40,
          size: 9,
          claimsMore: true,
          timeStep: 14_400_000,
          stepMs: 7_200_000,
          aheadMax: 3,
          pauseShare: 0.3,
          lies: { total: { kind: 'absent' }, spoiltShare: 0.2 },
        }),
      ],
      [round([]), round([late, arrive(7)]), round([nothing, arrive(3), move])],
      { requestMs: 300, luck: 29 },
    ),
  ],
  [
    'if the total falls by less than the rows that moved, the scan goes back until it meets rows that it has met before',
    history(
      [
        list({
          rows: 39,
          size: 5,
          isOrderFixed: false,
          timeStep: 14_400_000,
          stepMs: 86_400_000,
          aheadMax: 4,
          batchRows: 10,
          lies: { replica: { ms: 20_000, share: 0.5 }, shortShare: 0.2 },
        }),
        list({
          order: 'unordered',
          rows: 20,
          size: 6,
          claimsMore: true,
          isOrderFixed: false,
          stepMs: 86_400_000,
          undatedEach: 3,
          beyondEnd: 'empty-and-zero',
          batchRows: 10,
          lies: { total: { kind: 'cached', ms: 200 } },
        }),
      ],
      [
        round([], [remove, arrive(1), arrive(6)], { effort: 'backfill' }),
        round([], [], { effort: 'command' }),
      ],
      { luck: 15 },
    ),
  ],
  [
    'a row of another list on the last pages of a scan does not compensate for a vanished row',
    history(
      [
        list({
          order: 'oldest-first',
          rows: 1,
          size: 7,
          stepMs: 86_400_000,
          undatedEach: 3,
          aheadMax: 1,
          batchRows: 40,
          lies: { shortShare: 0.2 },
        }),
        list({
          rows: 11,
          size: 8,
          isOrderFixed: false,
          hasTimes: false,
          stepMs: 86_400_000,
          undatedEach: 3,
          beyondEnd: 'last-page',
          aheadMax: 2,
          batchRows: 40,
          lies: { total: { kind: 'lags', ms: 20_000 }, shortShare: 0.2 },
        }),
      ],
      [
        round([arrive(7)], [nothing, move, bringBack, nothing, late]),
        round([], [move], { effort: 'command' }),
        round([], [], { effort: 'command' }),
      ],
      { requestMs: 300, luck: 2_121_175_780 },
    ),
  ],
  [
    'a total of 0 behind the end does not mark a list as one with a different order each time',
    history(
      [
        list({
          order: 'unordered',
          rows: 2,
          size: 5,
          stepMs: 86_400_000,
          aheadMax: 1,
          pauseShare: 0.3,
          lies: { total: { kind: 'page' }, replica: { ms: 20_000, share: 0.1 }, spoiltShare: 0.2 },
        }),
        list({
          rows: 8,
          size: 5,
          isOrderFixed: false,
          hasTimes: false,
          undatedEach: 7,
          beyondEnd: 'empty-and-zero',
          aheadMax: 1,
          pauseShare: 0.3,
          lies: { replica: { ms: 5_000, share: 0.9 }, spoiltShare: 0.2 },
        }),
      ],
      [
        round([share], [remove, nothing, remove]),
        round([], [late, nothing, move, kill]),
        round([]),
        round([arrive(1), late], [arrive(1), nothing, late]),
        round([share, share, remove], [kill, arrive(1)]),
        round([]),
      ],
      { luck: 1_960_680_077 },
    ),
  ],
  [
    'rows that two scans have not met explain no fall of the total during the second scan',
    history(
      [
        list({
          order: 'oldest-first',
          rows: 21,
          size: 7,
          isOrderFixed: false,
          hasTimes: false,
          stepMs: 86_400_000,
          undatedEach: 7,
          beyondEnd: 'last-page',
          aheadMax: 2,
          lies: { replica: { ms: 1_000, share: 0.9 }, spoiltShare: 0.2 },
        }),
      ],
      [
        round([{ kind: 'resize', size: 6 }, remove, arrive(2)]),
        round([arrive(7)]),
        round([]),
        round([late, remove, arrive(8)], [remove]),
        round([remove, remove], [nothing, nothing, nothing, late, nothing, remove, late], {
          effort: 'backfill',
        }),
      ],
      { requestMs: 300, luck: 198_504_352 },
    ),
  ],
  [
    'scans in which the total rose and fell are no evidence that a row has vanished',
    history(
      [
        list({
          order: 'oldest-first',
          rows: 23,
          size: 5,
          isOrderFixed: false,
          timeStep: 14_400_000,
          stepMs: 7_200_000,
          undatedEach: 7,
          batchRows: 40,
          lies: { replica: { ms: 60_000, share: 0.5 }, spoiltShare: 0.2 },
        }),
      ],
      [
        round([{ kind: 'resize', size: 3 }], [remove], { effort: 'command' }),
        round([], [nothing, arrive(4), nothing, remove], { effort: 'backfill' }),
        round([]),
      ],
      { luck: 1_857_458_017 },
    ),
  ],
  [
    'a fall of the total that only an overtaken answer shows also sends the scan back',
    history(
      [
        list({
          order: 'unordered',
          rows: 8,
          aheadMax: 4,
          lies: { total: { kind: 'sometimes-absent', share: 0.23064316031477464 } },
        }),
      ],
      [round([], [nothing, nothing, remove])],
      { luck: 6 },
    ),
  ],
  [
    'a fall of the total that a head read shows between two pages of a scan also sends the scan back',
    history(
      [list({ rows: 23, size: 6, beyondEnd: 'empty-and-zero' })],
      [round([late, late], [nothing, nothing, nothing, nothing, remove, kill])],
      { luck: 2_147_483_628 },
    ),
  ],
  [
    'a page that seems to show a reduced page size during a scan may only lack rows',
    history(
      [
        list({ size: 3, pauseShare: 0.3, lies: { shortShare: 0.2 } }),
        list({ order: 'unordered', rows: 4, lies: { replica: { ms: 1000, share: 0.1 } } }),
      ],
      [round([], [kill]), round([arrive(7)]), round([{ kind: 'resize', size: 2 }])],
      { luck: 3 },
    ),
  ],
  [
    'a row that had vanished before a clean scan explains no fall of the total after it',
    history(
      [
        list({ rows: 13, stepMs: 86_400_000, lies: { spoiltShare: 0.2 } }),
        list({ order: 'unordered', rows: 1 }),
      ],
      [
        round([]),
        round([{ kind: 'remove', at: 0.9989999999999982 }]),
        round([]),
        round([move], [nothing, nothing, remove]),
      ],
      { luck: 9 },
    ),
  ],
  [
    'a list whose times rise only from page to page is not ordered by time',
    history(
      [
        list({
          order: 'unordered',
          rows: 39,
          size: 4,
          isOrderFixed: false,
          timeStep: 14_400_000,
          lies: { replica: { ms: 5000, share: 0.1 }, shortShare: 0.2, spoiltShare: 0.2 },
        }),
        list({ rows: 8, stepMs: 86_400_000 }),
      ],
      [round([], [share, nothing, arrive(5)]), round([])],
      { luck: 3 },
    ),
  ],
  [
    'the first total proves nothing, because rows may have vanished while there was no total',
    history(
      [
        list({ rows: 8 }),
        list({
          rows: 7,
          isOrderFixed: false,
          timeStep: 14_400_000,
          lies: { total: { kind: 'absent' }, replica: { ms: 5000, share: 0.5 } },
        }),
      ],
      [
        round([], [nothing, arrive(1)]),
        round([]),
        round([move]),
        round([]),
        round([nothing, arrive(2)], [nothing, late, nothing, kill]),
      ],
      { luck: 9 },
    ),
  ],
  [
    'the rows of a page whose total is trusted are stored, also if it is read to find vanished rows',
    history(
      [
        list({
          rows: 3,
          size: 9,
          isOrderFixed: false,
          undatedEach: 3,
          beyondEnd: 'empty-and-zero',
          aheadMax: 1,
          batchRows: 40,
          lies: { replica: { ms: 20_000, share: 0.5 }, shortShare: 0.2 },
        }),
      ],
      [
        round([late], [nothing, kill], { effort: 'backfill' }),
        round([remove, { kind: 'resize', size: 5 }]),
        round([late]),
        round([arrive(4), remove], [nothing, late, late], { effort: 'command' }),
        round([remove], [{ kind: 'resize', size: 5 }, nothing, nothing, late], {
          effort: 'backfill',
        }),
        round([]),
      ],
      { requestMs: 3_000, luck: 26122571 },
    ),
  ],
  [
    'pages that repeat because a full page of rows arrived are not the end of the list before the known rows end',
    history(
      [list({ rows: 8, hasTimes: false, lies: { total: { kind: 'page' } } })],
      [
        round([]),
        round(
          [],
          [
            ...[nothing, nothing, arrive(2), arrive(2)],
            ...[nothing, nothing, nothing, nothing, arrive(2), arrive(2)],
          ],
          { effort: 'backfill' },
        ),
      ],
    ),
  ],
  [
    'days that were read while a row was in both lists do not count as compared, whatever the lists show at the end of the scan',
    history(
      [
        list({
          order: 'oldest-first',
          rows: 5,
          stepMs: 86_400_000,
          batchRows: 4,
          pauseShare: 0.5,
        }),
        list({
          order: 'oldest-first',
          rows: 2,
          stepMs: 86_400_000,
          lies: { total: { kind: 'cached', ms: 60_000 } },
        }),
      ],
      [
        round([]),
        round([], [move, nothing, remove]),
        round([share], [kill], { effort: 'backfill' }),
      ],
      { isTogether: true, luck: 3, calmEffort: 'backfill' },
    ),
  ],
];

describe('histories that once led to a false claim', () => {
  test.each(histories)('%s', async (_, played) => {
    expect(await playHistory(played, newFigures())).toEqual([]);
  });

  test('equal counts show that no row has disappeared, although two scans did not find some rows', async () => {
    const lies: Lies = {
      ...noLies,
      total: { kind: 'constant', rows: 19 },
      replica: { ms: 60_000, share: 0.5 },
    };
    const rounds = [
      round([], [arrive(6)]),
      round([]),
      round([]),
      round([], [arrive(7)], { effort: 'backfill' }),
    ];
    const figures = newFigures();
    const played = history([list({ rows: 27, batchRows: 40, pauseShare: 0.3, lies })], rounds, {
      luck: 10,
    });
    expect(await playHistory(played, figures)).toEqual([]);
    expect(figures.unlisted).toBe(0);
  });
});
