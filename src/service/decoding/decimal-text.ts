import { limits } from '../limits.ts';

/** Matches nearly all decimals, within every bound. */
const ordinary = /^-?\d{1,60}(?:\.\d{1,60})?$/;
const plainOrExponent = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

const digitsBeforePointMax = limits.digitsBeforePoint.max;
const digitsAfterPointMax = limits.digitsAfterPoint.max;
// PostgreSQL refuses larger exponents even of zero.
const exponentMax = limits.exponent.max;

/**
 * Returns why the text is not a decimal within the limits, or null if it is one. The limits are far below those of
 * PostgreSQL's numeric: 30 bytes of an answer could otherwise expand to 130 KB. Plain and exponent forms are accepted,
 * and PostgreSQL casts both.
 */
export function decimalProblem(text: string): string | null {
  if (ordinary.test(text)) return null;
  const match = plainOrExponent.exec(text);
  if (!match) return 'not a decimal number';
  const [, whole = '', fraction = '', exponentText = '0'] = match;
  const exponent = Number(exponentText);
  if (Math.abs(exponent) > exponentMax) return 'exponent out of range';
  if (fraction.length - exponent > digitsAfterPointMax) {
    return `more than ${digitsAfterPointMax} digits after the point`;
  }
  const significantBefore = (whole + fraction).search(/[1-9]/);
  const digitsBefore = significantBefore === -1 ? 0 : whole.length - significantBefore + exponent;
  return digitsBefore > digitsBeforePointMax
    ? `more than ${digitsBeforePointMax} digits before the point`
    : null;
}
