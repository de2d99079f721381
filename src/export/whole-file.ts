import { randomBytes } from 'node:crypto';
import { type FileHandle, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LedgerError } from '../kernel/errors.ts';
import { trustedOwners } from '../kernel/trusted-path.ts';

/**
 * Writes a file that appears under its name only when it is complete and on the disk; until then it has another name in
 * the same folder. A symbolic link of this user stays, and the file that it leads to is replaced. A link of another
 * user is refused, because that user could make it lead to any file. Throws LedgerError `usage` if the name cannot
 * become a file.
 */
export async function writeWholeFile(
  path: string,
  pieces: AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const target = await targetOf(path);
  const partial = join(
    dirname(target),
    `.${basename(target)}.${randomBytes(6).toString('hex')}.partial`,
  );
  const file = await open(partial, 'wx').catch((error: Error) => refuse(path, error.message));
  try {
    await fill(file, pieces);
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  await syncFolder(dirname(target));
}

async function fill(file: FileHandle, pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
  try {
    for await (const piece of pieces) await file.writeFile(piece);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Returns the file to replace: the one that a link leads to, or the path itself if nothing exists there yet. */
async function targetOf(path: string): Promise<string> {
  const named = await lstat(path).catch(() => null);
  if (named?.isSymbolicLink() && !trustedOwners().includes(named.uid))
    refuse(path, `it is a symbolic link of user ${named.uid}`);
  // Renaming replaces a link that appears meanwhile, and never follows it.
  const target = named?.isSymbolicLink() ? await realpath(path).catch(() => path) : path;
  const found = await stat(target).catch(() => null);
  if (found !== null && !found.isFile()) refuse(path, 'it exists and is no regular file');
  return target;
}

/** Flushes the folder to the disk as well, because it stores the new name. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  // Some file systems cannot flush a folder.
  await handle.sync().catch(() => undefined);
  await handle.close();
}

function refuse(path: string, why: string): never {
  throw new LedgerError('usage', `cannot write the file ${path}: ${why}`, {
    cure: 'name a file in an existing folder, or leave --out away to write to standard output',
  });
}
