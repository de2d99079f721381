import { InvalidArgumentError } from 'commander';
import { paramNames } from '../../config/list-parsers.ts';
import type { ParamNames } from '../../kernel/vocabulary.ts';

export function integer(text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new InvalidArgumentError('A whole number of at most 9 digits is expected.');
  return Number(text);
}

export function port(text: string): number {
  const value = integer(text);
  if (value > 65_535) throw new InvalidArgumentError('A port from 0 to 65535 is expected.');
  return value;
}

/** Parses a page size: 1, 2, 3 … */
export function pageSize(text: string): number {
  const value = integer(text);
  if (value === 0) throw new InvalidArgumentError('A number from 1 on is expected.');
  return value;
}

/** Parses a slip44 code; registered codes are below 2^31. */
export function chainCode(text: string): number {
  const code = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(code < 2 ** 31)) throw new InvalidArgumentError('The slip44 code of a chain is expected.');
  return code;
}

const walletName = /^[a-z][a-z0-9_]*$/;
const walletsMax = 100;

/** Parses wallets: a list of different names, or a number of wallets, which are then named main, w2, w3 … */
export function walletNames(text: string): string[] {
  const count = /^\d{1,3}$/.test(text) ? Number(text) : null;
  const names =
    count === null
      ? text.split(',')
      : Array.from({ length: count }, (_, i) => (i === 0 ? 'main' : `w${i + 1}`));
  const isList =
    names.every((name) => walletName.test(name)) && new Set(names).size === names.length;
  if (isList && names.length > 0 && names.length <= walletsMax) return names;
  throw new InvalidArgumentError(
    'A number from 1 to 100 is expected, or different names such as eu,us: lower-case letters, digits and _.',
  );
}

/** Parses names of query parameters: `page=p,size=s`; the others keep their default. */
export function queryNames(text: string): ParamNames {
  const { data, error } = paramNames.safeParse(text);
  if (data) return data;
  throw new InvalidArgumentError(`Expected: ${error.issues.map(({ message }) => message).join()}.`);
}

/** Parses the address of a page: http or https. */
export function webAddress(text: string): string {
  const isPage = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  if (!isPage) throw new InvalidArgumentError('An address is expected: http://… or https://…');
  return text;
}

export function decimal(text: string): number {
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(text)) throw new InvalidArgumentError('A number is expected.');
  return Number(text);
}

/** Parses a UTC day: `2026-03-31`. */
export function utcDay(text: string): string {
  const ms = /^(?!0000)\d{4}-\d{2}-\d{2}$/.test(text)
    ? Date.parse(`${text}T00:00:00Z`)
    : Number.NaN;
  const isDay = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
  if (!isDay)
    throw new InvalidArgumentError('A day of the calendar is expected, such as 2026-03-31.');
  return text;
}

/** Parses a month of the calendar: `2026-03`. */
export function calendarMonth(text: string): string {
  if (!/^(?!0000)\d{4}-(0[1-9]|1[0-2])$/.test(text))
    throw new InvalidArgumentError('A month of the calendar is expected, such as 2026-03.');
  return text;
}

/** Parses a share: a decimal from 0 to 1. */
export function share(text: string): number {
  const value = decimal(text);
  if (value > 1) throw new InvalidArgumentError('A number from 0 to 1 is expected.');
  return value;
}

/** Parses the number of an event: 1, 2, 3 … */
export function eventNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new InvalidArgumentError('The number of an event is expected: 1, 2, 3 …');
  return Number(text);
}
