import { randomBytes } from 'node:crypto';
import { type FileHandle, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LedgerError } from '../kernel/errors.ts';
import { trustedOwners } from '../kernel/trusted-path.ts';

/**
 * Writes a file that appears under its name only when it is whole and on the disk: until then it has another name in
 * the same folder. A symbolic link of this user stays, and the file that it leads to is replaced; one of another user,
 * who could choose any file, is refused. Throws LedgerError `usage` if the name cannot become a file.
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

/** The file to replace: that behind a link, or the path itself where there is nothing yet. */
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

/** The new name is kept by the folder, which has to be on the disk as well. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  // Some file systems cannot do it for a folder.
  await handle.sync().catch(() => undefined);
  await handle.close();
}

function refuse(path: string, why: string): never {
  throw new LedgerError('usage', `cannot write the file ${path}: ${why}`, {
    cure: 'name a file in an existing folder, or leave --out away to write to standard output',
  });
}
