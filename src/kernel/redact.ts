import { base64Forms } from './base64-forms.ts';
import { findHidden, hiddenFormsOf } from './hidden-secrets.ts';

/** Replaces every secret in a text. */
export type Redactor = (text: string) => string;

const marker = '[redacted]';
/** Minimum length of a secret that is replaced wherever it occurs. */
const shortestAnywhere = 8;
/** Characters around a value: the ends of the text, quotes, brackets, and the signs of assignments and lists. */
const beforeValue = '(?<=^|["\'`=:@&?;,(\\[{<]\\s?)';
const afterValue = '(?=$|["\'`@&;,)\\]}>])';
/** Matches the credentials of any URL. */
const urlCredentials = /(?<=:\/\/)[^\s/@"'`]+@/g;

/**
 * Builds a function that replaces every occurrence of the secrets by `[redacted]`. It finds them in any letter case, in
 * hexadecimal and base64, escaped for URLs, JSON or HTML, and split by blanks or line ends. It also finds parts of 16
 * characters (12 to 16 for secrets under 24 characters) and single lines of a PEM key. A secret of fewer than 8
 * characters may be part of an ordinary word, so it is replaced only as a whole value (literally, JSON-escaped or
 * URL-encoded). Credentials in URLs are replaced too.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const isShort = (secret: string) => secret.trim().length < shortestAnywhere;
  const anywhere = anyOf(
    secrets
      .filter((secret) => !isShort(secret))
      .flatMap(partsOf)
      .flatMap(formsOf),
  );
  const asValue = anyOf(secrets.filter(isShort).flatMap((secret) => writtenForms(secret.trim())));
  const patterns = [
    anywhere && new RegExp(anywhere, 'g'),
    asValue && new RegExp(`${beforeValue}(?:${asValue})${afterValue}`, 'g'),
  ].filter((pattern) => pattern !== null);
  const hidden = hiddenFormsOf(secrets);
  return (text) => {
    if (patterns.length === 0) return text.replace(urlCredentials, `${marker}@`);
    const literal = patterns.reduce((left, pattern) => left.replace(pattern, marker), text);
    const shown = withoutRanges(literal, (part) => findHidden(part, hidden));
    return shown.replace(urlCredentials, `${marker}@`);
  };
}

/** Returns the source of a pattern for any of the texts; null for none. */
function anyOf(texts: string[]): string | null {
  const forms = [...new Set(texts)]
    .filter((form) => form !== '')
    // Sorts the longest first, so that a secret that begins with another one is replaced whole.
    .sort((a, b) => b.length - a.length);
  return forms.length === 0 ? null : forms.map(escapeForPattern).join('|');
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
  return [...writtenForms(secret), ...base64Forms(Buffer.from(secret))];
}

function writtenForms(secret: string): string[] {
  // Replaces lone surrogates, for which encodeURIComponent throws; no environment can contain one.
  const wellFormed = Buffer.from(secret).toString();
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(wellFormed),
    new URLSearchParams({ '': wellFormed }).toString().slice(1),
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
