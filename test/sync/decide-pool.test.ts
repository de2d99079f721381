import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decidePool,
  numAfterGrant,
  numAfterLoss,
  numAfterRefusal,
  type PoolFacts,
  refusalDelayMs,
} from '../../src/sync/decide-pool.ts';
import { type Outcome, PoolModel } from './pool-model.ts';

const settleMs = 10_000;
const chainParam = 'slip44';

type Step = { process: number; isKill: boolean; passMs: number };

const steps = fc.array(
  fc.record<Step>({
    process: fc.integer({ min: 0, max: 1 }),
    isKill: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    passMs: fc.constantFrom(0, 0, 0, 10, 1_000, 5_000),
  }),
  { maxLength: 200 },
);
const outcomes = fc.array(
  fc.constantFrom<Outcome[]>('clear', 'lost', 'lost', 'refused', 'never-arrived'),
  { maxLength: 30 },
);

/** Two processes by the script, killed where it says; then both in turn until the pool rests. */
function play(model: PoolModel, script: Step[]): void {
  const processes = [model.process(), model.process()];
  for (const { process, isKill, passMs } of script) {
    model.now += passMs;
    if (isKill) {
      processes[process]?.return();
      processes[process] = model.process();
    }
    processes[process]?.next();
  }
  model.outcomes = [];
  for (let turn = 0; turn < 20_000 && model.available() < model.target; turn += 1) {
    processes[turn % 2]?.next();
    if (turn % 50 === 0) model.now += 1_000;
  }
}

/** A chain that always wants as many as it may ask for, and what it asked for today. */
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
  test('[A1 A2 A3 A5 A6 A7] lost answers, refusals, crashes at every step, two processes, a lagging list: nothing is lost, nothing asked twice', () => {
    fc.assert(
      fc.property(
        steps,
        outcomes,
        fc.integer({ min: 0, max: settleMs - 1_000 }),
        fc.integer({ min: 0, max: 30 }),
        (script, happened, lagMs, existing) => {
          const model = new PoolModel(
            { maxPerDay: 100_000, settleMs, chainParam },
            lagMs,
            existing,
          );
          model.outcomes = [...happened];
          play(model, script);
          expect(model.violations).toEqual([]);
          expect(model.available()).toBeGreaterThanOrEqual(model.target);
          const lost = [...model.generated.keys()].filter(
            (address) => !address.startsWith('old-') && !model.ledger.has(address),
          );
          expect(lost).toEqual([]);
          const handedOut = [...model.ledger].filter(
            ([address, kept]) => kept.isAvailable && address.startsWith('old-'),
          );
          expect(handedOut).toEqual([]);
          const generated = [...model.generated.keys()].filter(
            (address) => !address.startsWith('old-'),
          ).length;
          expect(generated).toBeLessThanOrEqual(model.target);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test('[A8] the daily ceiling is never crossed, whatever is lost and however late the list shows it', () => {
    const longSteps = fc.array(
      fc.record<Step>({
        process: fc.integer({ min: 0, max: 1 }),
        isKill: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
        passMs: fc.constantFrom(0, 0, 0, 1_000, 60_000, 700_000, 8_000_000),
      }),
      { maxLength: 300 },
    );
    fc.assert(
      fc.property(
        longSteps,
        outcomes,
        fc.integer({ min: 1, max: 150 }),
        fc.integer({ min: 0, max: 600_000 }),
        (script, happened, maxPerDay, lagMs) => {
          const model = new PoolModel({ maxPerDay, settleMs, chainParam }, lagMs, 0);
          model.outcomes = [...happened];
          const processes = [model.process(), model.process()];
          for (const { process, isKill, passMs } of script) {
            model.now += passMs;
            if (isKill) processes[process] = model.process();
            processes[process]?.next();
            model.take(3);
            const today = [...model.generated.values()].filter((at) => at > model.now - 86_400_000);
            expect(today.length).toBeLessThanOrEqual(maxPerDay);
          }
          expect(model.violations).toEqual([]);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('after each lost answer the number halves and the list settles twice as long, and both recover', () => {
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

  test('nothing is asked for while the list shows its addresses for a chain that does not exist', () => {
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
    // A filter that was put right is noticed though the pool is full.
    expect(decidePool({ ...full, filter: 'broken' }, limits)).toEqual({ kind: 'prove-filter' });
    expect(decidePool({ ...full, filter: 'broken', isFilterTried: true }, limits)).toEqual({
      kind: 'full',
    });
  });

  test('an answer is put off until the list shows something, and with it that it heeds the chain', () => {
    const held = { ...open, state: 'unknown' as const, hasAnswer: true, listReadAgeMs: settleMs };
    const facts = { ...full, filter: 'unknown' as const, isListEmpty: true, open: held };
    expect(decidePool(facts, limits)).toEqual({ kind: 'read-list', lostId: 7 });
    expect(decidePool({ ...facts, isListFresh: true }, limits)).toMatchObject({ kind: 'blocked' });
    const shown = { ...facts, isListEmpty: false };
    expect(decidePool(shown, limits)).toEqual({ kind: 'prove-filter' });
    expect(decidePool({ ...shown, filter: 'works' }, limits)).toEqual({ kind: 'resolve', id: 7 });
    const broken = { ...shown, filter: 'broken' as const, isFilterTried: true };
    expect(decidePool(broken, limits)).toMatchObject({ kind: 'blocked' });
  });

  test('the requests of one day together keep to the ceiling, however often the pool is emptied', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }),
        fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 5, maxLength: 20 }),
        (maxPerDay, taken) => {
          const model = new PoolModel({ maxPerDay, settleMs, chainParam }, 0, 0);
          const process = model.process();
          for (const count of taken) {
            for (let turn = 0; turn < 20; turn += 1) process.next();
            expect(model.generated.size).toBeLessThanOrEqual(maxPerDay);
            model.take(count);
          }
        },
      ),
    );
  });

  const full: PoolFacts = {
    available: 100,
    threshold: 50,
    target: 100,
    isFilling: false,
    numMax: 200,
    nextTryInMs: 0,
    generated24h: 0,
    isStopped: false,
    isListRead: true,
    isListGone: false,
    isListFresh: false,
    losses: 0,
    isListEmpty: false,
    filter: 'works',
    isFilterTried: false,
    open: null,
  };
  const limits = { maxPerDay: 1_000, settleMs, chainParam };
  const open = {
    id: 7,
    num: 20,
    state: 'sent' as const,
    ageMs: 5_000,
    isOwnerAlive: true,
    hasAnswer: false,
    listReadAgeMs: null,
  };

  test.each<[string, Partial<PoolFacts>, object]>([
    ['rests at its target', {}, { kind: 'full' }],
    ['rests above its threshold', { available: 60 }, { kind: 'full' }],
    ['asks below its threshold, up to the target', { available: 49 }, { kind: 'request', num: 51 }],
    [
      'goes on to the target once it fills',
      { available: 60, isFilling: true },
      { kind: 'request', num: 40 },
    ],
    [
      'asks for 200 at the most',
      { available: 0, threshold: 500, target: 1_000 },
      { kind: 'request', num: 200 },
    ],
    ['asks for less after a refusal', { available: 0, numMax: 25 }, { kind: 'request', num: 25 }],
    [
      'asks for what the day still allows',
      { available: 0, generated24h: 990 },
      { kind: 'request', num: 10 },
    ],
    [
      'reads the list before its first request',
      { available: 0, isListRead: false },
      { kind: 'read-list', lostId: null },
    ],
    ['waits while another one asks', { available: 0, open }, { kind: 'busy' }],
    [
      'gives up the request of a dead process',
      { open: { ...open, isOwnerAlive: false } },
      { kind: 'lose', id: 7, num: 20 },
    ],
    [
      'reads the list after a lost answer',
      { open: { ...open, state: 'unknown' } },
      { kind: 'read-list', lostId: 7 },
    ],
    [
      'lets the list settle',
      { open: { ...open, state: 'unknown', listReadAgeMs: 4_000 } },
      { kind: 'settle', ms: 6_000 },
    ],
    [
      'believes the list after that',
      { open: { ...open, state: 'unknown', listReadAgeMs: settleMs } },
      { kind: 'resolve', id: 7 },
    ],
  ])('a pool %s', (_name, change, action) => {
    expect(decidePool({ ...full, ...change }, limits)).toEqual(action);
  });

  test.each<[string, Partial<PoolFacts>, RegExp]>([
    ['a refusal', { available: 0, nextTryInMs: 30_000 }, /refused/],
    ['the daily ceiling', { available: 0, generated24h: 1_000 }, /POOL_MAX_PER_DAY/],
    [
      'a list that is suddenly empty',
      { available: 0, isListGone: true, isListFresh: true },
      /lists no address/,
    ],
  ])('%s blocks it, and says why', (_name, change, reason) => {
    const action = decidePool({ ...full, ...change }, limits);
    expect(action).toMatchObject({ kind: 'blocked', reason: expect.stringMatching(reason) });
  });

  test('[A6] refusals are tried again at growing intervals, at most an hour apart', () => {
    expect([1, 2, 3, 20].map(refusalDelayMs)).toEqual([15_000, 30_000, 60_000, 3_600_000]);
  });

  test('a refusal that speaks of the number halves it, any other only after three in a row', () => {
    expect(numAfterRefusal(200, 1, 'num exceeds the allowed limit')).toBe(100);
    expect(numAfterRefusal(1, 1, 'too many')).toBe(1);
    expect(numAfterRefusal(5, 2, 'the caller may not add addresses')).toBe(200);
    expect(numAfterRefusal(200, 3, 'the caller may not add addresses')).toBe(100);
  });

  test('however it was lowered, the number is 200 again after a few granted requests', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(12), { maxLength: 20 }), (storms) => {
        const chain = new NumberModel();
        for (const refusals of storms) {
          chain.limit = 0;
          for (let each = 0; each < refusals; each += 1) chain.ask();
          chain.limit = 200;
          for (let each = 0; each < 8; each += 1) chain.ask();
          expect(chain.numMax).toBe(200);
          // Another storm on the same day would look like a limit until the next one.
          chain.asked = [];
        }
      }),
    );
  });

  test('a limit of the service is found, used to at least a half, and doubted once a day', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 199 }),
        fc.integer({ min: 1, max: 3 }),
        (limit, days) => {
          const chain = new NumberModel();
          chain.limit = limit;
          for (let day = 1; day <= days; day += 1) {
            for (let each = 0; each < 20; each += 1) chain.ask();
            expect(2 * chain.numMax).toBeGreaterThan(limit);
            expect(chain.numMax).toBeLessThanOrEqual(limit);
            expect(chain.refusals).toBeLessThanOrEqual(day === 1 ? 9 : 1);
            Object.assign(chain, { asked: [], refusals: 0 });
          }
        },
      ),
    );
  });
});
