import { randomBytes } from 'node:crypto';
import { chmod, chown, link, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readOwnFile } from './own-file.ts';

/** Where the embedded database keeps what it has; absolute paths. */
export type ServerFiles = {
  home: string;
  /** PostgreSQL's own data directory; it exists only once it is complete. */
  data: string;
  /** The password of the program's role, for its owner only. */
  password: string;
  log: string;
};

/** Where root keeps what the account of the server cannot reach elsewhere. */
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

/** Makes the home directory. Root's lets others pass, because PostgreSQL itself does not run as root. */
export async function makeHome(files: ServerFiles): Promise<void> {
  const isRoot = process.getuid?.() === 0;
  const first = await mkdir(files.home, { recursive: true, mode: 0o700 });
  if (!isRoot || first === undefined) return;
  // A mode given to mkdir is narrowed by the umask.
  for (let made = files.home; made.length >= first.length; made = dirname(made)) {
    await chmod(made, 0o711);
  }
}

/** The password of the program's role; made up where there is none yet. */
export async function ensurePassword(files: ServerFiles, owner: Owner | null): Promise<string> {
  const stored = readOwnFile(files.password);
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
  return readOwnFile(files.password) ?? '';
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
