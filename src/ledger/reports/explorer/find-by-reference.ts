import { sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { LedgerDb } from '../../connection/connect-ledger.ts';
import { orNull, pick, query, type RowNamedBy, text } from '../../connection/query-rows.ts';
import { addresses } from '../../own-tables.ts';

/** An address that was handed out for a reference. Times are PostgreSQL's texts in UTC. */
export type ReferencedAddress = RowNamedBy<typeof columns>;

const shownMax = 100;
const a = alias(addresses, 'a');
const columns = pick({
  slip44: a.slip44,
  address: a.address,
  status: a.status,
  assignedAt: [sql`a.assigned_at::text`, orNull(text)],
});

/**
 * Returns the addresses that were handed out for exactly this reference, by chain; at most 100. The index of references
 * begins with the chain, so the search makes one index lookup per chain with addresses.
 */
export async function findByReference(
  db: LedgerDb,
  reference: string,
): Promise<ReferencedAddress[]> {
  return await query(db)`
    with recursive chains as (
      select min(f.slip44) as slip44 from own.addresses f
      union all
      select (select min(n.slip44) from own.addresses n where n.slip44 > c.slip44) from chains c where c.slip44 is not null
    )
    select ${columns} from chains c
      join lateral (select * from own.addresses x where x.slip44 = c.slip44 and x.assigned_to = ${reference}::text
                     order by x.assigned_no limit ${shownMax}) as a on true
     where c.slip44 is not null order by a.slip44, a.assigned_no limit ${shownMax}`;
}
