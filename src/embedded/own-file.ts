import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Returns the text of a file, or null if there is none. Throws if the path is a link. */
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

/**
 * Opens a file for appending, creates it if it is missing, and throws if the path is a link. Returns its descriptor and
 * length in bytes.
 */
export function openOwnFile(path: string): { file: number; bytes: number } {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  return { file, bytes: fstatSync(file).size };
}
