import { lstat, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Owner } from './server-files.ts';

/** Account that runs PostgreSQL's programs. */
export type ServerAccount = {
  /** Null: the user of this process. */
  owner: Owner | null;
};

const nobody: Owner = { uid: 65534, gid: 65534 };

/**
 * Chooses the account of the server, because PostgreSQL refuses to run as root. Root runs it as the owner of the data,
 * else as the user `postgres`, else as `nobody`.
 */
export async function chooseServerAccount(
  dataDirectories: readonly string[],
): Promise<ServerAccount> {
  if (process.getuid?.() !== 0) return { owner: null };
  for (const directory of dataDirectories) {
    const owner = await dataOwner(directory);
    if (owner) return { owner };
  }
  return { owner: (await postgresUser()) ?? nobody };
}

async function dataOwner(directory: string): Promise<Owner | null> {
  const found = await lstat(directory).catch(() => null);
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : null;
}

async function postgresUser(): Promise<Owner | null> {
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const match = /^_?postgres:[^:]*:([1-9]\d*):(\d+):/m.exec(users);
  return match ? { uid: Number(match[1]), gid: Number(match[2]) } : null;
}

/**
 * Returns true if the account may pass all directories above the path, and enter or run the path itself if it exists.
 */
export async function isReachable(path: string, { owner }: ServerAccount): Promise<boolean> {
  if (owner === null) return true;
  const stats = await stat(path).catch(() => null);
  const parent = dirname(path);
  if (stats && !mayPass(stats, owner)) return false;
  return parent === path || (await isReachable(parent, { owner }));
}

function mayPass(stats: Owner & { mode: number }, { uid, gid }: Owner): boolean {
  const bit = stats.uid === uid ? 0o100 : stats.gid === gid ? 0o010 : 0o001;
  return (stats.mode & bit) !== 0;
}
