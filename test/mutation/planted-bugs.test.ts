import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { filesOfTest, readTestFiles } from './named-tests.ts';
import { editsOf, type PlantedBug } from './planted-bug.ts';
import { plantedBugs } from './planted-bugs.ts';
import { plant, readSources } from './product-sources.ts';
import { renderPlantedBugs } from './render-planted-bugs.ts';
import { copyWorkTree } from './work-copy.ts';

const sources = readSources('.');
const testFiles = readTestFiles('.');

test('there are enough planted bugs, each with its own name', () => {
  expect(plantedBugs.length).toBeGreaterThanOrEqual(24);
  expect(new Set(plantedBugs.map(({ id }) => id)).size).toBe(plantedBugs.length);
});

test.each(plantedBugs)('$id has its place in the sources of the product', (bug) => {
  const changed = plant(sources, bug);
  expect(changed.size).toBeGreaterThan(0);
  for (const [file, text] of changed) expect(text).not.toBe(sources.get(file));
});

test('every planted bug compiles', async () => {
  const copy = copyWorkTree('.');
  try {
    for (const round of rounds(plantedBugs)) {
      const takeOut = copy.plant(...round);
      const { code, output } = await copy.compile(AbortSignal.timeout(110_000));
      takeOut();
      expect(code, output).toBe(0);
    }
  } finally {
    copy.remove();
  }
}, 120_000);

/** The minimum number of rounds in which no two bugs of a round change one declaration. */
function rounds(bugs: PlantedBug[]): PlantedBug[][] {
  const all: { places: Set<string>; bugs: PlantedBug[] }[] = [];
  for (const bug of bugs) {
    const places = new Set(editsOf(bug).map((edit) => edit.in));
    const round = all.find((one) => [...places].every((place) => !one.places.has(place)));
    if (round) {
      round.bugs.push(bug);
      for (const place of places) round.places.add(place);
    } else all.push({ places, bugs: [bug] });
  }
  return all.map((round) => round.bugs);
}

test.each(plantedBugs)('$id is caught by a test that exists', ({ caughtBy }) => {
  expect(filesOfTest(testFiles, caughtBy)).toHaveLength(1);
});

test('every promise of docs/guarantees.md has a planted bug that breaks it', () => {
  const page = readFileSync('docs/guarantees.md', 'utf8');
  const promises = [...page.matchAll(/^\| \*\*(.+?)\*\* \|/gm)];
  const endangered = new Set(plantedBugs.map(({ promise }) => promise));
  expect(promises.length).toBeGreaterThan(8);
  expect(promises.map(([, name = '']) => name).filter((name) => !endangered.has(name))).toEqual([]);
});

test('nothing in the product can enable a planted bug', () => {
  const files = [...sources].filter(([file]) => file.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(100);
  const traces = files.filter(
    ([, text]) => /planted/i.test(text) || plantedBugs.some(({ id }) => text.includes(id)),
  );
  expect(traces.map(([file]) => file)).toEqual([]);
});

test('docs/planted-bugs.md equals the table; `npm run docs` writes it', () => {
  expect(readFileSync('docs/planted-bugs.md', 'utf8')).toBe(renderPlantedBugs(plantedBugs));
});
