import { lstatSync, type Stats } from 'node:fs';
import { LedgerError } from '../kernel/errors.ts';
import { type Distrust, findDistrust, trustedOwners } from '../kernel/trusted-path.ts';
import type { Owner, ServerFiles } from './server-files.ts';

const rightsOfOthersToWrite = 0o022;
const rightsOfOthers = 0o077;

/**
 * Throws a settings error when another user can write to the home directory or owns or can change a file in it. That
 * user could choose the password, or make root write elsewhere.
 */
export function assertOwnFiles(files: ServerFiles, owner: Owner | null): void {
  const owners = [...trustedOwners(), ...(owner ? [owner.uid] : [])];
  const look = (path: string, problemOf: (stats: Stats) => Distrust | null) => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats ? (problemOf(stats) ?? foreignness(path, stats, owners)) : null;
  };
  const distrust =
    findDistrust(files.home) ??
    look(files.data, (stats) =>
      stats.isDirectory() ? openness(files.data, stats, rightsOfOthersToWrite) : noLink(files.data),
    ) ??
    look(files.password, (stats) =>
      stats.isFile() ? openness(files.password, stats, rightsOfOthers) : noLink(files.password),
    ) ??
    look(files.log, (stats) =>
      stats.isFile() ? openness(files.log, stats, rightsOfOthersToWrite) : noLink(files.log),
    );
  if (distrust) {
    throw new LedgerError('settings', `LEDGER_DATA_DIR: ${distrust.what}`, { cure: distrust.cure });
  }
}

function noLink(path: string): Distrust {
  return { what: `${path} is not a regular file or directory`, cure: `remove ${path}` };
}

function openness(path: string, { mode }: Stats, forbidden: number): Distrust | null {
  if ((mode & forbidden) === 0) return null;
  return { what: `${path} is open to other users`, cure: `run chmod go-rwx ${path}` };
}

function foreignness(path: string, { uid }: Stats, owners: number[]): Distrust | null {
  if (owners.includes(uid)) return null;
  return {
    what: `${path} belongs to user ${uid}`,
    cure: 'run the command as that user, or set LEDGER_DATA_DIR to another directory',
  };
}
