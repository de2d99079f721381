import { sql } from 'drizzle-orm';
import { lockPoolOf } from './address-request-store.ts';
import { recountUse } from './address-store.ts';
import type { LedgerDb } from './connect-ledger.ts';

/**
 * Puts the addresses of a clear answer off: before the list's chain filter is shown to work none of them is stored.
 * Call it inside a transaction.
 */
export async function holdAnswer(db: LedgerDb, id: number, addresses: string[]): Promise<void> {
  await lockPoolOf(db, id);
  await db.execute(sql`
    update ledger.address_requests set state = 'unknown', answer = ${sql.param(addresses)}::text[]
     where id = ${id} and state in ('sent', 'unknown')`);
}

/** Whether the chain's list was shown to heed the chain by this name of its parameter. */
export async function isFilterProven(
  db: LedgerDb,
  id: number,
  chainParam: string,
): Promise<boolean> {
  const found = await db.execute<{ proven: boolean }>(sql`
    select p.chain_filter = 'works' and p.chain_param = ${chainParam} as proven from ledger.pools p
      join ledger.address_requests r on r.slip44 = p.slip44 where r.id = ${id}`);
  return found.rows[0]?.proven ?? false;
}

/**
 * Stores the addresses of a clear answer, or those of the answer that was put off (null), and closes the request; call
 * it inside a transaction. Ours are those that were known nowhere before the request: on no chain, by no other request.
 * What a reading of the list has brought in since is ours all the same. If more of them came than were asked for,
 * nobody can tell which are ours: all stay foreign. Returns how many joined the pool. An answer that comes after its
 * request was given up still counts.
 */
export async function storeGenerated(
  db: LedgerDb,
  id: number,
  addresses: string[] | null,
): Promise<number> {
  await lockPoolOf(db, id);
  const given = sql`given as (
  select distinct on (r.id, ledger.address_key(i.address)) r.id, r.slip44, r.num, r.requested_at, i.address,
         ledger.address_key(i.address) as key
    from ledger.address_requests r, unnest(coalesce(${addresses === null ? sql`null` : sql.param(addresses)}::text[], r.answer)) with ordinality as i (address, place)
   where r.id = ${id}
   order by r.id, ledger.address_key(i.address), i.place
)`;
  // First all that is not known on the chain, as foreign: what others insert meanwhile is seen by the next statement.
  const inserted = await db.execute<{ key: string }>(sql`
with ${given},
inserted as (
  insert into ledger.addresses (slip44, address, status, first_seen_at)
  select g.slip44, g.address, 'foreign', now() from given g order by g.key
  on conflict (slip44, address_key) do nothing
  returning slip44, address_key
),
counted as (
  update ledger.streams s set ledger_count = s.ledger_count + n.inserted
    from (select slip44, count(*) as inserted from inserted group by slip44) n
   where s.name = 'addresses:' || n.slip44
)
select address_key as key from inserted`);
  const joined = await db.execute<{ key: string }>(sql`
with ${given},
ours as (
  select g.* from given g join ledger.addresses a on a.slip44 = g.slip44 and a.address_key = g.key
   where a.generated_by is null and a.first_seen_at >= g.requested_at
     and not exists (select from ledger.addresses o
                      where o.address_key = g.key and o.slip44 <> g.slip44 and o.first_seen_at <= g.requested_at)
)
update ledger.addresses a
   set generated_by = o.id, status = case when a.status = 'foreign' then 'available' else a.status end
  from ours o
 where a.slip44 = o.slip44 and a.address_key = o.key and (select count(*) from ours) <= o.num
returning a.address_key as key`);
  // Somebody may have paid to one already.
  const keys = [...inserted.rows, ...joined.rows].map(({ key }) => key);
  await recountUse(db, [...new Set(keys)]);
  await db.execute(sql`
    update ledger.pools p
       set refusals = 0, losses = 0, next_try_at = null, last_error = null, last_error_at = null
      from ledger.address_requests r
     where r.id = ${id} and p.slip44 = r.slip44 and (p.refusals > 0 or p.losses > 0 or p.last_error is not null)`);
  const closed = await db.execute<{ received: number }>(sql`
    update ledger.address_requests r
       set state = 'done', finished_at = now(), received = n.received, answer = null,
           error = case when n.received <> r.num
                        then format('%s addresses were asked for, %s new ones came', r.num, n.received) end
      from (select count(*)::int as received from ledger.addresses where generated_by = ${id}) n
     where r.id = ${id}
    returning r.received`);
  return closed.rows[0]?.received ?? 0;
}

/**
 * Closes a lost request by what the list has shown since. Only when just as many addresses are new as were asked for,
 * and no other chain's list has any of them, are they ours; otherwise nobody can tell, and they stay foreign. An answer
 * that was put off is stored now. Returns how many joined the pool. Call it inside a transaction.
 */
export async function resolveRequest(db: LedgerDb, id: number): Promise<number> {
  await lockPoolOf(db, id);
  const open = await db.execute<{ hasAnswer: boolean }>(sql`
    select answer is not null as "hasAnswer" from ledger.address_requests where id = ${id} and state = 'unknown' for update`);
  const [request] = open.rows;
  if (!request) return 0;
  if (request.hasAnswer) return await storeGenerated(db, id, null);
  const resolved = await db.execute<{ key: string }>(sql`
with request as (
  select id, slip44, num, requested_at from ledger.address_requests where id = ${id}
),
found as (
  select a.slip44, a.address_key,
         exists (select from ledger.addresses o where o.address_key = a.address_key and o.slip44 <> a.slip44) as is_elsewhere
    from ledger.addresses a join request r on r.slip44 = a.slip44
   where a.generated_by is null and a.first_seen_at > r.requested_at
),
verdict as (
  select count(*) as found, count(*) = (select num from request) and not bool_or(is_elsewhere) as is_ours from found
),
adopted as (
  update ledger.addresses a
     set generated_by = ${id}, status = case when a.status = 'foreign' then 'available' else a.status end
    from found f, verdict v
   where v.is_ours and a.slip44 = f.slip44 and a.address_key = f.address_key
  returning a.address_key
),
closed as (
  update ledger.address_requests r
     set state = 'done', finished_at = now(), received = case when v.is_ours then v.found else 0 end,
         error = format('the answer was lost (%s); the list shows %s new addresses of %s%s', r.error, v.found, r.num,
                        case when v.is_ours or v.found = 0 then '' else ', which nobody can prove to be ours: they stay foreign' end)
    from verdict v where r.id = ${id}
)
select address_key as key from adopted`);
  const keys = resolved.rows.map(({ key }) => key);
  if (keys.length > 0) await recountUse(db, keys);
  return keys.length;
}
