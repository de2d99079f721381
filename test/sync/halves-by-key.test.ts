import fc from 'fast-check';
import { expect, test } from 'vitest';
import { halvesByKey } from '../../src/sync/halves-by-key.ts';

test('no key is in both halves, and the rows of one key keep their order', () => {
  const keys = fc.array(fc.constantFrom('a', 'b', 'B', 'é', '10', '9', ''), { maxLength: 40 });
  fc.assert(
    fc.property(keys, (shown) => {
      const rows = shown.map((key, place) => ({ key, place }));
      const [first, second] = halvesByKey(rows, ({ key }) => key);
      const seen = new Set(first.map(({ key }) => key));
      expect(second.filter(({ key }) => seen.has(key))).toEqual([]);
      for (const key of shown) {
        const places = [...first, ...second].filter((row) => row.key === key);
        expect(places).toEqual(rows.filter((row) => row.key === key));
      }
    }),
  );
});

test('where all keys differ the halves are as large as one another', () => {
  const rows = Array.from({ length: 2_000 }, (_, place) => String((place * 7_919) % 2_000));
  expect(halvesByKey(rows, (row) => row).map(({ length }) => length)).toEqual([1_000, 1_000]);
});
