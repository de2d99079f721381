import { base64Forms } from './base64-forms.ts';
import { findHidden, hiddenFormsOf } from './hidden-secrets.ts';

/** Replaces every secret in a text. */
export type Redactor = (text: string) => string;

const marker = '[redacted]';
/** Matches the credentials of any URL. */
const urlCredentials = /(?<=:\/\/)[^\s/@"'`]+@/g;

/**
 * Builds a function that replaces every occurrence of the secrets by `[redacted]`. It finds them in any letter case, in
 * hexadecimal and base64, escaped for URLs, JSON or HTML, and split by blanks or line ends. It also finds parts of 16
 * characters (12 to 16 for secrets under 24 characters) and single lines of a PEM key. Secrets of fewer than 8
 * characters are found only literally, JSON-escaped, URL-encoded and in base64, because other forms would match
 * ordinary words. Credentials in URLs are replaced too.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const literals = [...new Set(secrets.flatMap(partsOf).flatMap(formsOf))]
    .filter((form) => form !== '')
    // Sorts the longest first, so that a secret that begins with another one is replaced whole.
    .sort((a, b) => b.length - a.length);
  const pattern = new RegExp(literals.map(escapeForPattern).join('|'), 'g');
  const hidden = hiddenFormsOf(secrets);
  return (text) => {
    if (literals.length === 0) return text.replace(urlCredentials, `${marker}@`);
    const shown = withoutRanges(text.replace(pattern, marker), (part) => findHidden(part, hidden));
    return shown.replace(urlCredentials, `${marker}@`);
  };
}

function withoutRanges(text: string, find: (text: string) => [number, number][]): string {
  let result = '';
  let at = 0;
  for (const [from, to] of find(text).sort((a, b) => a[0] - b[0])) {
    if (from >= at) result += text.slice(at, from) + marker;
    at = Math.max(at, to);
  }
  return result + text.slice(at);
}

function partsOf(secret: string): string[] {
  const keyLines = secret.split(/[\r\n]+/).filter((line) => /^[\w+/=]{16,}$/.test(line));
  return [secret, secret.trim(), ...keyLines];
}

function formsOf(secret: string): string[] {
  // Replaces lone surrogates, for which encodeURIComponent throws; no environment can contain one.
  const wellFormed = Buffer.from(secret).toString();
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(wellFormed),
    new URLSearchParams({ '': wellFormed }).toString().slice(1),
    ...base64Forms(Buffer.from(secret)),
  ];
}

function escapeForPattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}

/** Redacts every text in a value, in plain objects and arrays too; field names and other objects stay unchanged. */
export function redactValues<T>(value: T, redact: Redactor): T {
  return mapTexts(value, redact) as T;
}

function mapTexts(value: unknown, redact: Redactor): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, redact));
  if (
    value === null ||
    typeof value !== 'object' ||
    Object.getPrototypeOf(value) !== Object.prototype
  )
    return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, mapTexts(each, redact)]),
  );
}
