import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Returns true if an Authorization header carries the token, as Bearer or as the password of Basic with any user name.
 * Compares in constant time.
 */
export function carriesToken(authorization: string | undefined, token: string): boolean {
  const given = tokenOf(authorization ?? '');
  return given !== undefined && isToken(given, token);
}

/** Returns true if the text is the token. Compares in constant time. */
export function isToken(given: string, token: string): boolean {
  // timingSafeEqual requires inputs of equal length, so digests are compared.
  return timingSafeEqual(digest(given), digest(token));
}

function tokenOf(authorization: string): string | undefined {
  const [, scheme, credentials] = /^(bearer|basic) +(\S+)\s*$/i.exec(authorization) ?? [];
  if (scheme === undefined || credentials === undefined) return undefined;
  if (scheme.toLowerCase() === 'bearer') return credentials;
  const pair = Buffer.from(credentials, 'base64').toString();
  return pair.includes(':') ? pair.slice(pair.indexOf(':') + 1) : undefined;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
