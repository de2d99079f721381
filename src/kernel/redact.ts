/** Replaces every secret in a text. */
export type Redactor = (text: string) => string;

const marker = '[redacted]';
/** The part of a URL that holds a name and a password, whoever's they are. */
const urlCredentials = /(?<=:\/\/)[^\s/@"'`]+@/g;

/**
 * Builds a function that replaces every occurrence of any of the secrets by `[redacted]`: as it is, JSON-escaped,
 * URL-encoded, and in base64 at any place of the encoded text; the lines of a PEM key one by one; hexadecimal in
 * either case. Credentials inside URLs go too.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const forms = [...new Set(secrets.flatMap(partsOf).flatMap(formsOf))]
    .filter((form) => form !== '')
    // The longest first, so that a secret that begins with another one goes whole.
    .sort((a, b) => b.length - a.length);
  const pattern = new RegExp(forms.map(escapeForPattern).join('|'), 'g');
  return (text) => {
    const withoutSecrets = forms.length === 0 ? text : text.replace(pattern, marker);
    return withoutSecrets.replace(urlCredentials, `${marker}@`);
  };
}

function partsOf(secret: string): string[] {
  const keyLines = secret.split(/[\r\n]+/).filter((line) => /^[\w+/=]{16,}$/.test(line));
  return [secret, secret.trim(), ...keyLines];
}

function formsOf(secret: string): string[] {
  // encodeURIComponent refuses half a surrogate pair; no environment can hold one.
  const wellFormed = Buffer.from(secret).toString();
  const isHex = /^[0-9a-f]+$/i.test(secret);
  return [
    secret,
    ...(isHex ? [secret.toLowerCase(), secret.toUpperCase()] : []),
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(wellFormed),
    new URLSearchParams({ '': wellFormed }).toString().slice(1),
    ...base64Forms(Buffer.from(secret)),
  ];
}

/**
 * The base64 characters that the secret alone decides, for each of the three places at which it can begin within a
 * longer encoded text. Of a very short secret they would take ordinary words along.
 */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    const first = Math.ceil((offset * 8) / 6);
    const end = Math.floor((padded.length * 8) / 6);
    return (['base64', 'base64url'] as const)
      .map((encoding) => padded.toString(encoding).slice(first, end))
      .filter((form) => form.length >= 6);
  });
}

function escapeForPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}
