import { sql } from 'drizzle-orm';
import type { CoinRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';

export type CoinStates = Pick<
  CoinRecord,
  'slip44' | 'symbol' | 'contractAddress' | 'depositState' | 'withdrawState'
>;

/** Reads the last stored states of the coins that the service lists. */
export async function readCoinStates(db: LedgerDb): Promise<CoinStates[]> {
  const { rows } = await db.execute<CoinStates>(sql`
    select slip44, symbol, contract_address as "contractAddress",
           deposit_state as "depositState", withdraw_state as "withdrawState"
      from ledger.coins where is_listed order by slip44, symbol, contract_address`);
  return rows;
}
