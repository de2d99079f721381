/** What nearly all decimals look like, within every bound. */
const ordinary = /^-?\d{1,60}(?:\.\d{1,60})?$/;
const plainOrExponent = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

// What PostgreSQL's numeric holds; before the point it holds 72 digits more, which are left to the sums.
const digitsBeforePointMax = 131_000;
const digitsAfterPointMax = 16_383;
// PostgreSQL refuses larger exponents even of zero.
const exponentMax = 1_000_000;

/**
 * Why the text is not a decimal that PostgreSQL's numeric holds exactly, sums of such ones included, or null when it
 * is. Plain and exponent forms pass, and cast as they stand: expanding an exponent here would let 30 bytes of an
 * answer fill 130 KB.
 */
export function decimalProblem(text: string): string | null {
  if (ordinary.test(text)) return null;
  const match = plainOrExponent.exec(text);
  if (!match) return 'not a decimal number';
  const [, whole = '', fraction = '', exponentText = '0'] = match;
  const exponent = Number(exponentText);
  if (Math.abs(exponent) > exponentMax) return 'beyond the range of exponents';
  if (fraction.length - exponent > digitsAfterPointMax) {
    return `one of more than ${digitsAfterPointMax} digits after the point`;
  }
  const significantBefore = (whole + fraction).search(/[1-9]/);
  const digitsBefore = significantBefore === -1 ? 0 : whole.length - significantBefore + exponent;
  return digitsBefore > digitsBeforePointMax
    ? `one of more than ${digitsBeforePointMax} digits before the point`
    : null;
}
