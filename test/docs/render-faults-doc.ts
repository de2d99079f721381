import { readdirSync, readFileSync } from 'node:fs';
import { faults } from './faults.ts';

export type NamedTest = { file: string; name: string; ids: string[] };

/** Every test whose name begins with the faults it stands for: `[P7 P8] a page …`. */
export function readNamedTests(): NamedTest[] {
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${name}`)
    .sort();
  return files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(['"`])\[([A-Z]\d+(?: [A-Z]\d+)*)\] (.*?)\1,/g)].map(
      ([, , ids = '', name = '']) => ({ file, name, ids: ids.split(' ') }),
    ),
  );
}

const families: Readonly<Record<string, string>> = {
  P: 'Reading a moving list',
  H: 'HTTP',
  A: 'Generating addresses',
  V: 'Odd values',
  Q: 'Queue, processes, clocks',
  D: 'The database',
  S: 'Security',
};

/** docs/faults.md. */
export function renderFaultsDoc(): string {
  const named = readNamedTests();
  const sections = Object.entries(families).map(([letter, title]) => {
    const rows = Object.entries(faults).filter(([id]) => id.startsWith(letter));
    const lines = rows.map(([id, words]) => `| ${id} | ${words} | ${heldBy(named, id)} |`);
    return [`## ${title}`, '', '| | fault | held by |', '| --- | --- | --- |', ...lines].join('\n');
  });
  return `${head}\n${sections.join('\n\n')}\n`;
}

function heldBy(named: NamedTest[], id: string): string {
  const own = named.filter(({ ids }) => ids.includes(id));
  return own.map(({ file, name }) => `\`${file}\`: ${name.replace(/[|\\]/g, '\\$&')}`).join('<br>');
}

const head = `<!-- Written by npm run docs from the names of the tests. -->
# What can go wrong, and the tests that stand for it

Each fault has a number, and the tests that hold it carry the number in their names: \`npx vitest run -t '\\[P7'\`.
What of a fault is not covered, and why, stands in [guarantees.md](guarantees.md#what-no-test-covers).
`;
