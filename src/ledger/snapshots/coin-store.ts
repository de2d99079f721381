import { sql } from 'drizzle-orm';
import type { AssetKey } from '../../kernel/vocabulary.ts';
import type { CoinRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { coins } from '../own-tables.ts';
import { type SnapshotTable, type StoredSnapshot, storeSnapshot } from './store-snapshot.ts';

/** Logs one row per change of a coin, and one for a new coin. */
const history = sql`,
changes as (
  insert into own.coin_changes (slip44, symbol, contract_address, name, decimals, deposit_state, withdraw_state,
                                   is_listed, observed_at)
  select c.*, statement_timestamp()
    from (select slip44, symbol, contract_address, name, decimals, deposit_state, withdraw_state, true from inserted
          union all
          select slip44, symbol, contract_address, new_name, new_decimals, new_deposit_state, new_withdraw_state,
                 is_named
            from stored) as c
   order by slip44, symbol, contract_address
)`;

const snapshot: SnapshotTable<CoinRecord, typeof coins> = {
  table: coins,
  fields: ['name', 'decimals', 'depositState', 'withdrawState'],
  history,
};

/**
 * Stores the coins of one answer (docs/wallet-service-api.md, section 2.6) and logs the changes. `isWhole` says that
 * the answer lacks no row. Coins that a whole answer does not name are no longer listed, except those in `kept`.
 */
export function storeCoins(
  db: LedgerDb,
  records: CoinRecord[],
  observation: number,
  isWhole: boolean,
  kept: AssetKey[] = [],
): Promise<StoredSnapshot> {
  return storeSnapshot(db, snapshot, records, observation, isWhole, kept);
}
