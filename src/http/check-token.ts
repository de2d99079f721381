import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Whether an Authorization header carries the token: as a Bearer token, or as the password of Basic, whatever the
 * user name. Takes the same time for every wrong token.
 */
export function carriesToken(authorization: string | undefined, token: string): boolean {
  const given = tokenOf(authorization ?? '');
  // Digests, since the comparison takes texts of one length only.
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
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
