import { InvalidArgumentError } from 'commander';

export function integer(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('A whole number is expected.');
  return Number(text);
}

/** Parses a slip44 code; registered codes are below 2^31. */
export function chainCode(text: string): number {
  const code = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(code < 2 ** 31)) throw new InvalidArgumentError('The slip44 code of a chain is expected.');
  return code;
}

export function decimal(text: string): number {
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(text)) throw new InvalidArgumentError('A number is expected.');
  return Number(text);
}
