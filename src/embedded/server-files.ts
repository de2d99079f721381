import { randomBytes } from 'node:crypto';
import { chmod, chown, link, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readOwnFile } from './own-file.ts';

/** Absolute paths of the embedded database's files. */
export type ServerFiles = {
  home: string;
  /** PostgreSQL's own data directory; it exists only once it is complete. */
  data: string;
  /** Password of the program's role, readable by its owner only. */
  password: string;
  log: string;
};

/** Directory of root for files that the server's account cannot reach elsewhere. */
export const rootHome = '/var/lib/wallet-ledger';

export type Owner = { uid: number; gid: number };

export function locateServerFiles(dataDir: string): ServerFiles {
  const home = resolve(dataDir);
  return {
    home,
    data: join(home, 'postgres'),
    password: join(home, 'postgres.password'),
    log: join(home, 'postgres.log'),
  };
}

/** Creates the home directory. If root owns it, others may traverse it, because PostgreSQL does not run as root. */
export async function makeHome(files: ServerFiles): Promise<void> {
  const isRoot = process.getuid?.() === 0;
  const first = await makeDirectories(files.home);
  if (!isRoot || first === undefined) return;
  // The umask restricts the mode that is given to mkdir.
  for (let made = files.home; made.length >= first.length; made = dirname(made)) {
    await chmod(made, 0o711);
  }
}

/**
 * Creates a directory and those above it. Returns the first one that it created. Node's own `recursive` never ends if a
 * file system, such as /proc, answers ENOENT in a directory that exists.
 */
async function makeDirectories(path: string): Promise<string | undefined> {
  const first = await makeDirectory(path);
  if (first !== 'no parent') return first;
  const above = await makeDirectories(dirname(path));
  const last = await makeDirectory(path);
  if (last === 'no parent')
    throw new Error(`${path} cannot be created: its file system allows none`);
  return above ?? last;
}

async function makeDirectory(path: string): Promise<string | 'no parent' | undefined> {
  try {
    await mkdir(path, { mode: 0o700 });
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(path) !== path) return 'no parent';
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return undefined;
    throw error;
  }
}

/** Returns the password of the program's role; generates it if there is none yet. */
export async function ensurePassword(files: ServerFiles, owner: Owner | null): Promise<string> {
  const stored = readOwnFile(files.password);
  if (stored !== null) return stored;
  const draft = `${files.password}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
    if (owner) await chown(draft, owner.uid, owner.gid);
    // Linking is atomic and the first process wins, so that processes that start together use the same password.
    await link(draft, files.password).catch(ignoreExisting);
  } finally {
    await rm(draft, { force: true });
  }
  return readOwnFile(files.password) ?? '';
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
