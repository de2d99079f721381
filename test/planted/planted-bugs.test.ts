import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { editsOf } from './planted-bug.ts';
import { plantedBugs } from './planted-bugs.ts';
import { renderPlantedBugs } from './render-planted-bugs.ts';
import { applyEdit } from './work-copy.ts';

/** The text of each file once. */
const texts = new Map<string, string>();
function textOf(file: string): string {
  const text = texts.get(file) ?? readFileSync(file, 'utf8');
  texts.set(file, text);
  return text;
}

test('there are enough of them, each with a name of its own', () => {
  expect(plantedBugs.length).toBeGreaterThanOrEqual(24);
  expect(new Set(plantedBugs.map(({ id }) => id)).size).toBe(plantedBugs.length);
});

test.each(plantedBugs)('$id has its place in the sources of the product', (bug) => {
  for (const { file, ...edit } of editsOf(bug)) {
    expect(file).toMatch(/^(src|jobs|migrations)\//);
    expect(applyEdit(textOf(file), edit)).not.toBe(textOf(file));
  }
});

test.each(plantedBugs)('$id is caught by a test that exists', ({ caughtBy: { file, name } }) => {
  expect(file).toMatch(/\.test\.ts$/);
  // In front of the name may stand the faults that the test stands for.
  const words = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const quoted = textOf(file).match(new RegExp(`(['"\`])(\\[[A-Z0-9 ]+\\] )?${words}\\1`, 'g'));
  expect(quoted).toHaveLength(1);
});

test('every promise of docs/guarantees.md has one that would break it', () => {
  const promises = [...textOf('docs/guarantees.md').matchAll(/^\| \*\*(.+?)\*\* \|/gm)];
  const endangered = new Set(plantedBugs.map(({ promise }) => promise));
  expect(promises.length).toBeGreaterThan(8);
  expect(promises.map(([, name = '']) => name).filter((name) => !endangered.has(name))).toEqual([]);
});

test('nothing in the product can switch one on', () => {
  const files = ['src', 'jobs'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  expect(files.length).toBeGreaterThan(100);
  const ids = plantedBugs.map(({ id }) => id);
  const traces = files.filter((file) => {
    const text = readFileSync(file, 'utf8');
    return /planted/i.test(text) || ids.some((id) => text.includes(id));
  });
  expect(traces).toEqual([]);
});

test('docs/planted-bugs.md is what the table says; `npm run docs` writes it', () => {
  expect(readFileSync('docs/planted-bugs.md', 'utf8')).toBe(renderPlantedBugs(plantedBugs));
});
