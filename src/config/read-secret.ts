import { LedgerError } from '../kernel/errors.ts';
import type { Environment } from '../kernel/vocabulary.ts';

/** Returns a secret, and the file that it came from. Throws an Error that names the setting and its mistake. */
export function readSecret(
  env: Environment,
  name: string,
  readFile: (path: string) => string,
): { text: string | undefined; file: string | undefined } {
  const fileName = `${name}_FILE`;
  const own = textOf(env, name);
  const path = textOf(env, fileName);
  if (path === undefined) return { text: own, file: undefined };
  if (own !== undefined)
    throw new Error(`${name}: set together with ${fileName}; keep one of them`);
  const text = readSettingFile(fileName, path, readFile).replace(/[\r\n]+$/, '');
  if (text.trim() === '') throw new Error(`${fileName}: the file ${path} is empty`);
  return { text, file: path };
}

/** Reads a file that the setting `name` names; throws an Error that begins with the name. */
export function readSettingFile(
  name: string,
  path: string,
  readFile: (path: string) => string,
): string {
  try {
    return readFile(path);
  } catch (cause) {
    if (cause instanceof LedgerError) {
      throw new Error(`${name}: ${cause.message}; ${cause.cure}`, { cause });
    }
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`${name}: the file ${path} cannot be read (${code ?? 'unknown reason'})`, {
      cause,
    });
  }
}

/** Returns the text of a variable; undefined if it is not set or blank. */
export function textOf(env: Environment, name: string): string | undefined {
  const text = env[name];
  return text === undefined || text.trim() === '' ? undefined : text;
}
