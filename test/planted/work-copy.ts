import {
  cpSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { type Edit, editsOf, type PlantedBug } from './planted-bug.ts';
import { type Ended, runBriefly } from './run-briefly.ts';

/** A work tree in the temporary directory, in which a bug may be planted. */
export type WorkCopy = {
  folder: string;
  /** Plants it; the returned function takes it out again. */
  plant(bug: PlantedBug): () => void;
  /** Whether the program compiles as it is now, types included. */
  compile(signal: AbortSignal): Promise<Ended>;
  remove(): void;
};

/** What is not copied: it is made anew, or belongs to the machine. */
const leftOut = new Set(['node_modules', 'dist', '.git', 'coverage', '.wallet-ledger', '.env']);
const compileMaxMs = 120_000;

export function copyWorkTree(root: string): WorkCopy {
  const folder = mkdtempSync(join(tmpdir(), 'wallet-ledger-planted-'));
  cpSync(root, folder, {
    recursive: true,
    filter: (source) => !leftOut.has(relative(root, source).split(sep)[0] ?? ''),
  });
  symlinkSync(realpathSync(join(root, 'node_modules')), join(folder, 'node_modules'));
  return {
    folder,
    plant(bug) {
      const texts = new Map<string, string>();
      for (const { file, ...edit } of editsOf(bug)) {
        const path = join(folder, file);
        const text = readFileSync(path, 'utf8');
        if (!texts.has(path)) texts.set(path, text);
        writeFileSync(path, applyEdit(text, edit));
      }
      return () => {
        for (const [path, text] of texts) writeFileSync(path, text);
      };
    },
    compile: (signal) =>
      runBriefly(
        process.execPath,
        ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noEmit'],
        { cwd: folder, maxMs: compileMaxMs, signal },
      ),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The text with its one occurrence of `find` replaced. */
export function applyEdit(text: string, { find, put }: Omit<Edit, 'file'>): string {
  const [before, after, ...more] = text.split(find);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`“${find}” does not occur exactly once`);
  }
  return before + put + after;
}
