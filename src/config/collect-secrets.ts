import type { Environment } from '../kernel/vocabulary.ts';
import type { SettingTexts } from './read-setting-texts.ts';

/** Variables of credentials, including those that another variable overrides and those whose prefix names no wallet. */
const credentials = /(?:^|__)WALLET_API_(?:SECRET|KEY)$|^PGPASSWORD$/i;
/** OpenTelemetry's variables that carry the headers of its collector: `name=value,name=value`, percent-encoded. */
const collectorHeaders = /^OTEL_EXPORTER_OTLP_(?:\w+_)?HEADERS$/;
/** OpenTelemetry's addresses of collectors, which may carry a password. */
const collectorAddresses = /^OTEL_EXPORTER_OTLP_(?:\w+_)?ENDPOINT$/;
/** Shorter values of a collector's header are names, of a tenant for example. */
const headerSecretMin = 12;

/**
 * Returns every text that must not be printed: the secrets of all wallets, the passwords in addresses, the credentials
 * of a collector of traces, and addresses that cannot be parsed.
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
  const passwords = [DATABASE_URL, REDIS_URL, ...valuesOf(collectorAddresses, env)].flatMap(
    (address) => passwordsOf(address ?? ''),
  );
  const headers = valuesOf(collectorHeaders, env).flatMap(secretsOfHeaders);
  return [...new Set([...plain, ...passwords, ...headers])].filter((text) => text.trim() !== '');
}

function valuesOf(names: RegExp, env: Environment): string[] {
  return Object.keys(env).flatMap((name) => (names.test(name) ? (env[name] ?? []) : []));
}

/** Returns the values of a collector's headers, raw and percent-decoded, without a scheme such as `Bearer`. */
function secretsOfHeaders(headers: string): string[] {
  const values = headers.split(',').map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
  return [...values, ...values.map(decoded)]
    .map((value) => value.replace(/^\w+(?: |%20)+/, ''))
    .filter((value) => value.length >= headerSecretMin);
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
