import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/kernel/redact.ts';
import { forAllSync } from '../support/for-all.ts';

// Never a part of the marker itself.
const secretText = fc
  .string({ unit: 'grapheme-ascii', minLength: 8, maxLength: 40 })
  .filter((text) => text.trim() === text && /\d/.test(text));
const around = fc.string({ maxLength: 40 });

/** The longest run of these units that the text still has, whatever stands between them; one character each. */
function remains(text: string, units: string[]): string {
  const bare = text.replace(/^error: |\.$/g, '');
  let run = '';
  let longest = '';
  let at = 0;
  for (const unit of units) {
    const found = bare.indexOf(unit, at);
    if (found < 0 || /[^\s\\n\u200b]/.test(bare.slice(at, found))) run = '';
    if (found < 0) continue;
    run += '.';
    at = found + unit.length;
    if (run.length > longest.length) longest = run;
  }
  return longest;
}

describe('createRedactor', () => {
  test('[S2] no planted secret is left, in any encoding, anywhere', () => {
    const encodings: ((text: string) => string)[] = [
      (text) => text,
      (text) => JSON.stringify({ text }),
      encodeURIComponent,
      (text) => new URLSearchParams({ text }).toString(),
    ];
    const drawn = forAllSync(
      fc.array(secretText, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(...encodings),
      around,
      around,
    );
    drawn(100, (secrets, encode, before, after) => {
      const redacted = createRedactor(secrets)(before + secrets.map(encode).join(' ') + after);
      for (const secret of secrets) {
        expect(redacted.includes(secret)).toBe(false);
        expect(redacted).not.toContain(encode(secret));
      }
    });
  });

  test('[S2] no part of 16 characters of a secret is left, in any disguise, cut or split', () => {
    const hex = (text: string) => Buffer.from(text).toString('hex');
    const escaped = (text: string, unit: (code: string) => string) =>
      [...text].map((one) => unit(hex(one))).join('');
    const disguises: Record<string, (text: string) => string> = {
      plain: (text) => text,
      'upper case': (text) => text.toUpperCase(),
      'the other case': (text) =>
        text.replace(/[a-z]/gi, (one) =>
          one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase(),
        ),
      hexadecimal: hex,
      'hexadecimal, upper case': (text) => hex(text).toUpperCase(),
      'hexadecimal with colons': (text) => hex(text).replace(/(..)(?=.)/g, '$1:'),
      base64: (text) => Buffer.from(text).toString('base64'),
      base64url: (text) => Buffer.from(text).toString('base64url'),
      'URL-encoded': encodeURIComponent,
      'URL-encoded twice': (text) => encodeURIComponent(encodeURIComponent(text)),
      'every byte percent-encoded': (text) => escaped(text, (code) => `%${code}`),
      'JSON escapes': (text) => escaped(text, (code) => `\\u00${code}`),
      'C escapes': (text) => escaped(text, (code) => `\\x${code}`),
      'HTML escapes': (text) => escaped(text, (code) => `&#x${code};`),
    };
    const split = fc.constantFrom('', ' ', '\n', '\r\n', '\\n', '\u200b');
    const secretOf = fc
      .stringMatching(/^[\w.=/:~!*@-]{24,64}$/)
      .filter((text) => new Set(text).size > 12);
    const drawn = forAllSync(
      secretOf,
      fc.constantFrom(...Object.keys(disguises)),
      split,
      fc.integer({ min: 1, max: 70 }),
      fc.nat(20),
      fc.nat(20),
    );
    drawn(2_000, (secret, name, separator, every, cutBefore, cutBehind) => {
      const whole = disguises[name]?.(secret) ?? '';
      // An escape is not torn apart: nobody could read it.
      const units = whole.match(/\\u00..|\\x..|&#x..;|(?:%25|%)[\da-f]{2}|./gis) ?? [];
      const kept = units.slice(cutBefore, units.length - cutBehind);
      const text = kept
        .map((unit, at) => (at % every === every - 1 ? unit + separator : unit))
        .join('');
      const left = createRedactor([secret])(`error: ${text}.`).split('[redacted]');
      const longest = Math.max(...left.map((each) => remains(each, kept).length));
      expect([name, text, longest < 16 ? 'short' : left]).toEqual([name, text, 'short']);
    });
  });

  test('64 KiB of whatever text take well under a second', () => {
    const redact = createRedactor(['S3CRET-S3CRET-S3CRET']);
    for (const unit of ['\\', '\\\\u', '&#', '%', '0x', '://', '-----BEGIN', '\u200b', '\u0130']) {
      const text = unit.repeat((64 * 1024) / unit.length);
      const startedAt = performance.now();
      redact(text);
      expect([unit, performance.now() - startedAt < 1_000]).toEqual([unit, true]);
    }
  });

  test('base64 of a text with the secret in it does not decode to the secret', () => {
    const drawn = forAllSync(
      secretText,
      fc.string({ maxLength: 5 }),
      fc.string({ maxLength: 5 }),
      fc.constantFrom('base64' as const, 'base64url' as const),
    );
    drawn(100, (secret, before, after, encoding) => {
      const encoded = Buffer.from(before + secret + after).toString(encoding);
      const left = createRedactor([secret])(encoded).split('[redacted]').join('');
      expect(Buffer.from(left, encoding).toString()).not.toContain(secret);
      expect(left.length).toBeLessThan(encoded.length);
    });
  });

  test('a key goes in either case, and line by line', () => {
    const redact = createRedactor([
      'ab12'.repeat(16),
      `-----BEGIN X-----\n${'Q0'.repeat(20)}\n-----END X-----`,
    ]);
    expect(redact(`key ${'AB12'.repeat(16)}.`)).toBe('key [redacted].');
    expect(redact(`line ${'Q0'.repeat(20)}`)).toBe('line [redacted]');
  });

  test('credentials in any URL go', () => {
    expect(createRedactor([])('at postgres://me:pw@db/x and https://h/p')).toBe(
      'at postgres://[redacted]@db/x and https://h/p',
    );
  });

  test('a short secret goes where it stands as a value, and leaves words that contain it', () => {
    const redact = createRedactor(['wallet', 'a']);
    const line = 'wallet-ledger: a wallet has 2 lists; run `wallet-ledger status --wallet main`';
    expect(redact(line)).toBe(line);
    expect(redact('wallet')).toBe('[redacted]');
    expect(redact('{"password":"wallet","key":"a"}')).toBe(
      '{"password":"[redacted]","key":"[redacted]"}',
    );
    expect(redact('refused: password=wallet&x=1 (a), key: wallet')).toBe(
      'refused: password=[redacted]&x=1 ([redacted]), key: [redacted]',
    );
  });

  test('other texts stay as they are', () => {
    forAllSync(fc.stringMatching(/^[a-z ]*$/))(100, (text) => {
      expect(createRedactor(['S3CRET-S3CRET', ''])(text)).toBe(text);
    });
  });
});
