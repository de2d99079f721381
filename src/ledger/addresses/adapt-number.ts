import { eq, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { numAfterGrant } from '../../kernel/address-number.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, orNull, out, pick, query } from '../connection/query-rows.ts';
import { pools } from '../own-tables.ts';

/**
 * Lowers the chain's upper bound of addresses per request to the number that came, if fewer came than were requested.
 */
export async function lowerNumber(db: LedgerDb, id: number): Promise<void> {
  await db.execute(sql`
    update own.pools p set num_max = least(p.num_max, r.generated)
      from own.address_requests r
     where r.id = ${id} and r.generated between 1 and r.num - 1 and p.slip44 = r.slip44`);
}

/**
 * Raises the bound after the service granted `num`, unless the request `id` brought fewer. `refusedAfterGrant` is the
 * smallest number above the bound which the service failed to grant in the last 24 h (null: none). Only failures
 * directly after a smaller granted request count. A refusal counts at once. An answer with fewer addresses may come
 * from a shortage, and costs no addresses: it counts for a minute, doubled by each further one up to an hour. A lost
 * answer may have any cause. It counts only from the second one on, and only if nothing as large was granted since the
 * first. `missing` is how many addresses answers of that time lacked; the service may have generated them uncounted.
 */
export async function raiseNumber(
  db: LedgerDb,
  { id, slip44, num }: { id: number; slip44: number; num: number },
): Promise<void> {
  const [limits] = await query(db)`
    with asked as materialized (
      select id, num, requested_at, num - generated as missing, state = 'failed' as is_refused,
             state = 'done' and lost_at is null and generated between 1 and num - 1 as is_short,
             lost_at is not null as is_lost,
             state = 'done' and lost_at is null and received = num as is_granted
        from own.address_requests
       where slip44 = ${slip44} and requested_at > now() - interval '24 hours'
    ),
    doubted as (
      select d.* from (select a.*, lag(num) over w as num_before, lag(is_granted) over w as is_granted_before
                         from asked a window w as (order by id)) d
       where (d.is_refused or d.is_short or d.is_lost) and d.is_granted_before and d.num_before < d.num
    )
    select ${pick({ numMax: alias(pools, 'p').numMax })}, (
             select min(d.num) from doubted d
              where d.num > p.num_max
                and (d.is_refused
                     or d.is_short and d.requested_at > now() - interval '1 minute' * least(60, 2 ^ least(6, s.shorts - 1))
                     or d.is_lost
                        and exists (select from doubted e
                                 where e.is_lost and e.id < d.id and e.num <= d.num and e.num > p.num_max
                                   and not exists (select from asked g
                                                    where g.is_granted and g.num >= e.num and g.id > e.id)))
           ) as ${out('refusedAfterGrant', orNull(number))},
           (select coalesce(sum(missing) filter (where is_short), 0)
              from asked) as ${out('missing', number)}
      from own.pools p
     cross join lateral (select count(*) as shorts from doubted d where d.is_short and d.num > p.num_max) as s
     where p.slip44 = ${slip44}
       and not exists (select from own.address_requests r where r.id = ${id} and r.generated between 1 and r.num - 1)`;
  if (!limits) return;
  const numMax = numAfterGrant(num, limits.numMax, limits.refusedAfterGrant, limits.missing);
  if (numMax === limits.numMax) return;
  await db.update(pools).set({ numMax }).where(eq(pools.slip44, slip44));
}
