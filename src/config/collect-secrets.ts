import type { SettingTexts } from './read-setting-texts.ts';

/** Every text that must not be printed: the secrets themselves, and the passwords in addresses. */
export function collectSecrets(texts: SettingTexts['texts']): string[] {
  const { WALLET_API_SECRET, WALLET_API_KEY, HTTP_TOKEN, DATABASE_URL, REDIS_URL } = texts;
  const plain = [WALLET_API_SECRET, WALLET_API_KEY, HTTP_TOKEN].filter(
    (text) => text !== undefined,
  );
  return [...plain, ...[DATABASE_URL, REDIS_URL].flatMap((address) => passwordsOf(address ?? ''))];
}

/**
 * The password of an address as it stands there and as it is meant. One that is also the user's or the database's
 * name is no secret, and hiding it would hide that name in every line.
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
