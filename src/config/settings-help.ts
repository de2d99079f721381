import { settingEntries } from './read-setting-texts.ts';

const envExampleHead = `# Settings of wallet-ledger. Copy this file to .env and fill in what is required.
# Variables of the process go before those of this file; an empty value means "not set".
# Durations: 500ms, 15s, 5m, 1h, 7d. NAME_FILE holds the path of a file with the value of a secret NAME.
`;

/**
 * Renders `.env.example` in the order of the table. Required settings are left empty; all others are commented out with
 * their default.
 */
export function renderEnvExample(): string {
  const blocks = settingEntries.map(([name, setting]) => {
    const line = setting.isRequired ? `${name}=` : `# ${name}=${setting.default ?? ''}`;
    return `# ${traits(setting)}${setting.help}\n${line}\n`;
  });
  return [envExampleHead, ...blocks].join('\n');
}

const settingsDocHead = `# Settings

Environment variables, also from a file \`.env\` in the working directory; variables of the process go first. All are
checked at the start, and every mistake is named at once. An empty value means "not set".

- Durations: \`500ms\`, \`15s\`, \`5m\`, \`1h\`, \`7d\`.
- \`NAME_FILE\` holds the path of a file with the value of the secret \`NAME\`; set one of the two.
- \`OTEL_*\`, the standard variables of OpenTelemetry, switch traces on: see [operations.md](operations.md#traces).

`;

/** Renders `docs/settings.md`. */
export function renderSettingsDoc(): string {
  return settingsDocHead + renderSettingsTable();
}

/** Renders a Markdown table of all settings. */
export function renderSettingsTable(): string {
  const rows = settingEntries.map(([name, setting]) => {
    const fallback = setting.isRequired ? '(required)' : setting.default;
    const shown =
      fallback === null || setting.isRequired ? (fallback ?? '(none)') : `\`${fallback}\``;
    const names = setting.isSecret ? `\`${name}\`, \`${name}_FILE\`` : `\`${name}\``;
    return `| ${names} | ${shown} | ${setting.help.replaceAll('|', '\\|')} |`;
  });
  return ['| name | default | meaning |', '| --- | --- | --- |', ...rows, ''].join('\n');
}

function traits(setting: { isRequired?: true; isSecret?: true }): string {
  const words = [setting.isRequired && 'required', setting.isSecret && 'secret'].filter(Boolean);
  return words.length === 0 ? '' : `(${words.join(', ')}) `;
}
