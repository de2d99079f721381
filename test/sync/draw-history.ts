import fc from 'fast-check';
import type { ListOrder } from '../../src/kernel/vocabulary.ts';
import type { efforts } from '../../src/sync/list/doubt.ts';
import type { Happening, ListModel } from './list-model.ts';
import type { Lies, TotalLie } from './service-lies.ts';

export type EffortName = keyof typeof efforts;

/** State of a list when its history begins. */
export type ListSetup = {
  order: ListOrder | 'shuffled';
  rows: number;
  size: number;
  claimsMore: boolean;
  isOrderFixed: boolean;
  hasTimes: boolean;
  canUnlist: boolean;
  timeStep: number;
  stepMs: number;
  undatedEach: number;
  beyondEnd: ListModel['beyondEnd'];
  lies: Lies;
  aheadMax: number;
  batchRows: number;
  pauseShare: number;
};

/**
 * One pass over each list: the events before it and at its requests and writes, and the order in which answers
 * overtake.
 */
export type Round = {
  effort: EffortName;
  between: Happening[];
  during: Happening[];
  ahead: number[];
};

export type History = {
  lists: ListSetup[];
  /** Both lists are read at once. */
  isTogether: boolean;
  requestMs: number;
  luck: number;
  rounds: Round[];
  /** Effort with which the lists are read once they no longer change. */
  calmEffort: EffortName;
};

const place = fc.double({ min: 0, max: 0.999, noNaN: true });
const lateness = fc.constantFrom(200, 1_000, 5_000, 20_000, 60_000);

const totalLies: fc.Arbitrary<TotalLie> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<TotalLie>({ kind: 'honest' }) },
  { weight: 2, arbitrary: lateness.map((ms): TotalLie => ({ kind: 'lags', ms })) },
  { weight: 2, arbitrary: lateness.map((ms): TotalLie => ({ kind: 'runs-ahead', ms })) },
  { weight: 2, arbitrary: lateness.map((ms): TotalLie => ({ kind: 'cached', ms })) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 30 }).map((rows): TotalLie => ({ kind: 'capped', rows })),
  },
  { weight: 1, arbitrary: fc.constant<TotalLie>({ kind: 'absent' }) },
  { weight: 1, arbitrary: place.map((share): TotalLie => ({ kind: 'sometimes-absent', share })) },
  { weight: 1, arbitrary: fc.constant<TotalLie>({ kind: 'page' }) },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 0, max: 40 })
      .map((rows): TotalLie => ({ kind: 'constant', rows })),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: -4, max: 4 }).map((rows): TotalLie => ({ kind: 'off', rows })),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 30 }).map((rows): TotalLie => ({ kind: 'jitters', rows })),
  },
);

const rarely = (share: number) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(share) });

const lies: fc.Arbitrary<Lies> = fc.record({
  total: totalLies,
  replica: fc.option(fc.record({ ms: lateness, share: fc.constantFrom(0.1, 0.5, 0.9) }), {
    freq: 3,
  }),
  shortShare: rarely(0.2),
  spoiltShare: rarely(0.2),
  shownAgain: fc.constant(0),
});

const insertions: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('arrive' as const),
      count: fc.integer({ min: 1, max: 8 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('late' as const), at: place }) },
);

const changes: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 6, arbitrary: insertions },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('resize' as const),
      size: fc.integer({ min: 2, max: 9 }),
    }),
  },
);

const removals: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 4, arbitrary: changes },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), at: place }) },
  { weight: 1, arbitrary: fc.constant<Happening>({ kind: 'bring-back' }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('share' as const), at: place }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('move' as const), at: place }) },
);

const look: fc.Arbitrary<Happening> = fc.record({
  kind: fc.constant('look' as const),
  count: fc.integer({ min: 1, max: 2 }),
  storedAfter: fc.integer({ min: 0, max: 3 }),
});

const nothing = fc.constant<Happening>({ kind: 'nothing' });

/** `looks`: weight of another process's head reads among the events during a pass. */
function roundsOf(happenings: fc.Arbitrary<Happening>, looks: number): fc.Arbitrary<Round[]> {
  const during = fc.oneof(
    { weight: 6, arbitrary: nothing },
    { weight: 3, arbitrary: happenings },
    { weight: 1, arbitrary: fc.constant<Happening>({ kind: 'kill' }) },
    { weight: looks, arbitrary: look },
  );
  const round: fc.Arbitrary<Round> = fc.record({
    effort: fc.oneof(
      { weight: 4, arbitrary: fc.constant<EffortName>('daemon') },
      { weight: 1, arbitrary: fc.constant<EffortName>('command') },
      { weight: 1, arbitrary: fc.constant<EffortName>('backfill') },
    ),
    between: fc.array(happenings, { maxLength: 3 }),
    during: fc.array(during, { maxLength: 16 }),
    ahead: fc.array(place, { maxLength: 8 }),
  });
  return fc.array(round, { minLength: 1, maxLength: 7 });
}

const setup: fc.Arbitrary<ListSetup> = fc.record({
  order: fc.oneof(
    { weight: 4, arbitrary: fc.constant<ListOrder>('newest-first') },
    { weight: 2, arbitrary: fc.constant<ListOrder>('oldest-first') },
    { weight: 2, arbitrary: fc.constant<ListOrder>('unordered') },
  ),
  rows: fc.integer({ min: 0, max: 40 }),
  size: fc.integer({ min: 2, max: 9 }),
  claimsMore: fc.integer({ min: 0, max: 9 }).map((n) => n === 9),
  isOrderFixed: fc.integer({ min: 0, max: 4 }).map((n) => n === 4),
  hasTimes: fc.integer({ min: 0, max: 5 }).map((n) => n < 5),
  canUnlist: fc.integer({ min: 0, max: 9 }).map((n) => n < 9),
  timeStep: fc.constantFrom(1, 1, 14_400_000),
  stepMs: fc.constantFrom(60_000, 7_200_000, 86_400_000),
  undatedEach: fc.constantFrom(0, 0, 0, 3, 7),
  beyondEnd: fc.constantFrom(...(['empty', 'last-page', 'empty-and-zero', 'refused'] as const)),
  lies,
  aheadMax: fc.integer({ min: 0, max: 4 }),
  batchRows: fc.constantFrom(1, 10, 40),
  pauseShare: rarely(0.3),
});

/** Lists whose head another process reads during a pass. */
function withLooks(lists: ListSetup[]): ListSetup[] {
  return lists.map((list) => ({ ...list, order: 'newest-first', hasTimes: true }));
}

/** Histories of one list, and of two that share rows. */
export const histories: fc.Arbitrary<History> = fc
  .record({
    isInsertOnly: fc.boolean(),
    hasLooks: fc.integer({ min: 0, max: 3 }).map((n) => n === 3),
    lists: fc.array(setup, { minLength: 1, maxLength: 2 }),
  })
  .chain(({ isInsertOnly, hasLooks, lists }) =>
    fc.record({
      lists: fc.constant(hasLooks ? withLooks(lists) : lists),
      isTogether: fc.boolean(),
      requestMs: fc.constantFrom(0, 300, 3_000),
      luck: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
      rounds: roundsOf(isInsertOnly ? changes : removals, hasLooks ? 8 : 0),
      // Histories with more patience have ten times as many passes.
      calmEffort: fc.oneof(
        { weight: 2, arbitrary: fc.constantFrom<EffortName[]>('daemon', 'command') },
        { weight: 3, arbitrary: fc.constant<EffortName>('backfill') },
      ),
    }),
  );
