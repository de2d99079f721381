import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const pages = readdirSync('docs')
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
  .concat('SECURITY.md', 'README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md');

/** The places of a page that links can lead to, as GitHub names them. */
function anchorsOf(page: string): string[] {
  return [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replace(/\s/g, '-'),
  );
}

test.each(pages)('the links of %s lead somewhere', (page) => {
  const links = [...readFileSync(page, 'utf8').matchAll(/\]\(([^)]+)\)/g)].map(([, to = '']) => to);
  const lost = links.filter((link) => {
    const [file = '', anchor] = link.split('#');
    if (/^https?:/.test(file)) return false;
    const target = file === '' ? page : join(dirname(page), file);
    return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
  });
  expect(lost).toEqual([]);
});

test('each defence that docs/threats.md names has its test', () => {
  const named = [...readFileSync('docs/threats.md', 'utf8').matchAll(/`(test\/[^`]+)`/g)];
  expect(named.length).toBeGreaterThan(10);
  expect(named.flatMap(([, path = '']) => (existsSync(path) ? [] : [path]))).toEqual([]);
});
