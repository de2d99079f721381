import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { createTicketSource } from '../../src/ledger/ticket-source.ts';
import { withLedger } from '../support/with-ledger.ts';
import { type Demand, type Going, type Load, playLoad, shareSlots } from './lane-model.ts';

const { ledger, query } = await withLedger();

const budgets = fc.constantFrom(2, 10, 50, 200);
const settings = fc.record({
  rps: budgets,
  latency: fc.constantFrom(0.005, 0.1, 0.5),
  jitter: fc.constantFrom(0, 0.005, 0.02),
  seed: fc.nat(),
});
/** Enough concurrent requests for one lane to use up the budget alone. */
const enough = (rps: number, latency: number) => Math.ceil(2 * rps * (latency + 0.12)) + 2;

type Setting = { rps: number; latency: number; jitter: number; seed: number };

/** A load of at least 20 s and 400 slots. */
function load({ rps, ...rest }: Setting, demands: Demand[]): Load {
  return { ...rest, slot: 1.01 / rps, demands, seconds: Math.max(20, 400 / rps) };
}

const saturating = ({ rps, latency }: Setting, lanes: number[], processes = 2): Demand[] =>
  lanes.flatMap((lane) =>
    Array.from({ length: processes }, () => {
      const parallel = Math.ceil(enough(rps, latency) / processes);
      return { lane, parallel, pause: 0 };
    }),
  );

/** The share of the slots of the played time, without its first two seconds. */
function shareOf(going: Going[], { slot, seconds }: Load, lane?: number): number {
  const within = going.filter(({ goAt }) => goAt >= 2 && goAt < seconds - 1);
  const own = within.filter((one) => lane === undefined || one.lane === lane);
  return (own.length * slot) / (seconds - 3);
}

const lanesOf = fc.subarray([1, 2, 3, 4], { minLength: 1 });

describe('the request slots of a budget', () => {
  test('are never closer together than the budget allows, for any requests', () => {
    const demands = fc.array(
      fc.record({
        lane: fc.integer({ min: 1, max: 4 }),
        parallel: fc.integer({ min: 1, max: 20 }),
        pause: fc.constantFrom(0, 0.1, 3),
      }),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(settings, demands, (setting, drawn) => {
        const played = load(setting, drawn);
        const times = playLoad(played).map(({ goAt }) => goAt);
        for (const [index, at] of times.entries())
          if (index > 0) expect(at - (times[index - 1] ?? 0)).toBeGreaterThan(0.999 * played.slot);
      }),
      { numRuns: 40 },
    );
  });

  test('are all used while any lane has enough requests', () => {
    fc.assert(
      fc.property(settings, lanesOf, (setting, lanes) => {
        const played = load(setting, saturating(setting, lanes));
        expect(shareOf(playLoad(played), played)).toBeGreaterThan(0.98);
      }),
      { numRuns: 40 },
    );
  });

  test('go to each lane for at least a tenth, whatever the others request', () => {
    fc.assert(
      fc.property(settings, lanesOf, (setting, lanes) => {
        const played = load(setting, saturating(setting, lanes));
        const going = playLoad(played);
        for (const lane of lanes) expect(shareOf(going, played, lane)).toBeGreaterThan(0.1);
      }),
      { numRuns: 40 },
    );
  });

  test('go to the highest lane that requests them, beyond the floors of the others', () => {
    fc.assert(
      fc.property(settings, lanesOf, (setting, lanes) => {
        const played = load(setting, saturating(setting, lanes));
        const going = playLoad(played);
        for (const lane of lanes.slice(1)) expect(shareOf(going, played, lane)).toBeLessThan(0.14);
      }),
      { numRuns: 40 },
    );
  });

  test('reach a read of the head within a tenth of a second and three slots, whatever the others request', () => {
    fc.assert(
      fc.property(settings, fc.subarray([2, 3, 4]), (setting, lanes) => {
        const looks = { lane: 1, parallel: 1, pause: 1 };
        const played = load(setting, [looks, ...saturating(setting, lanes)]);
        const waits = playLoad(played)
          .filter(({ lane }) => lane === 1)
          .map(({ goAt, askedAt }) => goAt - askedAt);
        expect(waits.length).toBeGreaterThan(5);
        expect(Math.max(...waits)).toBeLessThan(0.1 + 3 * played.slot);
      }),
      { numRuns: 40 },
    );
  });
});

test('the database distributes slots exactly as the model does', async () => {
  const asks = fc.sample(
    fc.record({
      lane: fc.integer({ min: 1, max: 4 }),
      n: fc.integer({ min: 1, max: 30 }),
      ahead: fc.double({ min: -0.05, max: 0.2, noNaN: true }),
      slot: fc.constantFrom(0, 0.000_0101, 0.0101, 0.0202, 0.101, 1010),
      passed: fc.array(fc.integer({ min: 0, max: 14 }), { minLength: 4, maxLength: 4 }),
    }),
    2_000,
  );
  const shared = await query<{ granted: number; passedAfter: number[]; backIn: number }>(`
    select s.granted, s.passed_after as "passedAfter", s.back_in as "backIn"
      from jsonb_to_recordset('${JSON.stringify(asks)}')
             as a (lane integer, n integer, ahead float8, slot float8, passed integer[])
     cross join lateral engine.share_slots(a.lane, a.n, a.ahead, a.slot, a.passed) s`);
  for (const [index, ask] of asks.entries()) {
    const { backIn, ...model } = shareSlots(ask);
    const { backIn: stored, ...database } = shared[index] ?? {};
    expect([ask, database]).toEqual([ask, model]);
    if (model.granted < ask.n) expect(stored).toBeCloseTo(backIn, 6);
  }
});

describe('the tickets of the database', () => {
  beforeEach(async () => {
    await query(`update ledger.request_tickets set next_slot_at = clock_timestamp() + interval '1 second', slot_seconds = 0.0202,
      lane_passed = '{0,0,0,0}', paused_until = now()`);
  });
  const take = (n: number, lane?: number) =>
    query<{ nonce: string | null; wait_ms: number }>(
      `select * from ledger.take_tickets(${n}, 50, 'ms'${lane === undefined ? '' : `, ${lane}`})`,
    );

  test('go to the first lane behind all that are granted; a lower lane learns when to ask again', async () => {
    const [first] = await take(1, 1);
    expect(first?.nonce).not.toBeNull();
    expect(first?.wait_ms).toBeGreaterThan(500);
    for (const lane of [2, 3, 4]) {
      const [answer, ...rest] = await take(3, lane);
      expect([lane, rest, answer?.nonce]).toEqual([lane, [], null]);
      expect(answer?.wait_ms).toBeGreaterThan(100);
      expect(answer?.wait_ms).toBeLessThan(160);
    }
  });

  test('go to a lane that was passed over seven times as the eighth', async () => {
    await take(7, 1);
    const [floor, later] = await take(2, 4);
    expect(floor?.nonce).not.toBeNull();
    expect(later?.nonce).toBeNull();
    // By then the third lane has been passed over eight times.
    expect((await take(2, 3)).map(({ nonce }) => nonce === null)).toEqual([false, true]);
  });

  test('are those of the first lane for a program that names no lane, for any number of requests', async () => {
    const answers = await take(30);
    expect(answers).toHaveLength(30);
    expect(answers.every(({ nonce }) => nonce !== null)).toBe(true);
  });

  test('a process learns that its lane has to wait, and uses no number for it', async () => {
    const source = createTicketSource(ledger, { maxRps: 50, nonceUnit: 'ms' });
    const numbers = () => query('select last_value from ledger.observations');
    const before = await numbers();
    const answers = await Promise.all([source.take('backlog'), source.take('backlog')]);
    expect(answers).toEqual([{ backInMs: expect.any(Number) }, { backInMs: expect.any(Number) }]);
    expect(await numbers()).toEqual(before);
  });
});
