import { parse } from 'lossless-json';
import { limits } from '../limits.ts';
import { assertFewValues, TooMuchToParse } from './value-count.ts';

/** A JSON number that a JavaScript number could not hold with all its digits. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * NaN, Infinity or -Infinity in the place of a number: JSON has no such values, some services write
 * them.
 */
export class NotANumber extends ExactNumber {}

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

/**
 * As `parseExactJson`, but a bare NaN, Infinity or -Infinity becomes a NotANumber. The text is
 * searched for them only after it has turned out to be no JSON.
 */
export function parseTolerantJson(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    const marked = error instanceof SyntaxError ? markNonNumbers(text) : null;
    if (marked === null) throw error;
    return parseKeepingDigits(marked);
  }
}

/** The slow path alone, for numbers of any kind; the same result as `parseExactJson`. */
export function parseKeepingDigits(text: string): unknown {
  const { max } = limits.exactLength;
  if (text.length > max) throw new TooMuchToParse(max, 'characters beside numbers of many digits');
  assertFewValues(text, limits.exactValues.max);
  return parse(text, undefined, {
    parseNumber: (digits) => {
      if (safeInteger.test(digits)) return Number(digits);
      const token = tokenOf.get(digits);
      return token === undefined ? new ExactNumber(digits) : new NotANumber(token);
    },
    onDuplicateKey: ({ newValue }) => newValue,
  });
}

/**
 * Numbers that stand for tokens while the text is parsed; beyond what PostgreSQL or JavaScript
 * hold.
 */
const markOf = new Map([
  ['NaN', '1e-987654321987001'],
  ['Infinity', '1e-987654321987002'],
  ['-Infinity', '1e-987654321987003'],
]);
const tokenOf = new Map([...markOf].map(([token, mark]) => [mark, token]));

/**
 * The text with numbers in the place of the tokens that stand outside strings; null when there are
 * none.
 */
function markNonNumbers(text: string): string | null {
  // It would be refused with its numbers too.
  if (text.length > limits.exactLength.max) return null;
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const outside = text.slice(at, quote < 0 ? text.length : quote);
    parts.push(
      outside.replace(
        /(?<![\w.+-])(?:NaN|-?Infinity)(?![\w.])/g,
        (token) => markOf.get(token) ?? token,
      ),
    );
    at = quote < 0 ? text.length : endOfString(text, quote);
    if (quote >= 0) parts.push(text.slice(quote, at));
  }
  const marked = parts.join('');
  return marked === text ? null : marked;
}

/**
 * The place behind the string that begins at `quote`; the end of the text where it does not end.
 */
function endOfString(text: string, quote: number): number {
  for (let end = text.indexOf('"', quote + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}

const safeInteger = /^(?:0|-?[1-9]\d{0,14})$/;

// Apart from the other: with an alternative for the start of the text that one would take half as long again.
const isNumber = /^[-\d]/;

// A number with 16 digits, a point or an exponent, or a negative zero. Text inside strings may match too: that
// only costs the slow path.
const mayLoseDigits = /[[:,\s](?:-?(?:\d{16}|\d{1,15}[.eE])|-0)/;
