import { eq } from 'drizzle-orm';
import type { CoinRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { coins } from '../own-tables.ts';

export type CoinStates = Pick<
  CoinRecord,
  'slip44' | 'symbol' | 'contractAddress' | 'depositState' | 'withdrawState'
>;

/** Reads the last stored states of the coins that the service lists. */
export async function readCoinStates(db: LedgerDb): Promise<CoinStates[]> {
  const { slip44, symbol, contractAddress, depositState, withdrawState } = coins;
  return await db
    .select({ slip44, symbol, contractAddress, depositState, withdrawState })
    .from(coins)
    .where(eq(coins.isListed, true))
    .orderBy(slip44, symbol, contractAddress);
}
