import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LedgerError } from '../kernel/errors.ts';
import { findDistrust } from '../kernel/trusted-path.ts';
import type { ServerFiles } from './server-files.ts';

/** Number in the socket's name. The server does not listen on a TCP port. */
export const serverPort = 5432;

/** Upper bound of a socket address in bytes, without the terminating zero. */
const pathBytesMax = process.platform === 'linux' ? 107 : 103;

/** Returns true if the path of the server's socket in this directory is short enough. */
export function isSocketPathShort(directory: string): boolean {
  return Buffer.byteLength(join(directory, `.s.PGSQL.${serverPort}`)) <= pathBytesMax;
}

/**
 * Returns the directory of the server's socket, which only its user may enter. It is the data directory or, if that
 * path is too long, a directory below the user's home. Throws LedgerError `settings` if neither works.
 */
export async function prepareSocketDirectory({ data, home }: ServerFiles): Promise<string> {
  if (isSocketPathShort(data)) return data;
  const directory = join(homedir(), '.cache', 'wallet-ledger', shortNameOf(home));
  if (!isSocketPathShort(directory)) throw tooLong(home, `so is ${directory}`);
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: Error) => {
    throw tooLong(home, error.message);
  });
  const distrust = findDistrust(directory);
  if (distrust) throw tooLong(home, distrust.what);
  return directory;
}

/** Returns a short, deterministic name for a path. */
export function shortNameOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 12);
}

function tooLong(home: string, why: string): LedgerError {
  return new LedgerError(
    'settings',
    `LEDGER_DATA_DIR: ${home} is too long a path for a socket, and no other directory can be used: ${why}`,
    { cure: 'set LEDGER_DATA_DIR to a shorter path' },
  );
}
