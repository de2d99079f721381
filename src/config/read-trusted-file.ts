import { readFileSync, statSync } from 'node:fs';
import { LedgerError } from '../kernel/errors.ts';
import { findDistrust } from '../kernel/trusted-path.ts';

/**
 * The text of a file that only this user and root can have written. Throws a settings error that names what another
 * user may change, and the file system's own error where the file cannot be read.
 */
export function readTrustedFile(path: string): string {
  // Throws where nothing is there: what is absent needs no trust, and is not read if it comes meanwhile.
  statSync(path);
  const distrust = findDistrust(path);
  if (distrust) {
    const message = `the file ${path} is not read, for it may be another user's doing: ${distrust.what}`;
    throw new LedgerError('settings', message, { cure: distrust.cure });
  }
  return readFileSync(path, 'utf8');
}
