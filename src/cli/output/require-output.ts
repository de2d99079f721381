import { fstatSync, readSync, statSync } from 'node:fs';
import { LedgerError } from '../../kernel/errors.ts';

const standardOutput = 1;

/**
 * Throws LedgerError `usage` if standard output was closed by the caller, before a command does what cannot be undone
 * or repeated. Node opens /dev/null for a closed descriptor, so that writing to it never fails.
 */
export function requireOutput(cure: string): void {
  if (isClosedOutput())
    throw new LedgerError('usage', 'standard output is closed: nobody would read it', { cure });
}

/** Node opens /dev/null for reading as well; a shell that redirects to it opens it for writing only. */
function isClosedOutput(): boolean {
  try {
    const output = fstatSync(standardOutput);
    if (!output.isCharacterDevice() || output.rdev !== statSync('/dev/null').rdev) return false;
    readSync(standardOutput, new Uint8Array(1));
    return true;
  } catch {
    return false;
  }
}
