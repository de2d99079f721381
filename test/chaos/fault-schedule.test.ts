import fc from 'fast-check';
import { expect, test } from 'vitest';
import { forAllSync } from '../support/for-all.ts';
import { focusNames } from './chaos-options.ts';
import { faultKinds, type Need, planFaults } from './fault-schedule.ts';

const everything = new Set<Need>(['faketime', 'tmpfs', 'pg_dump']);

const anyRun = fc.record({
  seed: fc.nat(),
  minutes: fc.double({ min: 0.5, max: 60, noNaN: true }),
  focus: fc.option(fc.constantFrom(...focusNames)),
  queue: fc.constantFrom('postgres' as const, 'redis' as const),
});

test('the same seed gives the same plan, and another seed another plan', () => {
  const run = { seed: 1, minutes: 5, focus: null, queue: 'redis' } as const;
  expect(planFaults(run, everything)).toEqual(planFaults(run, everything));
  expect(planFaults({ ...run, seed: 2 }, everything)).not.toEqual(planFaults(run, everything));
});

test('faults are sorted by time, lie within the run, and last no longer than their kind allows', () => {
  forAllSync(anyRun)(100, (run) => {
    const { faults } = planFaults(run, everything);
    const times = faults.map(({ atMs }) => atMs);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    for (const { kind, atMs, lengthMs } of faults) {
      const [shortest, longest] = faultKinds[kind].lengthMs;
      expect(atMs).toBeGreaterThan(0);
      expect(atMs).toBeLessThan(run.minutes * 60_000);
      expect(lengthMs).toBeGreaterThanOrEqual(shortest);
      expect(lengthMs).toBeLessThanOrEqual(longest);
    }
  });
});

test('without a focus every kind occurs that fits the run and the machine', () => {
  const run = { seed: 3, minutes: 10, focus: null, queue: 'redis' } as const;
  const kinds = new Set(planFaults(run, everything).faults.map(({ kind }) => kind));
  const missing = Object.keys(faultKinds).filter((kind) => !kinds.has(kind as never));
  expect(
    missing.every((kind) =>
      /^(restore|promote|disk full|service lies about|orders vanish)/.test(kind),
    ),
  ).toBe(true);
});

test('with a focus only its own kinds occur, and more of them', () => {
  forAllSync(anyRun)(100, (run) => {
    const { faults } = planFaults(run, everything);
    if (run.focus === null) return;
    for (const { kind } of faults) {
      const plan: { focus: string; alsoIn?: string } = faultKinds[kind];
      expect([plan.focus, plan.alsoIn]).toContain(run.focus);
    }
  });
  const run = { seed: 3, minutes: 20, queue: 'postgres' } as const;
  const kills = (focus: 'kills' | null) =>
    planFaults({ ...run, focus }, everything).faults.filter(({ kind }) =>
      kind.startsWith('kill a'),
    );
  expect(kills(null).length).toBeGreaterThan(0);
  expect(kills('kills').length).toBeGreaterThanOrEqual(20 * 60);
});

test('faults that the machine cannot cause are skipped and named', () => {
  const run = { seed: 3, minutes: 10, focus: null, queue: 'postgres' } as const;
  const { faults, skipped } = planFaults(run, new Set());
  expect(skipped).toEqual([{ kind: 'clock steps', needs: 'faketime' }]);
  expect(faults.some(({ kind }) => kind === 'clock steps')).toBe(false);
});
