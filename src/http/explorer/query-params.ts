import type { Context } from 'hono';
import type { TransactionType } from '../../kernel/vocabulary.ts';
import type {
  Position,
  TransactionFilter,
} from '../../ledger/reports/explorer/list-transactions.ts';

/** A parameter that a page does not understand; the message is shown to the reader. */
export class BadParameter extends Error {}

type Read = (name: string) => string | undefined;

/**
 * Returns the parameters in a request's address. Throws BadParameter for one that the page does not take, or that is
 * given twice: a page that ignored a filter would show more than was requested.
 */
export function queryOf(c: Context, names: readonly string[]): Read {
  for (const [name, values] of Object.entries(c.req.queries())) {
    if (!names.includes(name)) {
      const taken = names.length === 0 ? 'no parameter' : names.join(', ');
      throw new BadParameter(`this page has no parameter ${name.slice(0, 40)}; it takes ${taken}`);
    }
    if (values.length > 1) throw new BadParameter(`${name} is given ${values.length} times`);
  }
  return (name) => c.req.query(name);
}

/** Parameters that `readFilter` reads. */
export const filterNames = [
  'stream',
  'state',
  'coin',
  'chain',
  'from',
  'to',
  'min',
  'max',
  'address',
  'sender',
  'open',
  'before',
];

/**
 * Upper bound of a filter's characters, the same as for a text of the service, because pages link to lists filtered by
 * such texts.
 */
const textMax = 2_000;

/** Reads the filters of the list of transactions. Throws BadParameter. An empty value is none. */
export function readFilter(read: Read): TransactionFilter {
  const filter = {
    stream: parsed(read, 'stream', asStream),
    state: readText(read, 'state'),
    coin: readText(read, 'coin'),
    chain: parsed(read, 'chain', asChain),
    from: parsed(read, 'from', asDay),
    to: parsed(read, 'to', asDay),
    min: parsed(read, 'min', asAmount),
    max: parsed(read, 'max', asAmount),
    address: readText(read, 'address'),
    sender: readText(read, 'sender'),
    isOpen: parsed(read, 'open', asYes) ?? false,
    before: parsed(read, 'before', asPosition),
  };
  const { from, to, min, max } = filter;
  if (from !== null && to !== null && from > to)
    throw new BadParameter('from is a later day than to');
  if (min !== null && max !== null && !isOrdered(min, max))
    throw new BadParameter('min is a larger amount than max');
  return filter;
}

/** Writes the filters as a query, `?coin=BTC&from=2026-03-01`; the inverse of `readFilter`. */
export function filterQuery(filter: Partial<TransactionFilter>): string {
  const { before, isOpen, ...rest } = filter;
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(rest))
    if (value !== null && value !== undefined) params.set(name, String(value));
  if (isOpen) params.set('open', 'yes');
  if (before) params.set('before', `${before.time ?? ''}~${before.orderNo}`);
  const text = params.toString();
  return text === '' ? '' : `?${text}`;
}

/** Reads an id to read on from; null if there is none. */
export function readId(read: Read, name: string): number | null {
  return parsed(read, name, (text) => (/^\d{1,15}$/.test(text) ? Number(text) : null));
}

/** Reads a calendar year; null if there is none. */
export function readYear(read: Read): number | null {
  return parsed(read, 'year', (text) => (/^[1-9]\d{3}$/.test(text) ? Number(text) : null));
}

/** Reads one of these words; null if there is none. */
export function readWord<const T extends string>(
  read: Read,
  name: string,
  words: readonly T[],
): T | null {
  return parsed(read, name, (text) => words.find((word) => word === text) ?? null);
}

/** Reads a text of at most 2,000 characters, without surrounding blanks; null if there is none. */
export function readText(read: Read, name: string): string | null {
  return parsed(read, name, (text) => {
    if (text.includes('\0') || text !== text.toWellFormed())
      throw new BadParameter(`${name} has a character that no text of the ledger has`);
    return text.length > textMax ? null : text;
  });
}

/** `parse` returns null for a text that it does not understand. */
function parsed<T>(read: Read, name: string, parse: (text: string) => T | null): T | null {
  const given = read(name) ?? '';
  // The blanks of an order number belong to it.
  const text = name === 'before' ? given : given.trim();
  if (text === '') return null;
  const value = parse(text);
  if (value === null)
    throw new BadParameter(`${name} must be ${meanings[name] ?? 'a shorter text'}`);
  return value;
}

const meanings: Record<string, string> = {
  stream: 'deposit or withdraw',
  chain: 'the slip44 code of a chain',
  from: 'a day such as 2026-03-01',
  to: 'a day such as 2026-03-01',
  min: 'a decimal such as 0.5',
  max: 'a decimal such as 0.5',
  open: 'yes',
  before: 'the end of a link that this page made',
  after: 'the end of a link that this page made',
  format: 'csv',
  days: '7, 30, 90, or on a coin 365 or all',
  year: 'a year such as 2026',
  show: 'open or all',
  outcome: 'failed',
};

function asStream(text: string): TransactionType | null {
  return text === 'deposit' || text === 'withdraw' ? text : null;
}

function asChain(text: string): number | null {
  return /^\d{1,10}$/.test(text) && Number(text) < 2 ** 31 ? Number(text) : null;
}

function asDay(text: string): string | null {
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text) && text >= '0001';
  const time = isDay ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // The 30th of February is parsed as a day of March.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text) ? text : null;
}

function asAmount(text: string): string | null {
  return /^-?\d{1,100}(\.\d{1,100})?$/.test(text) ? text : null;
}

/** Returns true for decimals in their order of size, or equal ones. */
function isOrdered(lower: string, higher: string): boolean {
  const sized = (amount: string) => {
    const [whole = '', fraction = ''] = amount.split('.');
    return BigInt(whole + fraction.padEnd(100, '0'));
  };
  return sized(lower) <= sized(higher);
}

function asYes(text: string): boolean | null {
  return text === 'yes' || null;
}

const timePattern = /^\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00( BC)?$/;

function asPosition(text: string): Position | null {
  const [time = '', ...rest] = text.split('~');
  const orderNo = rest.join('~');
  if (orderNo === '' || orderNo.length > textMax || orderNo.includes('\0')) return null;
  if (time === '') return { time: null, orderNo };
  return timePattern.test(time) ? { time, orderNo } : null;
}
