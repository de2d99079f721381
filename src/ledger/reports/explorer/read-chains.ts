import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../../connection/connect-ledger.ts';
import { number, orNull, out, query, text } from '../../connection/query-rows.ts';

/** A chain by its slip44 code, with the name that the service gives it; null if it gives none. */
export type NamedChain = { slip44: number; name: string | null };

const chainsMax = 500;

/** Reads the chains of the coins and balances, at most 500. */
export async function readChains(db: LedgerDb): Promise<NamedChain[]> {
  return await query(db)`
    select k.slip44 as ${out('slip44', number)}, max(k.name) as ${out('name', orNull(text))}
      from (select slip44, coalesce(chain_name, chain_symbol) as name from own.balances
            union select slip44, null from own.coins) as k
     group by 1 order by 1 limit ${sql.raw(String(chainsMax))}`;
}
