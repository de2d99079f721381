import type { LedgerDb } from './connection/connect-ledger.ts';
import { listOf, object, orNull, out, query, text } from './connection/query-rows.ts';
import { wallets } from './schema/wallets.ts';
import type { WalletIdentity } from './wallet-identity.ts';

/**
 * Facts that every pass depends on. `away`: null while the database is at home, otherwise the difference in words.
 * `owners`: the wallets that the ledger keeps, by name.
 */
export type Standing = { away: string | null; owners: ReadonlyMap<string, WalletIdentity> };

const { wallet, baseUrl, keyFingerprint } = wallets;
const [asJson, fromJson] = object({ wallet, baseUrl, keyFingerprint });

/** Reads where the database is and whose it is, in one statement for all wallets of a process. */
export async function readStanding(db: LedgerDb): Promise<Standing> {
  const [row] = await query(db)`
    select engine.home_state() as ${out('away', orNull(text))},
           (select coalesce(json_agg(${asJson}), '[]') from ${wallets}) as ${out('kept', listOf(fromJson))}`;
  const kept = row?.kept ?? [];
  return {
    away: row?.away ?? null,
    owners: new Map(kept.map(({ wallet: name, ...identity }) => [name, identity])),
  };
}
