import type { Environment } from '../kernel/vocabulary.ts';
import type { SettingTexts } from './read-setting-texts.ts';

/** Variables of credentials: those that another one outranks too, and those with a prefix of no wallet. */
const credentials = /(?:^|__)WALLET_API_(?:SECRET|KEY)$/i;

/**
 * Returns every text that must not be printed: the secrets of all wallets, the passwords in addresses, and addresses
 * that cannot be parsed.
 */
export function collectSecrets(
  env: Environment,
  shared: SettingTexts['texts'],
  wallets: readonly Pick<SettingTexts, 'texts'>[],
): string[] {
  const { DATABASE_URL, REDIS_URL } = shared;
  const ofWallets = [shared, ...wallets.map(({ texts }) => texts)].flatMap((texts) => [
    texts.WALLET_API_SECRET,
    texts.WALLET_API_KEY,
  ]);
  const given = Object.keys(env).flatMap((name) => (credentials.test(name) ? env[name] : []));
  const tokens = [shared.HTTP_TOKEN, shared.HINT_TOKEN, shared.FEED_TOKEN];
  const plain = [...ofWallets, ...given, ...tokens].filter((text) => text !== undefined);
  const passwords = [DATABASE_URL, REDIS_URL].flatMap((address) => passwordsOf(address ?? ''));
  return [...new Set([...plain, ...passwords])].filter((text) => text.trim() !== '');
}

/**
 * Returns the password of an address, raw and percent-decoded. A password equal to the user name or the database name
 * is left out: redacting it would redact that name in every line.
 */
function passwordsOf(address: string): string[] {
  if (!URL.canParse(address)) return address === '' ? [] : [address];
  const url = new URL(address);
  const raw = [url.password, url.searchParams.get('password') ?? ''];
  const names = [url.username, url.pathname.slice(1)].map(decoded);
  const passwords = raw.filter((password) => password !== '' && !names.includes(decoded(password)));
  return [...passwords, ...passwords.map(decoded)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
