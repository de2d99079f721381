import { type SettingTexts, settingEntries } from './read-setting-texts.ts';
import type { SettingName, SettingValues } from './settings.ts';

/** Parses the texts. Returns the readable values, and a problem for each text that is not valid. */
export function readValues(
  texts: SettingTexts['texts'],
  variableOf: (name: SettingName) => string = (name) => name,
): { values: Partial<SettingValues>; problems: string[] } {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, setting] of settingEntries) {
    const text = texts[name] ?? setting.default;
    if (text === null) {
      values[name] = null;
      continue;
    }
    const result = setting.parser.safeParse(text);
    if (result.success) values[name] = result.data;
    else {
      const shown = !setting.isSecret && isShown(text) ? JSON.stringify(text) : 'the value';
      const expected = result.error.issues[0]?.message;
      problems.push(`${variableOf(name)}: ${shown} is not valid; expected ${expected}`);
    }
  }
  return { values: values as Partial<SettingValues>, problems };
}

/** Returns true if an error may quote the value: a long value may be a secret in the wrong place. */
function isShown(text: string): boolean {
  return text.length <= 40 && !text.includes('://');
}
