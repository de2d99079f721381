import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decideScheduleRepair,
  type ScheduleRepair,
  type StoredSchedule,
  type WantedSchedule,
} from '../../src/queue/decide-schedule-repair.ts';
import { forAllSync } from '../support/for-all.ts';

const now = 1_700_000_000_000;
const healthy: StoredSchedule = {
  name: 'a',
  everyMs: 15_000,
  nextRunAt: now + 9_000,
  nextJob: 'waiting',
};

function decide(stored: Partial<StoredSchedule> | null, everyMs = 15_000) {
  return decideScheduleRepair(
    now,
    [{ name: 'a', everyMs }],
    stored ? [{ ...healthy, ...stored }] : [],
  ).map((repair) => repair.kind);
}

describe('deciding on the repair of a schedule', () => {
  it.each<[string, Partial<StoredSchedule> | null, ScheduleRepair['kind'][]]>([
    ['leaves a healthy schedule alone', {}, []],
    ['stores a missing one', null, ['put']],
    ['stores one whose interval differs', { everyMs: 60_000 }, ['put']],
    ['stores one whose next job is gone', { nextJob: 'absent' }, ['put']],
    ['replaces one that waits for a wrong clock', { nextRunAt: now + 3_600_000 }, ['replace']],
    ['replaces one without a next run', { nextRunAt: null }, ['replace']],
    ['lets a run that is just due be', { nextRunAt: now - 30_000 }, []],
    ['nudges a run that nobody takes', { nextRunAt: now - 61_000 }, ['nudge']],
    ['waits for a running job to hand on', { nextRunAt: now - 1_000, nextJob: 'active' }, []],
    ['stores one whose job died', { nextRunAt: now - 181_000, nextJob: 'active' }, ['put']],
  ])('%s', (_, stored, kinds) => {
    expect(decide(stored)).toEqual(kinds);
  });

  it('does not replace a schedule that is shortened, but stores the new interval', () => {
    expect(decide({ everyMs: 3_600_000, nextRunAt: now + 3_599_000 })).toEqual(['put']);
  });

  it('removes what is not wanted', () => {
    expect(decideScheduleRepair(now, [], [healthy])).toEqual([{ kind: 'remove', name: 'a' }]);
  });
});

/** The queue as BullMQ keeps it, as far as schedules go. */
class ModelQueue {
  schedules = new Map<string, StoredSchedule & { nextRunAt: number; everyMs: number }>();

  apply(repair: ScheduleRepair, wanted: WantedSchedule[], at: number) {
    if (repair.kind === 'remove' || repair.kind === 'replace') this.schedules.delete(repair.name);
    if (repair.kind === 'remove' || repair.kind === 'nudge') return;
    const everyMs = wanted.find((schedule) => schedule.name === repair.name)?.everyMs ?? 0;
    const old = this.schedules.get(repair.name);
    const isKept = old?.nextJob === 'waiting' && old.everyMs === everyMs;
    const following = old && old.everyMs === everyMs ? old.nextRunAt + everyMs : at + everyMs;
    // A slot that has passed is moved up to twice the interval ahead.
    const nextRunAt = isKept ? old.nextRunAt : following < at ? at + 2 * everyMs : following;
    this.schedules.set(repair.name, { name: repair.name, everyMs, nextRunAt, nextJob: 'waiting' });
  }

  /** A worker takes what is due; `dies` is a crash between taking the job and handing on the schedule. */
  work(at: number, dies: boolean) {
    for (const schedule of this.schedules.values()) {
      if (schedule.nextJob !== 'waiting' || schedule.nextRunAt > at) continue;
      if (dies) schedule.nextJob = 'active';
      else schedule.nextRunAt = Math.max(schedule.nextRunAt + schedule.everyMs, at);
    }
  }

  drain() {
    for (const schedule of this.schedules.values()) schedule.nextJob = 'absent';
  }
}

const watchdogMs = 15_000;
const names = ['a', 'b', 'c'];
const step = fc.oneof(
  fc.constant({ kind: 'flush' as const }),
  fc.constant({ kind: 'drain' as const }),
  fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: -1e8, max: 1e8 }) }),
  fc.record({ kind: fc.constant('work' as const), dies: fc.boolean() }),
  fc.record({ kind: fc.constant('watch' as const) }),
  fc.record({
    kind: fc.constant('configure' as const),
    wanted: fc.dictionary(fc.constantFrom(...names), fc.integer({ min: 1_000, max: 3_600_000 })),
  }),
);

describe('the watchdog', () => {
  it('[Q4 Q10 Q16] has exactly the wanted schedules, each with a run ahead, two passes after any disturbance', () => {
    forAllSync(fc.array(step, { maxLength: 40 }))(500, (steps) => {
      const queue = new ModelQueue();
      let at = now;
      let wanted: WantedSchedule[] = [{ name: 'a', everyMs: 15_000 }];
      const pass = () => {
        at += watchdogMs;
        const repairs = decideScheduleRepair(at, wanted, [...queue.schedules.values()]);
        for (const repair of repairs) queue.apply(repair, wanted, at);
      };
      for (const event of steps) {
        if (event.kind === 'flush') queue.schedules.clear();
        if (event.kind === 'drain') queue.drain();
        if (event.kind === 'jump') at += event.ms;
        if (event.kind === 'work') queue.work(at, event.dies);
        if (event.kind === 'watch') pass();
        if (event.kind === 'configure') {
          wanted = Object.entries(event.wanted).map(([name, everyMs]) => ({ name, everyMs }));
        }
      }
      pass();
      pass();
      expect(new Set(queue.schedules.keys())).toEqual(
        new Set(wanted.map((schedule) => schedule.name)),
      );
      for (const { name, everyMs } of wanted) {
        const stored = queue.schedules.get(name);
        expect(stored).toMatchObject({ everyMs });
        expect(stored?.nextRunAt).toBeLessThanOrEqual(at + 2 * everyMs);
        const isDying = stored?.nextJob === 'active' && stored.nextRunAt > at - 180_000;
        expect(stored?.nextJob === 'waiting' || isDying).toBe(true);
      }
    });
  });

  it('does nothing twice', () => {
    const wanted = names.map((name, index) => ({ name, everyMs: 10_000 * (index + 1) }));
    const queue = new ModelQueue();
    for (const repair of decideScheduleRepair(now, wanted, [])) queue.apply(repair, wanted, now);
    expect(decideScheduleRepair(now + 5, wanted, [...queue.schedules.values()])).toEqual([]);
  });
});
