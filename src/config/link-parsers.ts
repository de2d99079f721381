import { isLoopbackHost } from '../kernel/loopback.ts';
import { parsedOrThrown } from './setting-parsers.ts';

/** Reads a query parameter of an address. The last of several values counts, as in the client that connects. */
type Parameters = (name: string) => string | undefined;

const verifiedModes = ['verify-full', 'verify-ca', 'require', 'prefer'];
const loginMethods = ['scram-sha-256', 'md5', 'password'];

/**
 * Parses the address of a PostgreSQL server. Loopback and Unix sockets are accepted as they are. Another machine needs
 * TLS with a verified certificate, or the explicit `sslmode=disable`.
 */
export const databaseUrl = parsedOrThrown((text) => {
  const url = readAddress(text, ['postgres', 'postgresql']);
  const parameter = parametersOf(url);
  const host = parameter('host') || decodeURIComponent(url.hostname);
  for (const method of (parameter('require_auth') ?? loginMethods[0] ?? '').split(',')) {
    if (!loginMethods.includes(method)) {
      throw new Error(`require_auth with methods of ${loginMethods.join(', ')} in the address`);
    }
  }
  if (isThisMachine(host) || parameter('sslmode') === 'disable') return sayingFull(text, parameter);
  if (!isVerified(parameter)) {
    throw new Error(
      `an encrypted connection to ${host}: add ?sslmode=verify-full (and sslrootcert=FILE for a private ` +
        'authority); with ?sslmode=disable instead, anyone on the network can read password and history',
    );
  }
  return sayingFull(text, parameter);
});

/**
 * The same without `application_name`. pg would prefer it to the connection name by which other processes see that this
 * one is alive.
 */
export const ownDatabaseUrl = databaseUrl.transform((text) => {
  const url = new URL(text);
  if (!url.searchParams.has('application_name')) return text;
  url.searchParams.delete('application_name');
  return url.href;
});

/**
 * Writes `verify-full` for the modes that pg treats as `verify-full`. Otherwise pg prints nine lines of warnings at
 * each start, and its next version verifies less.
 */
function sayingFull(text: string, parameter: Parameters): string {
  if (parameter('uselibpqcompat') === 'true') return text;
  return text.replaceAll(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=[&#]|$)/g, '$1verify-full');
}

/**
 * Parses the address of a Redis server. Another machine needs TLS, or the explicit `unencrypted=yes`, which the
 * returned address does not carry.
 */
export const redisUrl = parsedOrThrown((text) => {
  const url = readAddress(text, ['redis', 'rediss']);
  const isUnencrypted = parametersOf(url)('unencrypted') === 'yes';
  if (url.protocol === 'redis:' && !isThisMachine(url.hostname) && !isUnencrypted) {
    throw new Error(
      `rediss://…, because ${url.hostname} is another machine; with redis://…?unencrypted=yes instead, anyone on the ` +
        'network can read password and jobs',
    );
  }
  if (!url.searchParams.has('unencrypted')) return text;
  url.searchParams.delete('unencrypted');
  return url.href;
});

function readAddress(text: string, schemes: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isOfScheme = new RegExp(`^(?:${schemes.join('|')})://`, 'i').test(text);
  const expected = `an address ${schemes.map((scheme) => `${scheme}://…`).join(' or ')}`;
  if (!isOfScheme) throw new Error(expected);
  if (url !== null && !isCutByPassword(url)) return url;
  throw new Error(
    `${expected}, with the special characters of user name and password percent-encoded, such as %23 for #`,
  );
}

/**
 * Returns true if a special character of the password was not percent-encoded, so that it ended the host or broke the
 * encoding.
 */
function isCutByPassword({ username, password, pathname, hash }: URL): boolean {
  try {
    decodeURIComponent(username + password);
  } catch {
    return true;
  }
  return username === '' && `${pathname}${hash}`.includes('@');
}

function parametersOf(url: URL): Parameters {
  return (name) => url.searchParams.getAll(name).at(-1);
}

function isThisMachine(host: string): boolean {
  return host === '' || host.startsWith('/') || isLoopbackHost(host);
}

/** Returns true if pg verifies the server's certificate. With `uselibpqcompat` fewer modes verify it. */
function isVerified(parameter: Parameters): boolean {
  const mode = parameter('sslmode');
  const hasAuthority = Boolean(parameter('sslrootcert'));
  if (parameter('uselibpqcompat') === 'true' && mode !== undefined) {
    return mode === 'verify-full' || (hasAuthority && ['verify-ca', 'require'].includes(mode));
  }
  if (mode !== undefined) return verifiedModes.includes(mode);
  return hasAuthority || ['true', '1'].includes(parameter('ssl') ?? '');
}
