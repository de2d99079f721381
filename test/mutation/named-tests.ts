import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The test files of a working tree, with their text. */
export function readTestFiles(root: string): Map<string, string> {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name));
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

/** The files that have a test with this title, each as often as it has one. The codes of its faults may precede it. */
export function filesOfTest(files: ReadonlyMap<string, string>, title: string): string[] {
  const quoted = new RegExp(`(['"\`])(\\[[A-Z0-9 ]+\\] )?${escaped(title)}\\1`, 'g');
  const holding = [...files].filter(([, text]) => text.includes(title));
  return holding.flatMap(([file, text]) => [...text.matchAll(quoted)].map(() => file));
}

/** Matches the title in reports: placeholders of tables of cases match anything. */
export function titlePattern(title: string): string {
  return escaped(title).replace(/%[a-z]/g, '[^]*');
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
