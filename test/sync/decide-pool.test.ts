import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isNumberRefused,
  numAfterGrant,
  numAfterLoss,
  numAfterRefusal,
} from '../../src/kernel/address-number.ts';
import {
  createPoolPlanner,
  decidePool,
  type PoolFacts,
  refusalDelayMs,
} from '../../src/sync/pools/decide-pool.ts';
import { forAllSync } from '../support/for-all.ts';

const settleMs = 10_000;
const chainParam = 'slip44';

/** A chain that always wants the maximum number; returns the numbers that it requested today. */
class NumberModel {
  limit = 200;
  numMax = 200;
  refusals = 0;
  asked: { num: number; isGranted: boolean }[] = [];

  ask(): void {
    const num = this.numMax;
    const isGranted = num <= this.limit;
    this.asked.push({ num, isGranted });
    if (isGranted) {
      this.numMax = numAfterGrant(num, this.numMax, this.#refusedAfterGrant());
    } else {
      this.refusals += 1;
      this.numMax = Math.min(this.numMax, numAfterRefusal(num, 1, 'num exceeds the limit'));
    }
  }

  #refusedAfterGrant(): number | null {
    const found = this.asked.filter(({ num, isGranted }, index) => {
      const before = this.asked[index - 1];
      return !isGranted && before?.isGranted && before.num < num && num > this.numMax;
    });
    return found.length > 0 ? Math.min(...found.map(({ num }) => num)) : null;
  }
}

describe('the address request protocol', () => {
  test('each lost answer halves the number and doubles the wait for the list; both recover afterwards', () => {
    const lost = { ...open, state: 'unknown' as const, listReadAgeMs: 1 };
    const settling = (losses: number) => {
      const action = decidePool({ ...full, losses, open: lost }, limits);
      return action.kind === 'settle' ? action.ms + 1 : null;
    };
    expect([0, 1, 2, 3, 4, 60].map(settling)).toEqual([
      10_000, 10_000, 20_000, 40_000, 80_000, 3_600_000,
    ]);
    expect([200, 3, 1].map(numAfterLoss)).toEqual([100, 1, 1]);
    expect(numAfterGrant(100, 100, null)).toBe(200);
  });

  test('no address is requested while the list shows addresses for a chain that does not exist', () => {
    const wanted = { ...full, available: 0 };
    expect(decidePool({ ...wanted, filter: 'unknown' }, limits)).toEqual({ kind: 'prove-filter' });
    const tried = { ...wanted, isFilterTried: true };
    for (const filter of ['broken', 'unknown'] as const) {
      expect(decidePool({ ...tried, filter }, limits)).toMatchObject({
        kind: 'blocked',
        reason: expect.stringContaining('WALLET_PARAM_NAMES chain='),
      });
    }
    const empty = { ...tried, filter: 'unknown' as const, isListEmpty: true };
    expect(decidePool(empty, limits)).toMatchObject({ kind: 'request' });
    // A corrected filter is noticed even if the pool is full.
    expect(decidePool({ ...full, filter: 'broken' }, limits)).toEqual({ kind: 'prove-filter' });
    expect(decidePool({ ...full, filter: 'broken', isFilterTried: true }, limits)).toEqual({
      kind: 'full',
    });
  });

  test('an answer is held back until the list shows addresses and thereby that it honours the chain parameter', () => {
    const held = { ...open, state: 'unknown' as const, hasAnswer: true, listReadAgeMs: settleMs };
    const facts = { ...full, filter: 'unknown' as const, isListEmpty: true, open: held };
    expect(decidePool(facts, limits)).toEqual({ kind: 'read-list', lostId: 7, isAnswered: true });
    expect(decidePool({ ...facts, isListFresh: true }, limits)).toMatchObject({ kind: 'blocked' });
    const late = { ...held, listReadAgeMs: 11 * settleMs };
    const given = { kind: 'drop-answer', id: 7, refusals: 1 };
    expect(decidePool({ ...facts, isListFresh: true, open: late }, limits)).toEqual(given);
    // A list may lag, however short the settling time is.
    const soon = { ...facts, isListFresh: true, open: { ...held, listReadAgeMs: 30_000 } };
    expect(decidePool(soon, { ...limits, settleMs: 0 })).toMatchObject({ kind: 'blocked' });
    const shown = { ...facts, isListEmpty: false };
    expect(decidePool({ ...shown, open: late }, limits)).toEqual({ kind: 'prove-filter' });
    expect(decidePool(shown, limits)).toEqual({ kind: 'prove-filter' });
    expect(decidePool({ ...shown, filter: 'works' }, limits)).toEqual({
      kind: 'resolve',
      id: 7,
      isAnswered: true,
      refusals: 1,
    });
    // The list shows addresses, but not those of the answer: it settles as after a lost answer.
    const unshown = { ...held, isUnshown: true, listReadAgeMs: 1 };
    expect(decidePool({ ...shown, filter: 'works', open: unshown }, limits)).toEqual({
      kind: 'settle',
      ms: settleMs - 1,
    });
    const broken = { ...shown, filter: 'broken' as const, isFilterTried: true };
    expect(decidePool(broken, limits)).toMatchObject({ kind: 'blocked' });
  });

  test('the chain filter is tested again if the list was empty during the first test and has addresses since', () => {
    const { isListFresh: _fresh, isFilterTried: _tried, siblingsTried, ...pool } = full;
    const wanted = { ...pool, available: 0, filter: 'unknown' as const };
    const kindOf = (wasListEmpty: boolean, isListEmpty: boolean) => {
      const done = { isListFresh: false, isFilterTried: true, wasListEmpty, siblingsTried };
      return createPoolPlanner(done, limits)({ ...wanted, isListEmpty }).action.kind;
    };
    expect(kindOf(true, false)).toBe('prove-filter');
    expect(kindOf(false, false)).toBe('blocked');
    expect(kindOf(true, true)).toBe('request');
  });

  const full: PoolFacts = {
    available: 100,
    threshold: 50,
    target: 100,
    isFilling: false,
    numMax: 200,
    refusals: 0,
    nextTryInMs: 0,
    generated24h: 0,
    isStopped: false,
    isExcess: false,
    isListRead: true,
    isListGone: false,
    isListFresh: false,
    losses: 0,
    isListEmpty: false,
    filter: 'works',
    isFilterTried: false,
    siblings: { unread: [], old: [] },
    siblingsTried: new Map(),
    open: null,
  };
  const limits = { maxPerDay: 1_000, settleMs, slip44: 60, chainParam };
  const open = {
    id: 7,
    num: 20,
    state: 'sent' as const,
    ageMs: 5_000,
    isOwnerAlive: true,
    hasAnswer: false,
    isUnshown: false,
    listReadAgeMs: null,
  };

  test.each<[string, Partial<PoolFacts>, object]>([
    ['rests at its target', {}, { kind: 'full' }],
    ['rests above its threshold', { available: 60 }, { kind: 'full' }],
    [
      'requests addresses below its threshold, up to the target',
      { available: 49 },
      { kind: 'request', num: 51 },
    ],
    [
      'continues to the target once it has begun to fill',
      { available: 60, isFilling: true },
      { kind: 'request', num: 40 },
    ],
    [
      'requests at most 200 addresses',
      { available: 0, threshold: 500, target: 1_000 },
      { kind: 'request', num: 200 },
    ],
    ['asks for less after a refusal', { available: 0, numMax: 25 }, { kind: 'request', num: 25 }],
    [
      'requests the number that the daily ceiling still allows',
      { available: 0, generated24h: 990 },
      { kind: 'request', num: 10 },
    ],
    [
      'reads the list before its first request',
      { available: 0, isListRead: false },
      { kind: 'read-list', lostId: null, isAnswered: false },
    ],
    ['waits while another one asks', { available: 0, open }, { kind: 'busy' }],
    [
      'reads, after a move, the list of a chain that may share its addresses',
      {
        available: 0,
        siblings: { unread: [61, 966], old: [] },
        siblingsTried: new Map([[61, 'refused']]),
      },
      { kind: 'read-sibling', slip44: 966 },
    ],
    [
      'reads no other list while it wants nothing',
      { siblings: { unread: [61], old: [966] } },
      { kind: 'full' },
    ],
    [
      'reads, before a request, the list of a chain on which another program may have generated addresses',
      { available: 0, siblings: { unread: [], old: [61] } },
      { kind: 'read-sibling', slip44: 61 },
    ],
    [
      'waits for no such list that cannot be read',
      {
        available: 0,
        siblings: { unread: [], old: [61] },
        siblingsTried: new Map([[61, 'refused']]),
      },
      { kind: 'request', num: 100 },
    ],
    [
      'closes the request of a dead process',
      { open: { ...open, isOwnerAlive: false } },
      { kind: 'lose', id: 7, num: 20 },
    ],
    [
      'reads the list after a lost answer',
      { open: { ...open, state: 'unknown' } },
      { kind: 'read-list', lostId: 7, isAnswered: false },
    ],
    [
      'waits for the list to settle',
      { open: { ...open, state: 'unknown', listReadAgeMs: 4_000 } },
      { kind: 'settle', ms: 6_000 },
    ],
    [
      'believes the list after that',
      { open: { ...open, state: 'unknown', listReadAgeMs: settleMs } },
      { kind: 'resolve', id: 7, isAnswered: false, refusals: 1 },
    ],
  ])('a pool %s', (_name, change, action) => {
    expect(decidePool({ ...full, ...change }, limits)).toEqual(action);
  });

  test.each<[string, Partial<PoolFacts>, RegExp]>([
    ['the wait after a request', { available: 0, nextTryInMs: 30_000 }, /retrying in 30 s/],
    ['the daily ceiling', { available: 0, generated24h: 1_000 }, /POOL_MAX_PER_DAY/],
    [
      'a list that was not read to its end',
      { available: 0, isListRead: false, isListFresh: true },
      /from end to end/,
    ],
    [
      'a list that is suddenly empty',
      { available: 0, isListGone: true, isListFresh: true },
      /lists no address/,
    ],
    [
      'after a move, another list that cannot be read',
      {
        available: 0,
        siblings: { unread: [966], old: [] },
        siblingsTried: new Map([[966, 'not now']]),
      },
      /has moved.*chain 966 \(not now\)/,
    ],
  ])('%s blocks the request, and the reason is given', (_name, change, reason) => {
    const action = decidePool({ ...full, ...change }, limits);
    expect(action).toMatchObject({ kind: 'blocked', reason: expect.stringMatching(reason) });
  });

  test('[A6] a refused request is retried at growing intervals of at most an hour', () => {
    expect([1, 2, 3, 20].map(refusalDelayMs)).toEqual([15_000, 30_000, 60_000, 3_600_000]);
  });

  test('a refusal that names the number halves it at once; any other refusal halves it only after three in a row', () => {
    expect(numAfterRefusal(200, 1, 'num exceeds the allowed limit')).toBe(100);
    expect(numAfterRefusal(1, 1, 'too many')).toBe(1);
    expect(numAfterRefusal(5, 2, 'the caller may not add addresses')).toBe(200);
    expect(numAfterRefusal(200, 3, 'the caller may not add addresses')).toBe(100);
  });

  test('a smaller number is requested at once only if the refusal names the number, not the rate or the permissions', () => {
    const isRefused = (message: string, num = 200) => isNumberRefused(num, message);
    expect(
      ['num exceeds the limit', 'at most 50 per request: too many'].map((m) => isRefused(m)),
    ).toEqual([true, true]);
    expect(isRefused('num exceeds the limit', 1)).toBe(false);
    const others = [
      'rate limit exceeded',
      'too many requests',
      'limit per minute',
      'no permission',
    ];
    expect(others.map((m) => isRefused(m))).toEqual(others.map(() => false));
  });

  test('after any reduction the number is 200 again after a few granted requests', () => {
    forAllSync(fc.array(fc.nat(12), { maxLength: 20 }))(100, (storms) => {
      const chain = new NumberModel();
      for (const refusals of storms) {
        chain.limit = 0;
        for (let each = 0; each < refusals; each += 1) chain.ask();
        chain.limit = 200;
        for (let each = 0; each < 8; each += 1) chain.ask();
        expect(chain.numMax).toBe(200);
        // Another storm on the same day would look like a limit until the next day.
        chain.asked = [];
      }
    });
  });

  test('a limit of the service is found, used to at least half, and tested again once a day', () => {
    const drawn = forAllSync(fc.integer({ min: 1, max: 199 }), fc.integer({ min: 1, max: 3 }));
    drawn(100, (limit, days) => {
      const chain = new NumberModel();
      chain.limit = limit;
      for (let day = 1; day <= days; day += 1) {
        for (let each = 0; each < 20; each += 1) chain.ask();
        expect(2 * chain.numMax).toBeGreaterThan(limit);
        expect(chain.numMax).toBeLessThanOrEqual(limit);
        expect(chain.refusals).toBeLessThanOrEqual(day === 1 ? 9 : 1);
        Object.assign(chain, { asked: [], refusals: 0 });
      }
    });
  });
});
