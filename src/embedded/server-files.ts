import { randomBytes } from 'node:crypto';
import { chown, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** Where the embedded database keeps what it has; absolute paths. */
export type ServerFiles = {
  home: string;
  /** PostgreSQL's own data directory; it exists only once it is complete. */
  data: string;
  /** The superuser's password, for its owner only. */
  password: string;
  log: string;
};

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

/** Makes the home directory. Root's lets others pass, because PostgreSQL itself does not run as root. */
export async function makeHome(files: ServerFiles): Promise<void> {
  await mkdir(files.home, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
}

/** The superuser's password; made up where there is none yet. */
export async function ensurePassword(files: ServerFiles, owner: Owner | null): Promise<string> {
  const stored = await readPassword(files);
  if (stored !== null) return stored;
  const draft = `${files.password}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
    if (owner) await chown(draft, owner.uid, owner.gid);
    // Whole or not at all, and the first one wins: processes that start together agree.
    await link(draft, files.password).catch(ignoreExisting);
  } finally {
    await rm(draft, { force: true });
  }
  return await readFile(files.password, 'utf8');
}

async function readPassword(files: ServerFiles): Promise<string | null> {
  try {
    return await readFile(files.password, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
