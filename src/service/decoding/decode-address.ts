import type { AddressRecord, Decoded } from '../../kernel/wallet-records.ts';
import { decodeRows, rowDecoder } from './decode-rows.ts';
import { readAddress } from './field-readers.ts';

/** Section 2.5 of the service's document; it shows no other field. */
const decodeAddress = rowDecoder<AddressRecord>('address-list', {
  address: { from: 'address', read: readAddress, isKey: true },
});

/** Rows of the address list, or generated addresses; `now` is in Unix milliseconds. */
export function decodeAddresses(rows: readonly unknown[], now: number): Decoded<AddressRecord> {
  return decodeRows(rows, decodeAddress, now);
}
