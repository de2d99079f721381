import { type SQL, sql } from 'drizzle-orm';
import type { LedgerDb } from '../../connection/connect-ledger.ts';
import { number, orNull, out, query } from '../../connection/query-rows.ts';

/** Chain of a transaction as its slip44 code; null if it is not known, because the service does not name it. */
export type ChainOf = { slip44: number | null };

type Row = { stream: string; symbol: string | null; toAddress: string | null };

/** Every asset that the service lists or has listed. */
const assets = sql`(select slip44, symbol from own.balances union select slip44, symbol from own.coins)`;

/**
 * Returns the chain of each row: that of the coin if it has only one; otherwise, for a deposit, that of the address if
 * the ledger has it on one chain only.
 */
export async function chainOf(db: LedgerDb, rows: readonly Row[]): Promise<(number | null)[]> {
  if (rows.length === 0) return [];
  const symbols = rows.map(({ symbol }) => symbol);
  const addresses = rows.map(({ stream, toAddress }) => (stream === 'deposit' ? toAddress : null));
  const found = await query(db)`
    select coalesce(
             (select min(c.slip44) from ${assets} c where c.symbol = r.symbol having min(c.slip44) = max(c.slip44)),
             (select min(a.slip44) from own.addresses a where a.address_key = ledger.address_key(r.address)
              having min(a.slip44) = max(a.slip44))) as ${out('slip44', orNull(number))}
      from unnest(${sql.param(symbols)}::text[], ${sql.param(addresses)}::text[]) with ordinality as r (symbol, address, place)
     order by r.place`;
  return found.map(({ slip44 }) => slip44);
}

/** Condition on the row `t`: its chain, as `chainOf` says, is this one. */
export function isOnChain(slip44: number): SQL {
  return sql`(
    t.symbol = any(array(select c.symbol from ${assets} c group by c.symbol
                         having min(c.slip44) = max(c.slip44) and min(c.slip44) = ${slip44}::integer))
    or t.stream = 'deposit'
       and not coalesce(t.symbol = any(array(select c.symbol from ${assets} c group by c.symbol
                                             having min(c.slip44) = max(c.slip44))), false)
       and (select min(a.slip44) = max(a.slip44) and min(a.slip44) = ${slip44}::integer
              from own.addresses a where a.address_key = ledger.address_key(t.to_address)))`;
}
