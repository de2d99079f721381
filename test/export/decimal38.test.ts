import fc from 'fast-check';
import { expect, test } from 'vitest';
import '../support/fixed-seed.ts';
import { decimal38, decimalBytes } from '../../src/export/decimal38.ts';

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max });

test('an amount is scaled by 10^18 to the last digit, or not at all', () => {
  const amount = fc.tuple(fc.constantFrom('', '-'), digits(1, 26), digits(0, 30));
  fc.assert(
    fc.property(amount, ([sign, whole, fraction]) => {
      const scaled = decimal38(`${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`);
      // In units of 10^-30, as a whole number.
      const exact = BigInt(whole + fraction.padEnd(30, '0')) * (sign === '' ? 1n : -1n);
      const size = exact < 0n ? -exact : exact;
      const fits = size % 10n ** 12n === 0n && size < 10n ** 50n;
      expect(scaled).toBe(fits ? exact / 10n ** 12n : null);
    }),
    { numRuns: 5_000 },
  );
});

test('the bytes are the number in two’s complement, highest first', () => {
  const limit = 10n ** 38n - 1n;
  fc.assert(
    fc.property(fc.bigInt({ min: -limit, max: limit }), (scaled) => {
      const hex = Buffer.from(decimalBytes(scaled)).toString('hex');
      expect(BigInt.asIntN(128, BigInt(`0x${hex}`))).toBe(scaled);
    }),
  );
});
