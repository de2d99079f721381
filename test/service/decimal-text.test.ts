import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimalProblem } from '../../src/service/decimal-text.ts';
import { readAmount, readOptionalDecimal, Unreadable } from '../../src/service/field-readers.ts';

describe('a decimal', () => {
  it('[V3 V4] is kept digit for digit, whatever its length', () => {
    const decimals = fc.stringMatching(/^-?\d{1,200}(\.\d{1,200})?([eE][+-]?\d{1,3})?$/);
    fc.assert(
      fc.property(decimals, (text) => {
        expect(readAmount(text, 0)).toBe(text);
      }),
    );
  });

  it.each([
    '9'.repeat(131_000),
    `0.${'9'.repeat(16_383)}`,
    '1e130999',
    '1e-16383',
    '0.0001e131003',
    '0e1000000',
    `${'0'.repeat(200_000)}7`,
  ])('[V5] at the limits of PostgreSQL and its sums is kept', (text) => {
    expect(decimalProblem(text)).toBeNull();
  });

  it.each([
    '9'.repeat(131_001),
    `0.${'9'.repeat(16_384)}`,
    '1e131000',
    '10e130999',
    '1e-16384',
    '1.5e-16383',
    '1e99999999999999999999',
    '0e-99999',
  ])('[V5] beyond the limits of PostgreSQL and its sums is rejected', (text) => {
    expect(readAmount(text, 0)).toBeInstanceOf(Unreadable);
  });

  it.each([
    'NaN',
    'Infinity',
    '-Infinity',
    '0x1F',
    '1_000',
    '1,5',
    '+5',
    ' 5 ',
    '5\n',
    '٣',
    '.5',
    '5.',
    '--5',
    'e5',
    '1e',
    {},
    true,
    ['1'],
  ])('[V2 V3] written as %j is rejected', (value) => {
    expect(readAmount(value, 0)).toMatchObject({ stored: null });
    expect(readOptionalDecimal(value, 0)).toMatchObject({ stored: null });
  });

  it.each(['', ' ', null, undefined])(
    '[V1] that is blank (%j) is rejected only where it is due',
    (value) => {
      expect(readAmount(value, 0)).toMatchObject({ stored: null, reason: 'blank' });
      expect(readOptionalDecimal(value, 0)).toBeNull();
    },
  );
});
