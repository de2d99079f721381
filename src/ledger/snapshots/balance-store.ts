import { sql } from 'drizzle-orm';
import type { BalanceRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { type AssetKey, type SnapshotTable, storeSnapshot } from './store-snapshot.ts';

/** One row when balance, frozen or listing changed, first sight included; no amounts: no longer listed. */
const history = sql`,
changes as (
  insert into ledger.balance_changes (slip44, symbol, contract_address, balance, frozen, observed_at)
  select slip44, symbol, contract_address, balance, frozen, now()
    from (select slip44, symbol, contract_address, balance, frozen from inserted
          union all
          select slip44, symbol, contract_address, case when is_named then new_balance end,
                 case when is_named then new_frozen end
            from stored
           where (new_balance, new_frozen, is_named) is distinct from (balance, frozen, is_listed)) as c
   order by slip44, symbol, contract_address
)`;

const balances: SnapshotTable<BalanceRecord> = {
  name: 'balances',
  columns: [
    { name: 'name', type: 'text', value: (record) => record.name },
    { name: 'chain_name', type: 'text', value: (record) => record.chainName },
    { name: 'chain_symbol', type: 'text', value: (record) => record.chainSymbol },
    { name: 'balance', type: 'numeric', value: (record) => record.balance },
    { name: 'frozen', type: 'numeric', value: (record) => record.frozen },
    { name: 'decimals', type: 'integer', value: (record) => record.decimals },
  ],
  history,
};

/**
 * Stores the balances of one answer (section 2.7 of the service's document) and logs what changed; `isWhole`: the
 * answer lacks no row, so that a balance it does not name is no longer listed, unless `kept` names it. Amounts count
 * as equal by value.
 */
export function storeBalances(
  db: LedgerDb,
  records: BalanceRecord[],
  observation: number,
  isWhole: boolean,
  kept: AssetKey[] = [],
): Promise<{ inserted: number; updated: number }> {
  return storeSnapshot(db, balances, records, observation, isWhole, kept);
}
