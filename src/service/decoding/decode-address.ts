import { LedgerError } from '../../kernel/errors.ts';
import type { AddressRecord, Decoded } from '../../kernel/wallet-records.ts';
import { decodeRows, rowDecoder } from './decode-rows.ts';
import { readAddress } from './field-readers.ts';

/** Decodes an address (docs/wallet-service-api.md, section 2.5), for which no other field is documented. */
const decodeAddress = rowDecoder<AddressRecord>('address-list', {
  address: { from: 'address', read: readAddress, isKey: true },
});

/**
 * Decodes rows of the address list, or generated addresses; `now` is in Unix milliseconds. A plain text in place of a
 * row is its address.
 */
export function decodeAddresses(rows: readonly unknown[], now: number): Decoded<AddressRecord> {
  const named = rows.map((row) => (isText(row) ? { address: row } : row));
  return decodeRows(named, decodeAddress, now);
}

/**
 * Decodes the answer to a request for `num` addresses. Plain texts may be something else, such as the number of a task
 * that will generate them. They count as addresses only if there are several, as many as were requested. Otherwise
 * throws service-malformed, and the address list shows what was generated.
 */
export function decodeGenerated(
  rows: readonly unknown[],
  num: number,
  now: number,
): Decoded<AddressRecord> {
  if (rows.some(isText) && (num === 1 || rows.length !== num))
    throw new LedgerError('service-malformed', 'an answer with texts in place of addresses');
  return decodeAddresses(rows, now);
}

function isText(row: unknown): row is string {
  return typeof row === 'string';
}
