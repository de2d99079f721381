import type { BalanceRecord, Decoded } from '../../kernel/wallet-records.ts';
import { decodeSnapshotRows, rowDecoder } from './decode-rows.ts';
import {
  readAmount,
  readContract,
  readInt4,
  readKey,
  readOptionalDecimal,
  readSlip44,
  readText,
} from './field-readers.ts';

/** Decodes a balance (docs/wallet-service-api.md, section 2.7). */
const decodeBalance = rowDecoder<BalanceRecord>('balance-list', {
  slip44: { from: 'slip44', read: readSlip44, isKey: true },
  symbol: { from: 'symbol', read: readKey, isKey: true },
  contractAddress: { from: 'contractAddress', read: readContract, isKey: true },
  name: { from: 'name', read: readText },
  chainName: { from: 'chainName', read: readText },
  chainSymbol: { from: 'chainSymbol', read: readText },
  balance: { from: 'balance', read: readAmount },
  frozen: { from: 'frozen', read: readOptionalDecimal },
  decimals: { from: 'decimal', read: readInt4 },
});

/** Decodes all balances of a snapshot; `now` is in Unix milliseconds. */
export function decodeBalances(rows: readonly unknown[], now: number): Decoded<BalanceRecord> {
  return decodeSnapshotRows(
    'balance-list',
    rows,
    decodeBalance,
    now,
    ({ slip44, symbol, contractAddress }) => JSON.stringify([slip44, symbol, contractAddress]),
  );
}
