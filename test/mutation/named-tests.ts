import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The test files of a work tree, each with its text. */
export function readTestFiles(root: string): Map<string, string> {
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name));
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

/** The files that have a test of this title, each as often as it has one. The faults that it stands for may precede it. */
export function filesOfTest(files: ReadonlyMap<string, string>, title: string): string[] {
  const quoted = new RegExp(`(['"\`])(\\[[A-Z0-9 ]+\\] )?${escaped(title)}\\1`, 'g');
  const holding = [...files].filter(([, text]) => text.includes(title));
  return holding.flatMap(([file, text]) => [...text.matchAll(quoted)].map(() => file));
}

/** Matches the title as reports write it: the placeholders of tables of cases stand for anything. */
export function titlePattern(title: string): string {
  return escaped(title).replace(/%[a-z]/g, '[^]*');
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
