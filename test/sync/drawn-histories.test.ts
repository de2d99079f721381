import fc from 'fast-check';
import { expect, test } from 'vitest';
import { histories } from './draw-history.ts';
import { playHistory } from './play-history.ts';
import { newFigures } from './proof-judge.ts';

/** Another seed and more runs find more: each run is one history. */
const seed = Number(process.env['HISTORY_SEED'] ?? 9);
const runs = Number(process.env['HISTORY_RUNS'] ?? 20_000);

test(
  'with any behaviour of the service: no false proof, no missing or wrongly unlisted row, and one request per idle pass',
  async () => {
    const figures = newFigures();
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        expect(await playHistory(history, figures)).toEqual([]);
      }),
      { numRuns: runs, seed },
    );
    expect(figures.histories).toBeGreaterThanOrEqual(runs);
    expect(figures.claims).toBeGreaterThan(runs);
    expect(figures.looks).toBeGreaterThan(runs / 10);
    expect(figures.excused).toBeLessThan(0.05 * figures.claims);
  },
  300_000 + 100 * runs,
);
