import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createOrderedRows } from '../../src/sandbox/history/ordered-rows.ts';
import { forAllSync } from '../support/for-all.ts';

test('ordered rows stay in order after any insertions and removals, few or many at once', () => {
  const batches = fc.array(fc.array(fc.nat(100_000), { maxLength: 200 }), { maxLength: 6 });
  forAllSync(batches, fc.array(fc.nat(100_000)))(100, (added, removed) => {
    const rows = createOrderedRows((a, b) => a - b);
    const model = new Set<number>();
    for (const batch of added) {
      const fresh = [...new Set(batch)].filter((row) => !model.has(row));
      rows.add(fresh);
      for (const row of fresh) model.add(row);
    }
    for (const row of [...removed, ...[...model].slice(0, 3)]) {
      rows.remove(row);
      model.delete(row);
    }
    const expected = [...model].sort((a, b) => a - b);
    expect([...rows]).toEqual(expected);
    expect(rows.length).toBe(expected.length);
    expect(rows.at(0)).toBe(expected[0]);
  });
});
