import { type SQL, sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { listOf, number, out, query, text, truth } from '../connection/query-rows.ts';

/** Condition: another chain of the wallet than `slip44` has one of the addresses. */
const isElsewhere = (slip44: SQL, addresses: SQL) => sql`exists (
  select from unnest(${addresses}) as i (address) join own.addresses o on o.address_key = ledger.address_key(i.address)
   where o.slip44 <> ${slip44})`;

/** Condition: the list of the chain `slip44` has shown the address. */
const isListed = (slip44: SQL, address: SQL) => sql`exists (
  select from own.addresses l
   where l.slip44 = ${slip44} and l.address_key = ledger.address_key(${address}) and l.listed_as <> '{}')`;

/**
 * Condition on the request `r`: its answer names an address that another chain has, and the list does not show all that
 * the answer names. A service that shares addresses between chains lists them; one that answers for another chain does
 * not.
 */
export const isUnshown = sql`(r.answer is not null and ${isElsewhere(sql`r.slip44`, sql`r.answer`)}
  and exists (select from unnest(r.answer) as n (address) where not ${isListed(sql`r.slip44`, sql`n.address`)}))`;

/** Returns true if another chain of the wallet has one of the addresses. */
export async function isAnyElsewhere(
  db: LedgerDb,
  slip44: number,
  addresses: string[],
): Promise<boolean> {
  const given = sql`${sql.param(addresses)}::text[]`;
  const [found] = await query(
    db,
  )`select ${isElsewhere(sql`${slip44}::integer`, given)} as ${out('elsewhere', truth)}`;
  return found?.elsewhere ?? false;
}

/** Returns the addresses of a request's answer that the list shows, and the number of the others; see `isUnshown`. */
export async function readShownAnswer(
  db: LedgerDb,
  id: number,
): Promise<{ unshown: number; shown: string[] }> {
  const [found] = await query(db)`
    select coalesce(array_agg(n.address) filter (where ${isListed(sql`r.slip44`, sql`n.address`)}), '{}') as ${out('shown', listOf(text))},
           count(*) filter (where not ${isListed(sql`r.slip44`, sql`n.address`)}) as ${out('unshown', number)}
      from own.address_requests r, unnest(r.answer) as n (address)
     where r.id = ${id} and ${isUnshown}`;
  return found ?? { unshown: 0, shown: [] };
}
