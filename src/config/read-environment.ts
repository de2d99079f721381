import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { LedgerError } from '../kernel/errors.ts';
import type { Environment } from './read-setting-texts.ts';
import { readTrustedFile } from './read-trusted-file.ts';

/**
 * Returns the process's environment, which takes precedence over the `.env` file in `directory` (default: the working
 * directory). Throws a settings error if that file cannot be read, or if another user may have written it.
 */
export function readEnvironment(directory = '.'): Environment {
  return { ...parseEnv(readEnvFile(environmentFile(directory))), ...process.env };
}

/** Returns the path of the `.env` file, whether the file exists or not. */
export function environmentFile(directory = '.'): string {
  return resolve(directory, '.env');
}

function readEnvFile(path: string): string {
  try {
    return readTrustedFile(path);
  } catch (error) {
    if (error instanceof LedgerError) throw error;
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '';
    throw unreadable(path, code, error);
  }
}

function unreadable(path: string, code: string, cause: unknown): LedgerError {
  return new LedgerError('settings', `the file ${path} cannot be read (${code})`, {
    cause,
    cure: 'let this user read it, or move it away',
  });
}
