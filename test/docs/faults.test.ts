import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { faults } from './faults.ts';
import { readNamedTests, renderFaultsDoc } from './render-faults-doc.ts';

const named = readNamedTests();

test('every fault of the catalogue has a test that carries its number', () => {
  const held = new Set(named.flatMap(({ ids }) => ids));
  expect(Object.keys(faults).filter((id) => !held.has(id))).toEqual([]);
});

test('no test carries a number that the catalogue lacks', () => {
  expect(named.filter(({ ids }) => ids.some((id) => !(id in faults)))).toEqual([]);
});

test('docs/faults.md is what `npm run docs` writes', () => {
  expect(readFileSync('docs/faults.md', 'utf8')).toBe(renderFaultsDoc());
});
