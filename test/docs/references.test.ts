import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const sections = new Set(
  [...readFileSync('docs/wallet-service-api.md', 'utf8').matchAll(/^#+ (\d+(?:\.\d+)?)\.? /gm)].map(
    ([, number = '']) => number,
  ),
);

const sources = filesIn('src', 'jobs', 'migrations');

function filesIn(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|sql)$/.test(file))
      .map((file) => join(folder, file)),
  );
}

test('a comment names a section as “docs/wallet-service-api.md, section 4.1”, and the document has it', () => {
  const named = [...sources, ...filesIn('scripts', 'test')].flatMap((file) =>
    [
      ...readFileSync(file, 'utf8').matchAll(/(\S+)\s+(?:\*\s+)?[Ss]ections? ([\d. and]*\d)/g),
    ].flatMap(([text, document, numbers = '']) =>
      numbers.split(' and ').map((number) => ({ file, text, document, number })),
    ),
  );
  expect(named.length).toBeGreaterThan(20);
  const lost = named.filter(
    ({ document, number }) =>
      !/docs\/wallet-service-api\.md,$/.test(document ?? '') || !sections.has(number),
  );
  expect(lost.map(({ file, text }) => `${file}: ${text}`)).toEqual([]);
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
