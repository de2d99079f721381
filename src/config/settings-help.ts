import { settingEntries } from './read-setting-texts.ts';
import type { Setting } from './setting-parsers.ts';
import { isPerWallet } from './wallet-names.ts';

const envExampleHead = `# Settings of wallet-ledger. Copy this file to .env and fill in what is required.
# Variables of the process go before those of this file; an empty value means "not set".
# A value with # stands in quotes; a comment begins with # in the first column, or with a blank and # behind a value.
# Durations: 500ms, 15s, 5m, 1h, 7d. NAME_FILE holds the path of a file with the value of a secret NAME.
# With several WALLETS, what is marked "per wallet" may be set for one of them: EU__WALLET_BASE_URL for the wallet eu.
`;

/**
 * Renders `.env.example` in the order of the table. Required settings are left empty; all others are commented out with
 * their default.
 */
export function renderEnvExample(): string {
  const blocks = settingEntries.map(([name, setting]) => {
    const line = setting.isRequired ? `${name}=` : `# ${name}=${setting.default ?? ''}`;
    return `# ${traits(name, setting)}${setting.help}\n${line}\n`;
  });
  return [envExampleHead, ...blocks].join('\n');
}

const settingsDocHead = `# Settings

Environment variables, also from a file \`.env\` in the working directory; variables of the process go first. All are
checked at the start, and every mistake is named at once. An empty value means "not set".

- In the file \`.env\`, a value that contains \`#\`, or that begins or ends with a blank or a quote, stands in quotes:
  \`HTTP_TOKEN='a#b'\`. A comment begins with \`#\` in the first column, or with a blank and
  \`#\` behind a value.
- Durations: \`500ms\`, \`15s\`, \`5m\`, \`1h\`, \`7d\`.
- \`NAME_FILE\` holds the path of a file with the value of the secret \`NAME\`; set one of the two.
- \`OTEL_*\`, the standard variables of OpenTelemetry, switch traces on: see [operations.md](operations.md#traces).

## Several wallets

\`WALLETS\` names the wallets of this installation; without it there is one, \`main\`. Settings with "yes" in the column "per
wallet" may be set for one wallet: \`NAME__SETTING\`, with the wallet's name in capital letters and two underscores.
Without a prefix, a setting holds for all wallets that have none of their own. All other settings are shared.

\`\`\`sh
WALLETS=eu,us
WALLET_BASE_URL=https://wallet.example.com
EU__WALLET_API_SECRET_FILE=/run/secrets/eu
US__WALLET_API_SECRET_FILE=/run/secrets/us
US__WALLET_MAX_RPS=5
\`\`\`

- A name has at most 32 characters: lower-case letters, digits and \`_\`. The first is a letter, the last is not \`_\`, and
  no two \`_\` follow each other. There are at most 100 wallets.
- Each key of a service is one wallet. The same secret or API key in two wallets at the same \`WALLET_BASE_URL\` is a
  mistake; at different services it is none. So \`WALLET_API_SECRET\` without a prefix fits one wallet per service.
- A prefix that is not in \`WALLETS\`, or before a shared setting, is reported as a warning.

## All settings

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
    const perWallet = isPerWallet(name) ? 'yes' : '';
    return `| ${names} | ${shown} | ${perWallet} | ${setting.help.replaceAll('|', '\\|')} |`;
  });
  return [
    '| name | default | per wallet | meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

function traits(name: string, setting: Setting): string {
  const words = [
    setting.isRequired && 'required',
    setting.isSecret && 'secret',
    isPerWallet(name) && 'per wallet',
  ].filter(Boolean);
  return words.length === 0 ? '' : `(${words.join(', ')}) `;
}
