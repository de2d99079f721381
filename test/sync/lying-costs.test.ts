import { expect, test } from 'vitest';
import { costs, honest, liars, ratioMax } from '../bench/parts/lying-service.ts';

test.each(liars.map((liar) => [liar.what, liar] as const))(
  '200 passes over 100 pages cost at most twice as much as with an honest service: %s',
  async (_, liar) => {
    const floors = await costs(honest);
    const ratios = (await costs(liar)).map((requests, life) => requests / (floors[life] ?? 0));
    expect(Math.max(...ratios)).toBeLessThanOrEqual(ratioMax);
  },
);
