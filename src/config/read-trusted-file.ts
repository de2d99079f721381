import { readFileSync, statSync } from 'node:fs';
import { LedgerError } from '../kernel/errors.ts';
import { findDistrust } from '../kernel/trusted-path.ts';

/**
 * Returns the text of a file that only trusted users (see `trustedOwners`) can have written. Throws a settings error
 * that names what another user may change, or the file system's error if the file cannot be read.
 */
export function readTrustedFile(path: string): string {
  // Throws if the file is missing: `findDistrust` accepts a missing path, and a file created after that check would be
  // read unchecked.
  const stats = statSync(path);
  if (stats.isDirectory() || stats.isCharacterDevice()) {
    throw new LedgerError('settings', `${path} is not a file`, { cure: 'name a file' });
  }
  const distrust = findDistrust(path);
  if (distrust) {
    const message = `the file ${path} is not read, because another user could have changed it: ${distrust.what}`;
    throw new LedgerError('settings', message, { cure: distrust.cure });
  }
  // Editors and shells of Windows begin a text with a byte order mark, which would belong to its first name.
  return readFileSync(path, 'utf8').replace(/^\ufeff/, '');
}
