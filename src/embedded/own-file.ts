import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** The text of a file, or null where there is none. A link in its place is not followed: opening it fails. */
export function readOwnFile(path: string): string | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR'].includes(code)) return null;
    throw error;
  }
  try {
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

/** Opens a file for appending, makes it where there is none, and follows no link. Returns its descriptor and length. */
export function openOwnFile(path: string): { file: number; bytes: number } {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  return { file, bytes: fstatSync(file).size };
}
