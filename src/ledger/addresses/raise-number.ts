import { eq } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { numAfterGrant } from '../../kernel/address-number.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, orNull, out, pick, query } from '../connection/query-rows.ts';
import { pools } from '../own-tables.ts';

/**
 * Raises the chain's upper bound of addresses per request after the service granted `num`. `refusedAfterGrant` is the
 * smallest number above that bound which the service failed to grant in the last 24 h (null: none). Only failures
 * directly after a smaller granted request count. A refusal counts at once. A lost answer may have any cause. It counts
 * only from the second one on, and only if nothing as large was granted since the first.
 */
export async function raiseNumber(
  db: LedgerDb,
  { slip44, num }: { slip44: number; num: number },
): Promise<void> {
  const [limits] = await query(db)`
    with asked as materialized (
      select id, num, state = 'failed' as is_refused, lost_at is not null as is_lost,
             state = 'done' and lost_at is null and received = num as is_granted
        from own.address_requests
       where slip44 = ${slip44} and requested_at > now() - interval '24 hours'
    ),
    doubted as (
      select d.* from (select a.*, lag(num) over w as num_before, lag(is_granted) over w as is_granted_before
                         from asked a window w as (order by id)) d
       where (d.is_refused or d.is_lost) and d.is_granted_before and d.num_before < d.num
    )
    select ${pick({ numMax: alias(pools, 'p').numMax })}, (
             select min(d.num) from doubted d
              where d.num > p.num_max
                and (d.is_refused
                     or exists (select from doubted e
                                 where e.id < d.id and e.num <= d.num and e.num > p.num_max
                                   and not exists (select from asked g
                                                    where g.is_granted and g.num >= e.num and g.id > e.id)))
           ) as ${out('refusedAfterGrant', orNull(number))}
      from own.pools p where p.slip44 = ${slip44}`;
  if (!limits) return;
  const numMax = numAfterGrant(num, limits.numMax, limits.refusedAfterGrant);
  if (numMax === limits.numMax) return;
  await db.update(pools).set({ numMax }).where(eq(pools.slip44, slip44));
}
