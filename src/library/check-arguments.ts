import { LedgerError } from '../kernel/errors.ts';

/** Returns the error for an argument that is not what its type says, or out of range. */
export function wrongArgument(message: string): LedgerError {
  return new LedgerError('usage', message, { cure: 'correct the arguments of the call' });
}

// Checks of arguments, for callers without TypeScript and those that pass on values from elsewhere: the error names the
// argument, and nothing is sent. Each function throws LedgerError `usage`.

/** Requires a text that PostgreSQL stores unchanged. Null as a reference would take another address with each call. */
export function requireText(name: string, text: unknown): void {
  if (typeof text !== 'string' || text.trim() === '')
    throw wrongArgument(`${name} must be a text that is not empty`);
  if (text.includes('\0') || text !== text.toWellFormed())
    throw wrongArgument(`${name} has a character that is not valid Unicode, or code 0`);
}

/** Requires a name of WALLETS, or undefined. */
export function requireWallet(wallet: unknown): void {
  if (wallet === undefined) return;
  if (typeof wallet !== 'string' || !/^[a-z][a-z0-9_]*$/.test(wallet))
    throw wrongArgument(
      'wallet must be the name of a wallet: lower-case letters, digits and _, a letter first',
    );
}

export function requireWhole(name: string, value: unknown, min: number, max: number): void {
  if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) return;
  throw wrongArgument(`${name} must be a whole number from ${min} to ${max}`);
}

/** Requires a number, or undefined; Infinity and NaN are not accepted. */
export function requireNumber(name: string, value: unknown, min: number, max: number): void {
  if (value === undefined) return;
  if (typeof value === 'number' && value >= min && value <= max) return;
  throw wrongArgument(`${name} must be a number from ${min} to ${max}`);
}

export function requireOneOf(name: string, value: unknown, words: readonly string[]): void {
  if (words.some((word) => word === value)) return;
  throw wrongArgument(`${name} must be ${words.join(' or ')}`);
}

/** Requires an AbortSignal, or undefined. */
export function requireSignal(signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw wrongArgument('signal must be an AbortSignal');
}

export function requireFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw wrongArgument(`${name} must be a function`);
}

/** Requires an object without properties that the call does not know, because a misspelt one would have no effect. */
export function requireOptions(name: string, value: unknown, known: readonly string[]): void {
  requireObject(name, value);
  const unknown = Object.keys(value as object).filter((key) => !known.includes(key));
  if (unknown.length === 0) return;
  throw wrongArgument(`${name} must not have ${unknown.join(', ')}; known: ${known.join(', ')}`);
}

/** Returns the names of a type's properties; a missing name does not compile. */
export function namesOf<T>(names: { [Name in keyof Required<T>]: true }): string[] {
  return Object.keys(names);
}

export function requireObject(name: string, value: unknown): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw wrongArgument(`${name} must be an object`);
}
