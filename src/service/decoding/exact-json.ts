import { parse } from 'lossless-json';
import { limits } from '../limits.ts';
import { assertFewValues, TooMuchToParse } from './value-count.ts';

/** A JSON number whose digits a JavaScript number may lose. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A bare NaN, Infinity or -Infinity in place of a number; JSON forbids them, and some services write them. */
export class NotANumber extends ExactNumber {}

/**
 * Parses JSON without losing digits: integers of up to 15 digits become numbers, every other number an ExactNumber. The
 * last value of a duplicate name counts. Throws SyntaxError, RangeError for nesting beyond the stack, or
 * TooMuchToParse.
 */
export function parseExactJson(text: string): unknown {
  return isNumber.test(text) || mayLoseDigits.test(text)
    ? parseKeepingDigits(text)
    : JSON.parse(text);
}

/**
 * Does the same as `parseExactJson`, but turns a bare NaN, Infinity or -Infinity into a NotANumber. Searches for them
 * only after the text has failed to parse.
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

/** Parses on the slow path only, for all numbers; returns the same result as `parseExactJson`. */
export function parseKeepingDigits(text: string): unknown {
  const { max } = limits.exactLength;
  if (text.length > max) throw new TooMuchToParse(max, 'characters outside of long numbers');
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

/** Numbers that represent the tokens during parsing, beyond the range of PostgreSQL and JavaScript. */
const markOf = new Map([
  ['NaN', '1e-987654321987001'],
  ['Infinity', '1e-987654321987002'],
  ['-Infinity', '1e-987654321987003'],
]);
const tokenOf = new Map([...markOf].map(([token, mark]) => [mark, token]));

/** Replaces the tokens outside strings by numbers. Returns null without tokens, or if the text is too long to parse. */
function markNonNumbers(text: string): string | null {
  // The parser would refuse the text with numbers too.
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

/** Returns the index after the string that begins at `quote`, or the end of the text if it does not end. */
function endOfString(text: string, quote: number): number {
  for (let end = text.indexOf('"', quote + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}

const safeInteger = /^(?:0|-?[1-9]\d{0,14})$/;

// Stays separate from `mayLoseDigits`, which an alternative for the start of the text would slow down by half.
const isNumber = /^[-\d]/;

// Matches a number with 16 digits, a point or an exponent, or a negative zero. A match inside a string only costs the
// slow path.
const mayLoseDigits = /[[:,\s](?:-?(?:\d{16}|\d{1,15}[.eE])|-0)/;
