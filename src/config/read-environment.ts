import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { LedgerError } from '../kernel/errors.ts';
import type { Environment } from '../kernel/vocabulary.ts';
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
    return withoutMistakes(readTrustedFile(path), path);
  } catch (error) {
    if (error instanceof LedgerError) throw error;
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '';
    throw unreadable(path, code, error);
  }
}

/**
 * A setting, whose quoted value may have several lines; a comment; or a blank line. Node takes an indented comment and
 * the setting behind it for one setting with a strange name.
 */
const entry =
  /^(?:[^\S\n]*(?:export\s+)?[\w.-]+[^\S\n]*=(?:[^\S\n]*(?:'[^']*'|"[^"]*"|`[^`]*`)[^\n]*|[^\n]*)|#[^\n]*|[^\S\n]*)$/gm;

/** Returns the text. Throws a settings error that names the lines that set nothing; they may hold a secret. */
function withoutMistakes(text: string, path: string): string {
  const unix = text.replaceAll('\r\n', '\n');
  const mistaken = unix
    // Keeps the line ends, so that the numbers of the lines stay.
    .replaceAll(entry, (whole) => whole.replaceAll(/[^\n]/g, ''))
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [index + 1]));
  if (mistaken.length === 0) return text;
  const lines = `${mistaken.length === 1 ? 'line' : 'lines'} ${mistaken.join(', ')}`;
  throw new LedgerError('settings', `the file ${path} has no NAME=value in ${lines}`, {
    cure: 'correct it; a comment begins with # in the first column',
  });
}

function unreadable(path: string, code: string, cause: unknown): LedgerError {
  return new LedgerError('settings', `the file ${path} cannot be read (${code})`, {
    cause,
    cure: 'let this user read it, or move it away',
  });
}
