import type { CoinRecord, Decoded } from '../../kernel/wallet-records.ts';
import { decodeSnapshotRows, rowDecoder } from './decode-rows.ts';
import { readContract, readInt4, readKey, readSlip44, readText } from './field-readers.ts';

/** Decodes a coin (docs/wallet-service-api.md, section 2.6). */
const decodeCoin = rowDecoder<CoinRecord>('coin-list', {
  slip44: { from: 'slip44', read: readSlip44, isKey: true },
  symbol: { from: 'symbol', read: readKey, isKey: true },
  contractAddress: { from: 'contractAddress', read: readContract, isKey: true },
  name: { from: 'name', read: readText },
  decimals: { from: 'decimal', read: readInt4 },
  depositState: { from: 'depositState', read: readInt4 },
  withdrawState: { from: 'withdrawState', read: readInt4 },
});

/** Decodes all coins of a snapshot; `now` is in Unix milliseconds. */
export function decodeCoins(rows: readonly unknown[], now: number): Decoded<CoinRecord> {
  return decodeSnapshotRows(
    'coin-list',
    rows,
    decodeCoin,
    now,
    ({ slip44, symbol, contractAddress }) => JSON.stringify([slip44, symbol, contractAddress]),
  );
}
