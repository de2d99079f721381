import type { CoinRecord } from '../kernel/wallet-records.ts';
import type { LedgerDb } from './connect-ledger.ts';
import { type SnapshotTable, storeSnapshot } from './store-snapshot.ts';

const coins: SnapshotTable<CoinRecord> = {
  name: 'coins',
  columns: [
    { name: 'name', type: 'text', value: (record) => record.name },
    { name: 'decimals', type: 'integer', value: (record) => record.decimals },
    { name: 'deposit_state', type: 'integer', value: (record) => record.depositState },
    { name: 'withdraw_state', type: 'integer', value: (record) => record.withdrawState },
  ],
};

/**
 * Stores the coins of one answer (section 2.6 of the service's document); `isWhole`: the answer lacks no row, so
 * that a coin it does not name is no longer listed.
 */
export function storeCoins(
  db: LedgerDb,
  records: CoinRecord[],
  observation: number,
  isWhole: boolean,
): Promise<{ inserted: number; updated: number }> {
  return storeSnapshot(db, coins, records, observation, isWhole);
}
