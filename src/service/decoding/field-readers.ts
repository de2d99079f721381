import { Buffer } from 'node:buffer';
import { limits } from '../limits.ts';
import { decimalProblem } from './decimal-text.ts';
import { ExactNumber, NotANumber } from './exact-json.ts';
import { isStorableText, toStorableText } from './storable-text.ts';

/** Result of a reader for a value that cannot be stored as received: the value to store instead, and the reason. */
export class Unreadable<V> {
  readonly stored: V;
  readonly reason: string;

  constructor(stored: V, reason: string) {
    this.stored = stored;
    this.reason = reason;
  }
}

/** Converts a field of the service; `now` is in Unix milliseconds. Never throws. */
export type FieldReader<V> = (value: unknown, now: number) => V | Unreadable<V>;

const int4Max = 2_147_483_647;
const earliestTime = Date.UTC(2009, 0, 1);
const dayMs = 86_400_000;
const integerText = /^(?:\d{1,15}|-[1-9]\d{0,14})$/;
const decimalText = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
const decimalLengthMax = 60;
const notStorable = 'text with characters that cannot be stored';

/** Reads text that identifies something; empty text is null, and a number becomes its digits. */
export const readIdentity: FieldReader<string | null> = (value) => {
  const text = textOf(value);
  if (text === null || text === '') return null;
  if (text === undefined) return new Unreadable(null, `${kindOf(value)}, not text`);
  // PostgreSQL cannot index longer values.
  if (isLongerThan(text, limits.textBytes.max)) {
    return new Unreadable(null, `longer than ${limits.textBytes.max} bytes`);
  }
  // Replaced characters would make one asset, address or hash of several.
  return isStorableText(text) ? text : new Unreadable(null, notStorable);
};

/** Reads text that only describes, as `readIdentity`, but replaces characters that cannot be stored. */
export const readText: FieldReader<string | null> = (value, now) => {
  const read = readIdentity(value, now);
  return read instanceof Unreadable && read.reason === notStorable
    ? new Unreadable(toStorableText(String(value)), `${notStorable} (replaced)`)
    : read;
};

/** Reads a required decimal, with the service's own digits. */
export const readAmount: FieldReader<string | null> = (value) =>
  isBlank(value) ? new Unreadable(null, 'blank') : readDecimal(value);

/** Reads an optional decimal, with the service's own digits; null if blank. */
export const readOptionalDecimal: FieldReader<string | null> = (value) =>
  isBlank(value) ? null : readDecimal(value);

/** Reads a count from 0 to 2147483647; null if blank. */
export const readCount: FieldReader<number | null> = (value) =>
  isBlank(value) ? null : (integerIn(value, 0, int4Max) ?? notAnInteger(value, 0, int4Max));

/** Reads a 32-bit integer; null if blank. */
export const readInt4: FieldReader<number | null> = (value) =>
  isBlank(value)
    ? null
    : (integerIn(value, -int4Max - 1, int4Max) ?? notAnInteger(value, -int4Max - 1, int4Max));

/** Reads a time in Unix milliseconds, from 2009 to one day after `now`. */
export const readTime: FieldReader<number | null> = (value, now) => {
  if (isBlank(value)) return new Unreadable(null, 'blank');
  return (
    integerIn(value, earliestTime, now + dayMs) ??
    new Unreadable(null, 'not a time in milliseconds between 2009 and tomorrow')
  );
};

/** Reads a part of a row's key, byte for byte. An unreadable key rejects the whole row. */
export const readKey = keyReader(limits.keyBytes.max);

/** Reads an address, with a higher length limit than other keys, because some chains append a memo. */
export const readAddress = keyReader(limits.addressBytes.max);

/** Reads the contract of a token; empty text for a chain's main coin. */
export const readContract: FieldReader<string | null> = (value, now) =>
  value === null || value === undefined || value === '' ? '' : readKey(value, now);

/** Reads the chain's slip44 code, part of a row's key. */
export const readSlip44: FieldReader<number | null> = (value) =>
  integerIn(value, 0, int4Max) ?? notAnInteger(value, 0, int4Max);

/**
 * Returns the integer of a number or of its text, or null if it is none or outside the bounds. `1250.0` and `1.25e3`
 * are integers too.
 */
export function integerIn(value: unknown, min: number, max: number): number | null {
  const number = typeof value === 'number' ? value : integerOf(value);
  // Adding 0 turns -0 into 0.
  return Number.isSafeInteger(number) && number >= min && number <= max ? number + 0 : null;
}

function integerOf(value: unknown): number {
  const text = value instanceof ExactNumber ? value.text : value;
  if (typeof text !== 'string') return Number.NaN;
  return integerText.test(text) || isWholeDecimal(text) ? Number(text) : Number.NaN;
}

function isWholeDecimal(text: string): boolean {
  const match = text.length > decimalLengthMax ? null : decimalText.exec(text);
  if (!match) return false;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  // Only zeros may follow the point, after the exponent has moved it.
  return !/[1-9]/.test((whole + fraction).slice(Math.max(0, whole.length + Number(exponent))));
}

function keyReader(bytesMax: number): FieldReader<string | null> {
  return (value) => {
    if (isBlank(value)) return new Unreadable(null, 'blank');
    const text = textOf(value);
    if (typeof text !== 'string' || (typeof value !== 'string' && !/^-?\d+$/.test(text))) {
      return new Unreadable(null, `${kindOf(value)}, not text`);
    }
    if (isLongerThan(text, bytesMax)) return new Unreadable(null, `longer than ${bytesMax} bytes`);
    return isStorableText(text) ? text : new Unreadable(null, notStorable);
  };
}

function readDecimal(value: unknown): string | Unreadable<null> {
  const text = textOf(value);
  if (typeof text !== 'string') return new Unreadable(null, `${kindOf(value)}, not a number`);
  const problem = decimalProblem(text);
  return problem === null ? text : new Unreadable(null, problem);
}

/** Returns null for a missing value, and undefined for a value without text: booleans, objects, lists, NaN. */
function textOf(value: unknown): string | null | undefined {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return String(value);
  return value instanceof ExactNumber && !(value instanceof NotANumber) ? value.text : undefined;
}

function isBlank(value: unknown): boolean {
  return (
    value === null || value === undefined || (typeof value === 'string' && value.trim() === '')
  );
}

function isLongerThan(text: string, bytesMax: number): boolean {
  // A UTF-16 unit takes at most three bytes.
  return text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax;
}

function notAnInteger(value: unknown, min: number, max: number): Unreadable<null> {
  return new Unreadable(null, isBlank(value) ? 'blank' : `not an integer from ${min} to ${max}`);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (value instanceof NotANumber) return value.text;
  return value instanceof ExactNumber ? 'a number' : `a ${typeof value}`;
}
