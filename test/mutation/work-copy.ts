import { cpSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import type { PlantedBug } from './planted-bug.ts';
import { plant, readSources } from './product-sources.ts';
import { type Ended, runBriefly } from './run-briefly.ts';

/** A working tree in the temporary directory, in which bugs can be planted. */
export type WorkCopy = {
  folder: string;
  /** Plants the bugs; the returned function removes them. */
  plant(...bugs: PlantedBug[]): () => void;
  /** Compiles the program as it is now, types included; code 0 if it is correct. */
  compile(signal: AbortSignal): Promise<Ended>;
  remove(): void;
};

/** Not copied: created again, or specific to the machine. */
const leftOut = new Set([
  'node_modules',
  'dist',
  'dist-tests',
  '.git',
  'coverage',
  '.wallet-ledger',
  '.env',
]);
const compileMaxMs = 120_000;

export function copyWorkTree(root: string): WorkCopy {
  const folder = mkdtempSync(join(tmpdir(), 'wallet-ledger-planted-'));
  cpSync(root, folder, {
    recursive: true,
    filter: (source) => !leftOut.has(relative(root, source).split(sep)[0] ?? ''),
  });
  symlinkSync(realpathSync(join(root, 'node_modules')), join(folder, 'node_modules'));
  const sources = readSources(folder);
  return {
    folder,
    plant(...bugs) {
      const changed = plant(sources, ...bugs);
      for (const [file, text] of changed) writeFileSync(join(folder, file), text);
      return () => {
        for (const file of changed.keys())
          writeFileSync(join(folder, file), sources.get(file) ?? '');
      };
    },
    compile: (signal) =>
      runBriefly(
        process.execPath,
        // One thread takes half the processor time of several, and as long.
        [
          'node_modules/typescript/bin/tsc',
          '-p',
          'tsconfig.build.json',
          '--noEmit',
          '--singleThreaded',
        ],
        { cwd: folder, maxMs: compileMaxMs, signal },
      ),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
