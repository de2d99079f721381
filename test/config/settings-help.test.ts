import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { parseSettings } from '../../src/config/parse-settings.ts';
import {
  renderEnvExample,
  renderSettingsDoc,
  renderSettingsTable,
} from '../../src/config/settings-help.ts';
import { settingsTable } from '../../src/config/settings-table.ts';

const example = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');

test('.env.example is what the table of settings says', () => {
  // Otherwise: npm run docs
  expect(example).toBe(renderEnvExample());
});

test('docs/settings.md is what the table of settings says', () => {
  const page = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
  // Otherwise: npm run docs
  expect(page).toBe(renderSettingsDoc());
});

test('the defaults of .env.example, uncommented, are the defaults of the program', () => {
  const uncommented = parseEnv(example.replace(/^# ([A-Z][A-Z0-9_]+=)/gm, '$1'));
  expect(new Set(Object.keys(uncommented))).toEqual(new Set(Object.keys(settingsTable)));
  const readFile = () => '';
  expect(parseSettings(uncommented, readFile)).toEqual(parseSettings({}, readFile));
});

test('the settings table has a row for every setting', () => {
  const rows = renderSettingsTable();
  for (const name of Object.keys(settingsTable)) expect(rows).toContain(`| \`${name}\``);
  expect(rows).toContain('| `WALLET_BASE_URL` | (required) |');
});
