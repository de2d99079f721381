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
  P: 'Reading a list that changes meanwhile',
  H: 'Requests to the service',
  A: 'Generating addresses',
  V: 'Invalid and unusual values',
  Q: 'Queue, processes and clocks',
  D: 'The database',
  S: 'Security',
};

/** docs/faults.md. */
export function renderFaultsDoc(): string {
  const named = readNamedTests();
  const sections = Object.entries(families).map(([letter, title]) => {
    const rows = Object.entries(faults).filter(([id]) => id.startsWith(letter));
    const lines = rows.map(([id, words]) => `| ${id} | ${words} | ${coveredBy(named, id)} |`);
    return [`## ${title}`, '', '| | fault | covered by |', '| --- | --- | --- |', ...lines].join(
      '\n',
    );
  });
  return `${head}\n${sections.join('\n\n')}\n`;
}

function coveredBy(named: NamedTest[], id: string): string {
  const own = named.filter(({ ids }) => ids.includes(id));
  return own.map(({ file, name }) => `\`${file}\`: ${name.replace(/[|\\]/g, '\\$&')}`).join('<br>');
}

const head = `<!-- Written by npm run docs from the names of the tests. -->
# Faults and the tests that cover them

Each fault has a number. The tests that cover it have the number in their names: \`npx vitest run -t '\\[P7'\`.
Parts of a fault that no test covers, and why, are in [guarantees.md](guarantees.md#what-no-test-covers).
`;
