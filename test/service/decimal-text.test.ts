import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decimalProblem } from '../../src/service/decoding/decimal-text.ts';
import {
  readAmount,
  readOptionalDecimal,
  Unreadable,
} from '../../src/service/decoding/field-readers.ts';
import { forAllSync } from '../support/for-all.ts';

describe('a decimal', () => {
  it('[V3 V4] is kept digit for digit, at any length', () => {
    const decimals = fc.stringMatching(/^-?\d{1,60}(\.\d{1,60})?([eE][+-]?[1-3]?\d)?$/);
    forAllSync(decimals)(100, (text) => {
      expect(readAmount(text, 0)).toBe(text);
    });
  });

  it.each([
    '9'.repeat(1_000),
    `0.${'9'.repeat(1_000)}`,
    '1e999',
    '1e-1000',
    '0.0001e1003',
    '0e1000000',
    `${'0'.repeat(200_000)}7`,
  ])('[V5] at the limits is kept', (text) => {
    expect(decimalProblem(text)).toBeNull();
  });

  it.each([
    '9'.repeat(1_001),
    `0.${'9'.repeat(1_001)}`,
    '1e1000',
    '10e999',
    '1e-1001',
    '1.5e-1000',
    '1e99999999999999999999',
    '0e-99999',
  ])('[V5] beyond the limits is rejected', (text) => {
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
    '[V1] that is blank (%j) is rejected only if it is required',
    (value) => {
      expect(readAmount(value, 0)).toMatchObject({ stored: null, reason: 'blank' });
      expect(readOptionalDecimal(value, 0)).toBeNull();
    },
  );
});
