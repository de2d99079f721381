import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LedgerError } from '../kernel/errors.ts';
import { findDistrust } from '../kernel/trusted-path.ts';
import type { ServerFiles } from './server-files.ts';

/** The number in the socket's name. Nothing listens on a port of that number. */
export const serverPort = 5432;

/** What the address of a socket holds, less the zero at its end. */
const pathBytesMax = process.platform === 'linux' ? 107 : 103;

/** Whether the socket of a server fits into this directory's path. */
export function isSocketPathShort(directory: string): boolean {
  return Buffer.byteLength(join(directory, `.s.PGSQL.${serverPort}`)) <= pathBytesMax;
}

/**
 * The directory of the server's socket, which only its user may enter: the data themselves, or where their path is too
 * long for a socket a directory below the user's own home.
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

/** A short name that stands for a path, always the same. */
export function shortNameOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 12);
}

function tooLong(home: string, why: string): LedgerError {
  return new LedgerError(
    'settings',
    `LEDGER_DATA_DIR: ${home} is too long a path for a socket, and the other place is none either: ${why}`,
    { cure: 'set LEDGER_DATA_DIR to a directory with a shorter path' },
  );
}
