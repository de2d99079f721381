import { lstat, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Owner } from './server-files.ts';

/** Whose rights PostgreSQL's programs run with. */
export type ServerAccount = {
  /** Null: this process's own user. */
  owner: Owner | null;
};

const nobody: Owner = { uid: 65534, gid: 65534 };

/**
 * PostgreSQL refuses to run as root. So root runs it as the owner of the data, or else as the user `postgres`, or
 * else as `nobody`; without any right that such a user has not got by itself.
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

/** Whether the account may pass all directories above the path, and enter or run what is there, once it is. */
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
