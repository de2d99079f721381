import { isLoopbackHost } from '../kernel/loopback.ts';
import type { WalletTexts } from './read-wallet-texts.ts';
import type { SettingName, SettingValues } from './settings.ts';
import { settingsTable } from './settings-table.ts';

/** One wallet with its values; one that did not parse is absent, because it has its own problem. */
export type ReadWallet = WalletTexts & { values: Partial<SettingValues> };

/**
 * If only one of the two sets of states is given, fits the default of the other one to it: default successes that are
 * not final are left out, and given successes are added to the final states.
 */
export function matchStates(
  values: ReadWallet['values'],
  given: ReadWallet['given'],
): ReadWallet['values'] {
  const { WALLET_FINAL_STATES: final, WALLET_SUCCESS_STATES: success } = values;
  const isFinalGiven = given.has('WALLET_FINAL_STATES');
  if (!final || !success || isFinalGiven === given.has('WALLET_SUCCESS_STATES')) return values;
  return isFinalGiven
    ? {
        ...values,
        WALLET_SUCCESS_STATES: new Set([...success].filter((state) => final.has(state))),
      }
    : { ...values, WALLET_FINAL_STATES: new Set([...final, ...success]) };
}

/** Returns the mistakes between settings of one wallet. */
export function checkStates({ values, variableOf }: ReadWallet): string[] {
  const { WALLET_FINAL_STATES: final, WALLET_SUCCESS_STATES: success } = values;
  if (!final || !success) return [];
  const others = [...success].filter((state) => !final.has(state));
  const [finalName, successName] = [
    variableOf('WALLET_FINAL_STATES'),
    variableOf('WALLET_SUCCESS_STATES'),
  ];
  if (success.size === 0) {
    const what = 'set it to the final states in which money was moved';
    return [`${successName}: none of its default states is in ${finalName}; ${what}`];
  }
  if (others.length === 0) return [];
  return [
    `${successName}: ${others.join(', ')} missing in ${finalName}; add it there, or remove it here`,
  ];
}

/** Returns the mistake of an address whose host may not be reached without TLS. */
export function checkBaseUrl({ values, variableOf }: ReadWallet): string[] {
  const host = plainHttpHost(values);
  if (host === null || host === allowedHost(values)) return [];
  return [
    `${variableOf('WALLET_BASE_URL')}: http to another machine; expected https. If the service has none and you trust ` +
      `the network, set ${variableOf('WALLET_PLAIN_HTTP_HOST')}=${host}`,
  ];
}

/** Returns a warning for an address that is reached without TLS on purpose. */
export function warnOfPlainHttp({ values, variableOf }: ReadWallet): string[] {
  const host = plainHttpHost(values);
  if (host === null || host !== allowedHost(values)) return [];
  return [
    `${variableOf('WALLET_BASE_URL')} is reached without encryption: everyone between this machine and ${host} can read ` +
      'the history and forge answers; use https if the service has it',
  ];
}

/** Returns the host that the address reaches by http on another machine; null if there is none. */
function plainHttpHost({ WALLET_BASE_URL: baseUrl }: ReadWallet['values']): string | null {
  if (!baseUrl) return null;
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'http:' && !isLoopbackHost(hostname) ? hostname : null;
}

function allowedHost({ WALLET_PLAIN_HTTP_HOST: host }: ReadWallet['values']): string | null {
  return host ? new URL(`http://${host.includes(':') ? `[${host}]` : host}`).hostname : null;
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
      // Wallets of one service need different secrets, so the shared variable is not suggested.
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

/** Returns each mistake of a signer's settings, in words that name the setting without a wallet's prefix. */
export type FindSignerMistakes = (signer: {
  signer: string;
  apiSecret: string | null;
  apiKey?: string | undefined;
  hash?: NonNullable<SettingValues['WALLET_SIGN_HASH']> | undefined;
  encoding?: NonNullable<SettingValues['WALLET_SIGN_ENCODING']> | undefined;
}) => string[];

/** Returns the mistakes of credentials that are readable one by one, and cannot be used with each other. */
export function checkSigner(
  { values, variableOf }: ReadWallet,
  findMistakes: FindSignerMistakes,
): string[] {
  const { WALLET_SIGNER: signer, WALLET_API_SECRET: apiSecret = null } = values;
  if (signer === undefined) return [];
  const found = findMistakes({
    signer,
    apiSecret,
    apiKey: values.WALLET_API_KEY ?? undefined,
    hash: values.WALLET_SIGN_HASH ?? undefined,
    encoding: values.WALLET_SIGN_ENCODING ?? undefined,
  });
  const settings = /\bWALLET_(?:API_SECRET|API_KEY|SIGNER|SIGN_ENCODING)\b/g;
  return found.map((words) => words.replace(settings, (name) => variableOf(name as SettingName)));
}

/** Returns the mistake of a wallet without address pools, for a command that fills them. */
export function checkPools({ given, prefix, values }: ReadWallet, isOnlyWallet: boolean): string[] {
  if (given.has('ADDRESS_POOLS') && values.ADDRESS_POOLS?.length !== 0) return [];
  const name = `${isOnlyWallet ? '' : prefix}ADDRESS_POOLS`;
  return [`${name}: names no pool; expected slip44:threshold:target, such as 60:50:100`];
}

/**
 * Returns the mistakes of wallets that have one key at one service: each key of a service is one wallet, so its history
 * would be stored twice. The same private key in two notations is not found here.
 */
export function checkKeys(wallets: readonly ReadWallet[]): string[] {
  const atService = ({ values }: ReadWallet, key: string | null | undefined) =>
    values.WALLET_BASE_URL && key ? `${values.WALLET_BASE_URL} ${key}` : null;
  const secretOf = (wallet: ReadWallet) =>
    atService(wallet, comparable(wallet.texts.WALLET_API_SECRET));
  const keyOf = (wallet: ReadWallet) => atService(wallet, wallet.values.WALLET_API_KEY);
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
