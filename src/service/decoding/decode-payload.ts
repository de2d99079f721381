import type {
  AddressRecord,
  BalanceRecord,
  CoinRecord,
  Decoded,
  RecordSource,
  TransactionDetailRecord,
  TransactionRecord,
} from '../../kernel/wallet-records.ts';
import { decodeAddresses } from './decode-address.ts';
import { decodeBalances } from './decode-balance.ts';
import { decodeCoins } from './decode-coin.ts';
import { decodeTransactionDetails, decodeTransactions } from './decode-transaction.ts';
import { parseExactJson } from './exact-json.ts';
import { readTime } from './field-readers.ts';

type RecordOf = {
  'transaction-list': TransactionRecord;
  'transaction-detail': TransactionDetailRecord;
  'address-list': AddressRecord;
  'coin-list': CoinRecord;
  'balance-list': BalanceRecord;
};

const decoders: {
  [S in RecordSource]: (rows: readonly unknown[], now: number) => Decoded<RecordOf[S]>;
} = {
  'transaction-list': decodeTransactions,
  'transaction-detail': decodeTransactionDetails,
  'address-list': decodeAddresses,
  'coin-list': decodeCoins,
  'balance-list': decodeBalances,
};

/**
 * Decodes the payload of a reject again, as if it had just been received. Returns null if the payload is not JSON,
 * because it was cut or contains a bare NaN or Infinity. `now` is in Unix milliseconds.
 */
export function decodePayload<S extends RecordSource>(
  source: S,
  payload: string,
  now: number,
): Decoded<RecordOf[S]> | null {
  try {
    return decoders[source]([parseExactJson(payload)], now);
  } catch {
    return null;
  }
}

/** Returns the time (Unix ms) that the payload of a transaction shows; null if none can be read. */
export function timeOfPayload(payload: string, now: number): number | null {
  try {
    const row = parseExactJson(payload);
    if (typeof row !== 'object' || row === null || !('time' in row)) return null;
    const time = readTime(row.time, now);
    return typeof time === 'number' ? time : null;
  } catch {
    return null;
  }
}
