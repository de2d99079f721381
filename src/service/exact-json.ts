import { parse } from 'lossless-json';

/** A JSON number that a JavaScript number could not hold with all its digits. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Parses JSON so that no digit is lost: integers of up to 15 digits become numbers, every other number an
 * ExactNumber; of a name that occurs twice the last value counts. Throws SyntaxError, or RangeError for nesting
 * beyond the stack.
 */
export function parseExactJson(text: string): unknown {
  return isNumber.test(text) || mayLoseDigits.test(text)
    ? parseKeepingDigits(text)
    : JSON.parse(text);
}

/** The slow path alone, for numbers of any kind; the same result as `parseExactJson`. */
export function parseKeepingDigits(text: string): unknown {
  return parse(text, undefined, {
    parseNumber: (digits) => (safeInteger.test(digits) ? Number(digits) : new ExactNumber(digits)),
    onDuplicateKey: ({ newValue }) => newValue,
  });
}

const safeInteger = /^(?:0|-?[1-9]\d{0,14})$/;

// Apart from the other: with an alternative for the start of the text that one would take half as long again.
const isNumber = /^[-\d]/;

// A number with 16 digits, a point or an exponent, or a negative zero. Text inside strings may match too: that
// only costs the slow path.
const mayLoseDigits = /[[:,\s](?:-?(?:\d{16}|\d{1,15}[.eE])|-0)/;
