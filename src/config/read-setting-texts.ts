import { LedgerError } from '../kernel/errors.ts';
import type { Environment } from '../kernel/vocabulary.ts';
import type { Setting } from './setting-parsers.ts';
import type { SettingName } from './settings.ts';
import { settingsTable } from './settings-table.ts';

/** Texts of the settings, the files of secrets that were read, and the problems of their sources. */
export type SettingTexts = {
  texts: Partial<Record<SettingName, string>>;
  files: string[];
  problems: string[];
};

export const settingEntries = Object.entries(settingsTable) as [SettingName, Setting][];

/** Collects the text of each setting from its variable, or for a secret from the file that NAME_FILE names. */
export function readSettingTexts(
  env: Environment,
  readFile: (path: string) => string,
): SettingTexts {
  const result: SettingTexts = { texts: {}, files: [], problems: [] };
  for (const [name, setting] of settingEntries) {
    try {
      const text = setting.isSecret ? secretText(env, name, readFile) : textOf(env, name);
      if (text !== undefined) result.texts[name] = text;
      const file = setting.isSecret ? textOf(env, `${name}_FILE`) : undefined;
      if (file !== undefined) result.files.push(file);
    } catch (error) {
      result.problems.push((error as Error).message);
    }
  }
  return result;
}

function secretText(
  env: Environment,
  name: string,
  readFile: (path: string) => string,
): string | undefined {
  const fileName = `${name}_FILE`;
  const own = textOf(env, name);
  const path = textOf(env, fileName);
  if (path === undefined) return own;
  if (own !== undefined)
    throw new Error(`${name}: set together with ${fileName}; keep one of them`);
  const text = readSettingFile(fileName, path, readFile).replace(/[\r\n]+$/, '');
  if (text.trim() === '') throw new Error(`${fileName}: the file ${path} is empty`);
  return text;
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

function textOf(env: Environment, name: string): string | undefined {
  const text = env[name];
  return text === undefined || text.trim() === '' ? undefined : text;
}
