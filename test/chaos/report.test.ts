import { expect, test } from 'vitest';
import {
  type ChaosOutcome,
  exitCodes,
  formatReport,
  judge,
  percentile,
  reportAsJson,
} from './report.ts';

const holds = { id: 'a.b', promise: 'It holds', violations: 0, samples: [] };
const broken = { id: 'c.d', promise: 'It breaks', violations: 2, samples: [{ orderNo: 'D-1' }] };

function outcome(change: Partial<ChaosOutcome> = {}): ChaosOutcome {
  return {
    seed: 7,
    replay: 'npm run chaos -- --seed 7',
    minutes: 2,
    queue: 'postgres',
    folder: '/somewhere',
    faults: [{ kind: 'kill a daemon', planned: 6, made: 5, enough: 3 }],
    skipped: [],
    work: { arrivals: 100 },
    invariants: [holds],
    recoveries: new Map([['kill a daemon', [1_000, 2_000, 3_000]]]),
    exits: {},
    resources: [],
    ...change,
  };
}

test('a run with enough faults and no broken guarantee passes', () => {
  expect(judge(outcome())).toBe('passed');
  expect(exitCodes[judge(outcome())]).toBe(0);
});

test('a broken guarantee fails the run, also if there were too few faults', () => {
  const thin = [{ kind: 'kill a daemon', planned: 6, made: 0, enough: 3 }];
  expect(judge(outcome({ invariants: [holds, broken] }))).toBe('failed');
  expect(judge(outcome({ invariants: [broken], faults: thin }))).toBe('failed');
  expect(exitCodes.failed).toBe(1);
});

test.each([
  ['one kind of fault was too rare', { faults: [{ kind: 'x', planned: 6, made: 2, enough: 3 }] }],
  ['no fault came at all', { faults: [{ kind: 'x', planned: 0, made: 0, enough: 0 }] }],
  ['no fault was planned', { faults: [] }],
  ['nothing was checked', { invariants: [] }],
])('a run proves nothing if %s', (_why, change) => {
  expect(judge(outcome(change))).toBe('inconclusive');
  expect(exitCodes.inconclusive).toBe(3);
});

test('the report contains seed, faults, broken guarantees with samples, recovery, and how to repeat the run', () => {
  const text = formatReport(
    outcome({
      invariants: [holds, broken],
      skipped: [{ kind: 'clock steps', lacks: 'faketime' }],
      faults: [{ kind: 'kill a daemon', planned: 6, made: 2, enough: 3 }],
    }),
  );
  expect(text).toContain('seed 7');
  expect(text).toMatch(/kill a daemon +6 +2 \(too few: 3 needed\)/);
  expect(text).toContain('skipped: clock steps (no faketime)');
  expect(text).toContain('holds  a.b: It holds');
  expect(text).toContain('BROKEN 2x  c.d: It breaks\n    {"orderNo":"D-1"}');
  expect(text).toMatch(/kill a daemon +3 +2\.0 +3\.0 +3\.0/);
  expect(text).toContain('again: npm run chaos -- --seed 7\nverdict: failed\n');
});

test('the JSON report has the same content', () => {
  expect(JSON.parse(reportAsJson(outcome()))).toMatchObject({
    verdict: 'passed',
    seed: 7,
    recoveries: [{ kind: 'kill a daemon', count: 3, p50: 2_000, max: 3_000 }],
  });
});

test('a percentile is one of the measured values', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect([50, 95, 99, 100].map((percent) => percentile(hundred, percent))).toEqual([
    50, 95, 99, 100,
  ]);
  expect(percentile([4], 50)).toBe(4);
  expect(percentile([], 50)).toBeNaN();
});
