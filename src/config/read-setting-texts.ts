import type { Environment } from '../kernel/vocabulary.ts';
import { readSecret, textOf } from './read-secret.ts';
import type { Setting } from './setting-parsers.ts';
import type { SettingName } from './settings.ts';
import { settingsTable } from './settings-table.ts';
import { isPerWallet } from './wallet-names.ts';

/** Texts of the settings, the files of secrets that were read, and the problems of their sources. */
export type SettingTexts = {
  texts: Partial<Record<SettingName, string>>;
  /** The settings that are set, those included whose text could not be read. */
  given: Set<SettingName>;
  files: string[];
  problems: string[];
};

export const settingEntries = Object.entries(settingsTable) as [SettingName, Setting][];

/**
 * Collects the text of each setting from its variable, or for a secret from the file that NAME_FILE names. With the
 * prefix of a wallet, reads the variables that set something for that wallet alone.
 */
export function readSettingTexts(
  env: Environment,
  readFile: (path: string) => string,
  prefix = '',
): SettingTexts {
  const result: SettingTexts = { texts: {}, given: new Set(), files: [], problems: [] };
  for (const [name, setting] of settingEntries) {
    if (prefix !== '' && !isPerWallet(name)) continue;
    try {
      const { text, file } = setting.isSecret
        ? readSecret(env, prefix + name, readFile)
        : { text: textOf(env, prefix + name), file: undefined };
      if (file !== undefined) result.files.push(file);
      if (text === undefined) continue;
      result.texts[name] = text;
      result.given.add(name);
    } catch (error) {
      result.given.add(name);
      result.problems.push((error as Error).message);
    }
  }
  return result;
}
