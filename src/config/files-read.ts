import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { environmentFile } from './read-environment.ts';
import { isSigningRecipe } from './setting-parsers.ts';
import type { Settings } from './settings.ts';

/** Returns the absolute paths of every file that the settings come from or name as code. */
export function filesRead({ wallets, secretFiles }: Settings): string[] {
  const envFile = environmentFile();
  const paths = [
    ...(existsSync(envFile) ? [envFile] : []),
    ...secretFiles,
    ...wallets.flatMap(({ service }) =>
      service && !isSigningRecipe(service.signer) ? [service.signer] : [],
    ),
  ];
  return [...new Set(paths.map((path) => resolve(path)))];
}
