import type { Environment } from '../kernel/vocabulary.ts';
import { textOf } from './read-secret.ts';
import { readSettingTexts, type SettingTexts } from './read-setting-texts.ts';
import type { SettingName } from './settings.ts';
import { prefixOf } from './wallet-names.ts';

/** Texts of the settings that apply to one wallet; `files` and `problems` are those of its own variables. */
export type WalletTexts = SettingTexts & {
  name: string;
  prefix: string;
  /**
   * Returns the variable that sets the setting: the wallet's own if it is set, otherwise the shared one. For a secret
   * from a file, returns the variable that names the file.
   */
  variableOf: (name: SettingName) => string;
};

/** Reads the wallet's own variables. A variable that is not set has the text of the shared one. */
export function readWalletTexts(
  env: Environment,
  readFile: (path: string) => string,
  shared: SettingTexts,
  name: string,
): WalletTexts {
  const prefix = prefixOf(name);
  const own = readSettingTexts(env, readFile, prefix);
  const texts = { ...shared.texts, ...own.texts };
  // A variable of the wallet itself that cannot be read must not fall back to the shared text.
  for (const each of own.given) if (own.texts[each] === undefined) delete texts[each];
  return {
    ...own,
    name,
    prefix,
    texts,
    given: new Set([...shared.given, ...own.given]),
    variableOf: (setting) => fileVariable(env, own.given.has(setting) ? prefix + setting : setting),
  };
}

function fileVariable(env: Environment, variable: string): string {
  const file = `${variable}_FILE`;
  const isFromFile = textOf(env, variable) === undefined && textOf(env, file) !== undefined;
  return isFromFile ? file : variable;
}
