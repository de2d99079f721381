import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const sections = new Set(
  [...readFileSync('docs/wallet-service-api.md', 'utf8').matchAll(/^#+ (\d+(?:\.\d+)?)\.? /gm)].map(
    ([, number = '']) => number,
  ),
);

const sources = ['src', 'jobs', 'migrations'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|sql)$/.test(file))
    .map((file) => join(folder, file)),
);

test('each section that a comment names is one of the service’s document', () => {
  const named = sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/[Ss]ections? ([\d. and]*\d)/g)].flatMap(
      ([, numbers = '']) => numbers.split(' and ').map((number) => ({ file, number })),
    ),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ number }) => !sections.has(number))).toEqual([]);
});

test('each file of the repository that a comment or a document names is there', () => {
  const documents = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'].concat(
    readdirSync('docs')
      .filter((file) => file.endsWith('.md'))
      .map((file) => join('docs', file)),
  );
  const named = [...sources, ...documents].flatMap((file) =>
    [
      ...readFileSync(file, 'utf8').matchAll(
        /\b(?:src|jobs|migrations|test|docs|ops|scripts)\/[\w./-]*\w/g,
      ),
    ].map(([path]) => ({ file, path })),
  );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter(({ path }) => !existsSync(path) && !existsSync(`${path}.ts`))).toEqual([]);
});
