import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/kernel/redact.ts';

// Never a part of the marker itself.
const secretText = fc
  .string({ unit: 'grapheme-ascii', minLength: 8, maxLength: 40 })
  .filter((text) => text.trim() === text && /\d/.test(text));
const around = fc.string({ maxLength: 40 });

describe('createRedactor', () => {
  test('[S2] no planted secret is left, in any encoding, anywhere', () => {
    const encodings: ((text: string) => string)[] = [
      (text) => text,
      (text) => JSON.stringify({ text }),
      encodeURIComponent,
      (text) => new URLSearchParams({ text }).toString(),
    ];
    fc.assert(
      fc.property(
        fc.array(secretText, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(...encodings),
        around,
        around,
        (secrets, encode, before, after) => {
          const redacted = createRedactor(secrets)(before + secrets.map(encode).join(' ') + after);
          for (const secret of secrets) {
            expect(redacted.includes(secret)).toBe(false);
            expect(redacted).not.toContain(encode(secret));
          }
        },
      ),
    );
  });

  test('base64 of a text with the secret in it does not decode to the secret', () => {
    fc.assert(
      fc.property(
        secretText,
        fc.string({ maxLength: 5 }),
        fc.string({ maxLength: 5 }),
        fc.constantFrom('base64' as const, 'base64url' as const),
        (secret, before, after, encoding) => {
          const encoded = Buffer.from(before + secret + after).toString(encoding);
          const left = createRedactor([secret])(encoded).split('[redacted]').join('');
          expect(Buffer.from(left, encoding).toString()).not.toContain(secret);
          expect(left.length).toBeLessThan(encoded.length);
        },
      ),
    );
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

  test('other texts stay as they are', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z ]*$/), (text) => {
        expect(createRedactor(['S3CRET-S3CRET', ''])(text)).toBe(text);
      }),
    );
  });
});
