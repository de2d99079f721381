import fc from 'fast-check';
import { expect, test } from 'vitest';
import { histories } from './draw-history.ts';
import { playHistory } from './play-history.ts';
import { newFigures } from './proof-judge.ts';

/** Set another seed and more runs to look for more: each run is one history. */
const seed = Number(process.env['HISTORY_SEED'] ?? 9);
const runs = Number(process.env['HISTORY_RUNS'] ?? 3_000);

test(
  'whatever the service tells, no proof is claimed that is none, no listed row is missed or marked as gone',
  async () => {
    const figures = newFigures();
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const violations = await playHistory(history, figures);
        expect(violations.filter(isFalsehood)).toEqual([]);
      }),
      { numRuns: runs, seed },
    );
    expect(figures.histories).toBeGreaterThanOrEqual(runs);
    expect(figures.claims).toBeGreaterThan(runs);
    expect(figures.excused).toBeLessThan(0.05 * figures.claims);
  },
  300_000 + 100 * runs,
);

function isFalsehood(violation: string): boolean {
  return ['proven, but', 'was marked as gone', 'listed throughout a clean scan'].some((falsehood) =>
    violation.includes(falsehood),
  );
}
