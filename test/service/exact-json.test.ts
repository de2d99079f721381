import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ExactNumber,
  parseExactJson,
  parseKeepingDigits,
} from '../../src/service/decoding/exact-json.ts';
import { forAllSync } from '../support/for-all.ts';

const safeInteger = fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 });

function anyJson(number: fc.Arbitrary<unknown>) {
  return fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(null, true, false),
      fc.string({ unit: 'binary' }),
      number,
      fc.array(tie('value')),
      fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), tie('value')),
    ),
  })).value;
}

describe('exact JSON', () => {
  it('reads safe integers the same on the fast and the slow path, and like JSON.parse', () => {
    forAllSync(anyJson(safeInteger))(100, (value) => {
      const text = JSON.stringify(value);
      const parsed: unknown = JSON.parse(text);
      expect(isDeepStrictEqual(parseExactJson(text), parsed)).toBe(true);
      expect(isDeepStrictEqual(parseKeepingDigits(text), parsed)).toBe(true);
    });
  });

  it('reads numbers of every kind the same on both paths', () => {
    const drawn = forAllSync(
      anyJson(fc.oneof(safeInteger, fc.double({ noDefaultInfinity: true, noNaN: true }))),
    );
    drawn(100, (value) => {
      const text = JSON.stringify(value);
      expect(isDeepStrictEqual(parseExactJson(text), parseKeepingDigits(text))).toBe(true);
    });
  });

  it('[V6] keeps every digit of a number', () => {
    const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,40})(\.\d{1,40})?([eE][+-]?\d{1,5})?$/);
    forAllSync(digits, fc.constantFrom('', ' ', '\n'))(100, (number, space) => {
      for (const text of [
        `${space}${number}`,
        `[1,${space}${number}]`,
        `{"a":${space}${number}${space}}`,
      ]) {
        const found = [parseExactJson(text)].flatMap((value) =>
          typeof value === 'object' && !(value instanceof ExactNumber)
            ? Object.values(value ?? {})
            : [value],
        );
        const last: unknown = found.at(-1);
        expect(last instanceof ExactNumber ? last.text : String(last)).toBe(number);
      }
    });
  });

  it.each(['9007199254740993', '-9007199254740993', '9999999999999999', '1000000000000000'])(
    'keeps %s, an integer of 16 digits, as its text',
    (digits) => {
      expect(parseExactJson(digits)).toEqual(new ExactNumber(digits));
      expect(parseExactJson(`{"amount":${digits}}`)).toEqual({ amount: new ExactNumber(digits) });
    },
  );

  it('[H6] keeps a field called __proto__ as an ordinary field', () => {
    for (const text of ['{"__proto__":{"polluted":1}}', '{"__proto__":{"polluted":1.5}}']) {
      const value = parseExactJson(text) as object;
      expect(Object.keys(value)).toEqual(['__proto__']);
      expect('polluted' in value).toBe(false);
    }
  });

  it('keeps the last of two values with one name, like JSON.parse', () => {
    expect(parseExactJson('{"a":1.5,"a":2}')).toEqual({ a: 2 });
    expect(parseExactJson('{"a":1,"a":2}')).toEqual({ a: 2 });
  });

  it('throws a described error for invalid JSON', () => {
    for (const text of ['', '{', '{"a":1.}', '[1.5', '<html>', '1.5 x']) {
      expect(() => parseExactJson(text)).toThrow(SyntaxError);
    }
  });
});
