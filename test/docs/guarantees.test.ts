import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/guarantees.md', 'utf8');
const promises = page.split('\n').filter((line) => line.startsWith('| **'));

test('every promise names tests, and every test that is named exists', () => {
  expect(promises.length).toBeGreaterThan(8);
  for (const line of promises) {
    const files = [...line.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file);
    expect(files, line).not.toEqual([]);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
    for (const file of files) expect(file).toMatch(/\.test\.ts$/);
  }
});
