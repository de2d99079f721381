import { sql } from 'drizzle-orm';
import type { LedgerDb } from './connection/connect-ledger.ts';
import { isForbidden } from './connection/postgres-codes.ts';
import { out, query, text, truth } from './connection/query-rows.ts';

/** A wallet of the ledger. `isResting`: no daemon has it in WALLETS. */
export type OtherWallet = { name: string; isResting: boolean };

/**
 * Returns the wallets of the ledger that are not among the named ones, by name; with `slip44` only those with addresses
 * of this chain. Returns none to a role that may not see them.
 */
export async function listOtherWallets(
  db: LedgerDb,
  names: readonly string[],
  slip44: number | null = null,
): Promise<OtherWallet[]> {
  try {
    return await query(db)`
      select w.wallet as ${out('name', text)}, w.is_resting as ${out('isResting', truth)}
        from ledger.wallets w
       where w.wallet <> all(${sql.param([...names])}::text[])
         and (${slip44}::integer is null
           or exists (select from ledger.addresses a where a.wallet = w.wallet and a.slip44 = ${slip44}::integer))
       order by w.wallet`;
  } catch (error) {
    if (isForbidden(error)) return [];
    throw error;
  }
}
