import { lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { packageRoot } from './package-root.ts';

/** What lets another user decide what lies at a path, and how to end that. */
export type Distrust = { what: string; cure: string };

const writableByAll = 0o002;
const writableByGroup = 0o020;
const sticky = 0o1000;
/** As many links as Linux follows. */
const linksMax = 40;

/**
 * Walks to the path, through links, and returns what another user may change on the way: an owner other than this user
 * or root, or a right of others to write. Null where there is nothing of the kind, or nothing at the path.
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
    if (links > linksMax) return { what: `${path} is a circle of links`, cure: 'remove them' };
    const target = readlinkSync(next);
    names.unshift(...target.split('/'));
    at = target.startsWith('/') ? '/' : dirname(next);
  }
  return null;
}

/** As `findDistrust`, for the thing itself. A sticky directory may be shared: in it nobody can replace what is ours. */
function distrustOf(
  path: string,
  stats: Stats,
  { isSharedAllowed }: { isSharedAllowed: boolean },
): Distrust | null {
  if (!trustedOwners().includes(stats.uid)) {
    return {
      what: `${path} belongs to user ${stats.uid}`,
      cure: `run the command as that user, or make it your own with chown`,
    };
  }
  // A link's own mode means nothing.
  if (stats.isSymbolicLink() || (isSharedAllowed && (stats.mode & sticky) !== 0)) return null;
  const cure = `take that right away: chmod go-w ${path}`;
  if ((stats.mode & writableByAll) !== 0) return { what: `every user may write ${path}`, cure };
  if ((stats.mode & writableByGroup) !== 0 && !isPrivateGroup(stats)) {
    return { what: `every user of group ${stats.gid} may write ${path}`, cure };
  }
  return null;
}

/**
 * This user and root. Besides them the owner of the program, who could change what it does, and the owner of the whole
 * file system, who is root under another number in some containers.
 */
export function trustedOwners(): number[] {
  const own = process.getuid?.() ?? 0;
  return [0, own, ...['/', packageRoot()].map((path) => lstatSync(path).uid)];
}

/** Many systems give each user a group of the same number, and let it write by default. */
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

/** Null where there is nothing, or nothing that this user may see. */
function lookAt(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(code)) return null;
    throw error;
  }
}
