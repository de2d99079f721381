import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { LedgerError } from '../kernel/errors.ts';
import type { Environment } from './read-setting-texts.ts';
import { readTrustedFile } from './read-trusted-file.ts';

/**
 * The process's environment, over the variables of a `.env` file in the directory (the working directory), if there
 * is one. Throws a settings error when the file is there and cannot be read, or may be another user's doing.
 */
export function readEnvironment(directory = '.'): Environment {
  return { ...parseEnv(readEnvFile(environmentFile(directory))), ...process.env };
}

/** The path of the `.env` file, whether it is there or not. */
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
