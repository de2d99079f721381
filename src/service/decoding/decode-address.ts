import type { AddressRecord, Decoded } from '../../kernel/wallet-records.ts';
import { decodeRows, rowDecoder } from './decode-rows.ts';
import { readAddress } from './field-readers.ts';

/** Decodes an address (docs/wallet-service-api.md, section 2.5), for which no other field is documented. */
const decodeAddress = rowDecoder<AddressRecord>('address-list', {
  address: { from: 'address', read: readAddress, isKey: true },
});

/** Decodes rows of the address list, or generated addresses; `now` is in Unix milliseconds. */
export function decodeAddresses(rows: readonly unknown[], now: number): Decoded<AddressRecord> {
  return decodeRows(rows, decodeAddress, now);
}
