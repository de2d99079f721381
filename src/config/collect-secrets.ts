import type { SettingTexts } from './read-setting-texts.ts';

/**
 * Returns every text that must not be printed: the secrets, the passwords in addresses, and addresses that cannot be
 * parsed.
 */
export function collectSecrets(texts: SettingTexts['texts']): string[] {
  const { DATABASE_URL, REDIS_URL } = texts;
  const plain = [
    texts.WALLET_API_SECRET,
    texts.WALLET_API_KEY,
    texts.HTTP_TOKEN,
    texts.HINT_TOKEN,
    texts.FEED_TOKEN,
  ].filter((text) => text !== undefined);
  return [...plain, ...[DATABASE_URL, REDIS_URL].flatMap((address) => passwordsOf(address ?? ''))];
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
