import type { WalletTexts } from './read-wallet-texts.ts';
import type { SettingValues } from './settings.ts';
import { settingsTable } from './settings-table.ts';

/** One wallet with its values; one that did not parse is absent, because it has its own problem. */
export type ReadWallet = WalletTexts & { values: Partial<SettingValues> };

/** Returns the mistakes between settings of one wallet. */
export function checkStates({ values, variableOf }: ReadWallet): string[] {
  const { WALLET_FINAL_STATES: final, WALLET_SUCCESS_STATES: success } = values;
  if (!final || !success) return [];
  const others = [...success].filter((state) => !final.has(state));
  if (others.length === 0) return [];
  const [finalName, successName] = [
    variableOf('WALLET_FINAL_STATES'),
    variableOf('WALLET_SUCCESS_STATES'),
  ];
  return [
    `${successName}: ${others.join(', ')} missing in ${finalName}; add it there, or remove it here`,
  ];
}

/** Returns the settings that are missing for requests to the wallet's service. */
export function checkService(
  { values, given, prefix: ownPrefix }: ReadWallet,
  isOnlyWallet: boolean,
): string[] {
  const prefix = isOnlyWallet ? '' : ownPrefix;
  const missing = (['WALLET_BASE_URL', 'WALLET_API_SECRET'] as const)
    .filter((name) => !given.has(name))
    .map((name) => {
      const isSecret = 'isSecret' in settingsTable[name];
      const orFile = isSecret ? ` (nor ${prefix}${name}_FILE)` : '';
      // No two wallets may have one secret, so the variable that holds for all is not suggested.
      const orShared = isOnlyWallet || isSecret ? '' : ` (or ${name})`;
      return `${prefix}${name}${orShared}: not set${orFile}; expected: ${settingsTable[name].help}`;
    });
  if (isHmac(values.WALLET_SIGNER) && !given.has('WALLET_API_KEY')) {
    missing.push(
      `${prefix}WALLET_API_KEY: not set (nor ${prefix}WALLET_API_KEY_FILE); ${values.WALLET_SIGNER} needs it`,
    );
  }
  return missing;
}

/**
 * Returns the mistakes of wallets that have one key: each key of the service is one wallet, so its history would be
 * stored twice. The same private key in two notations is not found here.
 */
export function checkKeys(wallets: readonly ReadWallet[]): string[] {
  const secretOf = ({ texts }: ReadWallet) => comparable(texts.WALLET_API_SECRET);
  const keyOf = ({ values }: ReadWallet) => {
    const { WALLET_BASE_URL: baseUrl, WALLET_API_KEY: key } = values;
    return baseUrl && key ? `${baseUrl} ${key}` : null;
  };
  const haveOneSecret = (sharing: ReadWallet[]) => new Set(sharing.map(secretOf)).size === 1;
  return [
    ...sharingOf(wallets, secretOf).map((sharing) => describe('WALLET_API_SECRET', sharing)),
    ...sharingOf(wallets, keyOf)
      .filter((sharing) => !haveOneSecret(sharing))
      .map((sharing) => describe('WALLET_API_KEY', sharing)),
  ];
}

/** Returns the wallets that have something in common, each group of two or more once. */
function sharingOf(
  wallets: readonly ReadWallet[],
  commonOf: (wallet: ReadWallet) => string | null,
): ReadWallet[][] {
  const groups = new Map<string, ReadWallet[]>();
  for (const wallet of wallets) {
    const value = commonOf(wallet);
    if (value !== null) groups.set(value, [...(groups.get(value) ?? []), wallet]);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

function describe(
  setting: 'WALLET_API_SECRET' | 'WALLET_API_KEY',
  sharing: readonly ReadWallet[],
): string {
  const variables = [...new Set(sharing.map(({ variableOf }) => variableOf(setting)))].join(', ');
  const names = inWords(sharing.map(({ name }) => name));
  const own = inWords(sharing.map(({ prefix }) => prefix + setting));
  return `${variables}: one key for the wallets ${names}; each wallet needs a key of its own, in ${own}`;
}

/** Returns `a, b and c`. */
function inWords(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** Returns the same text for a secret in hex, however it is written. */
function comparable(secret: string | undefined): string | null {
  if (secret === undefined) return null;
  const hex = secret.trim().replace(/^0x/i, '');
  return /^[0-9a-f]+$/i.test(hex) ? hex.toLowerCase() : secret.trim();
}

export function isHmac(signer: string | undefined): boolean {
  return signer === 'params-hmac' || signer === 'body-hmac';
}
