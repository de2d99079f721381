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
 * Matches a setting, a comment or a blank line. A quoted value may span lines. An indented comment is a mistake,
 * because Node reads it and the setting after it as one setting with a strange name. So is a `#` in an unquoted value,
 * where Node cuts the value, unless a blank precedes it: there a comment begins, as in other programs.
 */
const entry =
  /^(?:[^\S\n]*(?:export\s+)?[\w.-]+[^\S\n]*=(?:[^\S\n]*(?:'[^']*'|"[^"]*"|`[^`]*`)[^\n]*|[^\n#]*(?:(?<=[^\S\n])#[^\n]*)?)|#[^\n]*|[^\S\n]*)$/gm;
const cutSetting = /^\s*(?:export\s+)?[\w.-]+\s*=/;

/** Returns the text. Throws a settings error that names the lines with a mistake; they may hold a secret. */
function withoutMistakes(text: string, path: string): string {
  const unix = text.replaceAll('\r\n', '\n');
  const mistaken = unix
    // Keeps the line ends, so that the numbers of the lines stay.
    .replaceAll(entry, (whole) => whole.replaceAll(/[^\n]/g, ''))
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [{ line, number: index + 1 }]));
  if (mistaken.length === 0) return text;
  const isCut = ({ line }: { line: string }) => cutSetting.test(line);
  const empty = mistaken.filter((each) => !isCut(each));
  const cut = mistaken.filter(isCut);
  const faults = [
    ...(empty.length > 0 ? [`no NAME=value in ${lineWords(empty)}`] : []),
    ...(cut.length > 0 ? [`a value with # without quotes in ${lineWords(cut)}`] : []),
  ];
  const quote = cut.length > 0 ? "put a value with # in quotes, as in NAME='…#…'" : 'correct it';
  throw new LedgerError('settings', `the file ${path} has ${faults.join(', and ')}`, {
    cure: `${quote}; a comment begins with # in the first column, or with a blank and # behind a value`,
  });
}

function lineWords(lines: readonly { number: number }[]): string {
  const numbers = lines.map(({ number }) => number).join(', ');
  return `${lines.length === 1 ? 'line' : 'lines'} ${numbers}`;
}

function unreadable(path: string, code: string, cause: unknown): LedgerError {
  return new LedgerError('settings', `the file ${path} cannot be read (${code})`, {
    cause,
    cure: 'let this user read it, or move it away',
  });
}
