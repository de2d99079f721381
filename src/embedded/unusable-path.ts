import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { LedgerError } from '../kernel/errors.ts';

/** Node's codes for a path that this user may not use, or that leads through a file. */
const codes = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST']);

/** Returns true for a failure that is caused by the setting of the path or by its rights. */
export function isUnusablePath(error: unknown): boolean {
  return error instanceof Error && codes.has((error as NodeJS.ErrnoException).code ?? '');
}

/** Throws LedgerError `settings` if the data directory is something else, or is not accessible to this user. */
export async function assertDirectory(home: string): Promise<void> {
  const stats = await assertPassable(home);
  if (stats && !stats.isDirectory()) throw refusal(`${home} is not a directory`);
}

/** Throws LedgerError `settings` if this user may not see whether the path exists. Returns null if it does not. */
export async function assertPassable(path: string): Promise<Stats | null> {
  return await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (!isUnusablePath(error)) return null;
    throw refusal(`this user cannot use ${path} (${error.code})`, error);
  });
}

function refusal(what: string, cause?: unknown): LedgerError {
  return new LedgerError('settings', `LEDGER_DATA_DIR: ${what}`, {
    cause,
    cure: 'set it to a directory that this user may write, or set DATABASE_URL',
  });
}
