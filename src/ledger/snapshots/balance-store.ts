import { sql } from 'drizzle-orm';
import type { AssetKey } from '../../kernel/vocabulary.ts';
import type { BalanceRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { balances } from '../own-tables.ts';
import { type SnapshotTable, type StoredSnapshot, storeSnapshot } from './store-snapshot.ts';

/**
 * Logs one row per change of balance, frozen or listing, and one for a new row. A row without amounts: no longer
 * listed.
 */
const history = sql`,
changes as (
  insert into own.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
  select slip44, symbol, contract_address, balance, frozen, statement_timestamp()
    from (select slip44, symbol, contract_address, balance, frozen from inserted
          union all
          select slip44, symbol, contract_address, case when is_named then new_balance end,
                 case when is_named then new_frozen end
            from stored
           where (new_balance, new_frozen, is_named) is distinct from (balance, frozen, is_listed)) as c
   order by slip44, symbol, contract_address
)`;

const snapshot: SnapshotTable<BalanceRecord, typeof balances> = {
  table: balances,
  fields: ['name', 'chainName', 'chainSymbol', 'balance', 'frozen', 'decimals'],
  history,
};

/**
 * Stores the balances of one answer (docs/wallet-service-api.md, section 2.7) and logs the changes. `isWhole` says that
 * the answer lacks no row. Balances that a whole answer does not name are no longer listed, except those in `kept`.
 * Amounts are equal by value.
 */
export function storeBalances(
  db: LedgerDb,
  records: BalanceRecord[],
  observation: number,
  isWhole: boolean,
  kept: AssetKey[] = [],
): Promise<StoredSnapshot> {
  return storeSnapshot(db, snapshot, records, observation, isWhole, kept);
}
