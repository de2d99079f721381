import type { Environment } from '../kernel/vocabulary.ts';
import { readSecret, textOf } from './read-secret.ts';
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
      const { text, file } = setting.isSecret
        ? readSecret(env, name, readFile)
        : { text: textOf(env, name), file: undefined };
      if (text !== undefined) result.texts[name] = text;
      if (file !== undefined) result.files.push(file);
    } catch (error) {
      result.problems.push((error as Error).message);
    }
  }
  return result;
}
