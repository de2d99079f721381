import { isLoopbackHost } from '../kernel/loopback.ts';
import { parsedOrThrown } from './setting-parsers.ts';

/** What an address says in its query. Of a parameter that occurs twice the last one counts, as for its client. */
type Parameters = (name: string) => string | undefined;

const verifiedModes = ['verify-full', 'verify-ca', 'require', 'prefer'];
const loginMethods = ['scram-sha-256', 'md5', 'password'];

/**
 * Address of a PostgreSQL: as it stands on this machine or over a Unix socket; from another machine only over TLS that
 * checks the server's certificate, or with the words that give it up.
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
  if (isThisMachine(host) || parameter('sslmode') === 'disable') return text;
  if (!isVerified(parameter)) {
    throw new Error(
      `an address that encrypts the way to ${host}: with ?sslmode=verify-full at its end (and sslrootcert=FILE for an ` +
        'authority of your own); ?sslmode=disable there sends password and history readable to all on the way',
    );
  }
  return text;
});

/** Address of a Redis: off this machine over TLS, or with the word that gives it up. Returned without that word. */
export const redisUrl = parsedOrThrown((text) => {
  const url = readAddress(text, ['redis', 'rediss']);
  const isUnencrypted = parametersOf(url)('unencrypted') === 'yes';
  if (url.protocol === 'redis:' && !isThisMachine(url.hostname) && !isUnencrypted) {
    throw new Error(
      `an address rediss://… for ${url.hostname}, which is another machine; ?unencrypted=yes at the end of redis://… ` +
        'sends password and jobs readable to all on the way',
    );
  }
  if (!url.searchParams.has('unencrypted')) return text;
  url.searchParams.delete('unencrypted');
  return url.href;
});

function readAddress(text: string, schemes: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !schemes.includes(url.protocol.slice(0, -1))) {
    throw new Error(`an address ${schemes.map((scheme) => `${scheme}://…`).join(' or ')}`);
  }
  return url;
}

function parametersOf(url: URL): Parameters {
  return (name) => url.searchParams.getAll(name).at(-1);
}

function isThisMachine(host: string): boolean {
  return host === '' || host.startsWith('/') || isLoopbackHost(host);
}

/** Whether pg checks the certificate of the server; with `uselibpqcompat` fewer modes make it do so. */
function isVerified(parameter: Parameters): boolean {
  const mode = parameter('sslmode');
  const hasAuthority = Boolean(parameter('sslrootcert'));
  if (parameter('uselibpqcompat') === 'true' && mode !== undefined) {
    return mode === 'verify-full' || (hasAuthority && ['verify-ca', 'require'].includes(mode));
  }
  if (mode !== undefined) return verifiedModes.includes(mode);
  return hasAuthority || ['true', '1'].includes(parameter('ssl') ?? '');
}
