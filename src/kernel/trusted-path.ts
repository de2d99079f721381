import { lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { packageRoot } from './package-root.ts';

/** The reason why another user can change a path, and the action that prevents it. */
export type Distrust = { what: string; cure: string };

const writableByAll = 0o002;
const writableByGroup = 0o020;
const sticky = 0o1000;
/** Maximum of links that Linux follows. */
const linksMax = 40;

/**
 * Follows the path and its links, and returns what another user can change on the way. That is an owner outside
 * `trustedOwners`, or write permission for others. Returns null if there is none, or if the path is missing or not
 * accessible.
 */
export function findDistrust(path: string): Distrust | null {
  const names = resolve(path).split('/');
  let at = '/';
  let links = 0;
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const next = join(at, name);
    const stats = lookAt(next);
    if (stats === null) return null;
    const isLast = names.every((later) => later === '');
    const distrust = distrustOf(next, stats, { isSharedAllowed: !isLast });
    if (distrust) return distrust;
    if (!stats.isSymbolicLink()) {
      at = next;
      continue;
    }
    links += 1;
    if (links > linksMax)
      return {
        what: `${path} is a symbolic link that leads back to itself`,
        cure: 'remove the link',
      };
    const target = readlinkSync(next);
    names.unshift(...target.split('/'));
    at = target.startsWith('/') ? '/' : dirname(next);
  }
  return null;
}

/**
 * Checks one path. `isSharedAllowed` accepts a sticky directory, in which other users cannot replace this user's files.
 */
function distrustOf(
  path: string,
  stats: Stats,
  { isSharedAllowed }: { isSharedAllowed: boolean },
): Distrust | null {
  if (!trustedOwners().includes(stats.uid)) {
    return {
      what: `${path} belongs to user ${stats.uid}`,
      cure: `run the command as that user, or take ownership with chown`,
    };
  }
  // The mode of a link has no effect.
  if (stats.isSymbolicLink() || (isSharedAllowed && (stats.mode & sticky) !== 0)) return null;
  const cure = `run chmod go-w ${path}`;
  if ((stats.mode & writableByAll) !== 0) return { what: `every user may write ${path}`, cure };
  if ((stats.mode & writableByGroup) !== 0 && !isPrivateGroup(stats)) {
    return { what: `every user of group ${stats.gid} may write ${path}`, cure };
  }
  return null;
}

/**
 * Returns root, this user, and the owners of the program and of the root directory. The owner of the program can change
 * its behaviour anyway. In some containers the owner of the root directory is root under another number.
 */
export function trustedOwners(): number[] {
  const own = process.getuid?.() ?? 0;
  return [0, own, ...['/', packageRoot()].map((path) => lstatSync(path).uid)];
}

/**
 * Returns true for a group with the owner's number and no listed member but this user. Many systems create such a group
 * per user, with write permission by default.
 */
function isPrivateGroup({ uid, gid }: Stats): boolean {
  if (uid !== gid) return false;
  const members = membersOf(gid);
  return members.every((member) => member === ownName());
}

function membersOf(gid: number): string[] {
  try {
    const groups = readFileSync('/etc/group', 'utf8').split('\n');
    const [, , , members = ''] =
      groups.map((line) => line.split(':')).find(([, , number]) => number === String(gid)) ?? [];
    return members.split(',').filter((member) => member !== '');
  } catch {
    return [];
  }
}

function ownName(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}

/** Returns null if the path is missing or not accessible to this user. */
function lookAt(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(code)) return null;
    throw error;
  }
}
