import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LedgerError } from './errors.ts';

/**
 * Returns the folder that contains package.json, from any depth of the compiled file. Throws if the installation has
 * none.
 */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw incomplete();
    folder = parent;
  }
  return folder;
}

function incomplete(): LedgerError {
  const cure = 'install wallet-ledger again';
  return new LedgerError('unexpected', 'package.json is missing from the installation', { cure });
}
