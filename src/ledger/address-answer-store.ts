import { sql } from 'drizzle-orm';
import type { Judgement } from '../kernel/address-form/judge-addresses.ts';
import { lockPoolOf } from './address-request-store.ts';
import { recountUse } from './address-store.ts';
import type { LedgerDb } from './connect-ledger.ts';
import {
  judgeMisfits,
  judgements,
  judgeShown,
  noteRefused,
  refuseStrange,
  storeJudgements,
} from './refused-addresses.ts';

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
  slip44: number,
  chainParam: string,
): Promise<boolean> {
  const found = await db.execute<{ proven: boolean }>(sql`
    select chain_filter = 'works' and chain_param = ${chainParam} as proven from ledger.pools
     where slip44 = ${slip44}`);
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
  const { slip44, judged } = await judgeAnswer(db, id, addresses);
  const given = sql`${judgements(judged)},
given as (
  select distinct on (r.id, ledger.address_key(i.address)) r.id, r.slip44, r.num, r.requested_at, i.address,
         ledger.address_key(i.address) as key, j.form, j.refused
    from ledger.address_requests r, unnest(${sql.param(judged.map(({ address }) => address))}::text[]) with ordinality as i (address, place)
    join judged j on j.address = i.address
   where r.id = ${id}
   order by r.id, ledger.address_key(i.address), i.place
)`;
  // First all that is not known on the chain, as foreign: what others insert meanwhile is seen by the next statement.
  const inserted = await db.execute<{ key: string }>(sql`
with ${given},
inserted as (
  insert into ledger.addresses (slip44, address, status, first_seen_at, form, refused)
  select g.slip44, g.address, 'foreign', now(), g.form, g.refused from given g order by g.key
  on conflict (slip44, address_key) do nothing
  returning slip44, address_key
),
counted as (
  update ledger.streams s set ledger_count = s.ledger_count + n.inserted
    from (select slip44, count(*) as inserted from inserted group by slip44) n
   where s.name = 'addresses:' || n.slip44
)
select address_key as key from inserted`);
  // The list may have shown some before it was shown to heed the chain.
  await storeJudgements(db, slip44, judged, { misfitsOnly: true });
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
   and a.refused is null
returning a.address_key as key`);
  await noteRefused(db, slip44, judged);
  await refuseStrange(db, slip44, judged);
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

/** The answer of a request, as it came or as it was put off (null), with what its addresses are. */
async function judgeAnswer(
  db: LedgerDb,
  id: number,
  addresses: string[] | null,
): Promise<{ slip44: number; judged: Judgement[] }> {
  const found = await db.execute<{ slip44: number; answer: string[] | null }>(
    sql`select slip44, answer from ledger.address_requests where id = ${id}`,
  );
  const { slip44 = -1, answer = null } = found.rows[0] ?? {};
  const given = [...new Set(addresses ?? answer ?? [])];
  return { slip44, judged: await judgeShown(db, slip44, given) };
}

/**
 * Closes a lost request by what the list has shown since. Only when just as many addresses are new as were asked for,
 * and no other chain's list has any of them, are they ours; otherwise nobody can tell, and they stay foreign. An answer
 * that was put off is stored now. Returns how many joined the pool. Call it inside a transaction.
 */
export async function resolveRequest(db: LedgerDb, id: number): Promise<number> {
  await lockPoolOf(db, id);
  const open = await db.execute<{ slip44: number; hasAnswer: boolean }>(sql`
    select slip44, answer is not null as "hasAnswer" from ledger.address_requests where id = ${id} and state = 'unknown' for update`);
  const [request] = open.rows;
  if (!request) return 0;
  if (request.hasAnswer) return await storeGenerated(db, id, null);
  const shown = await db.execute<{ key: string }>(sql`
    select a.address_key as key from ledger.addresses a join ledger.address_requests r on r.slip44 = a.slip44
     where r.id = ${id} and a.generated_by is null and a.first_seen_at > r.requested_at`);
  await judgeMisfits(
    db,
    request.slip44,
    shown.rows.map(({ key }) => key),
  );
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
   where v.is_ours and a.slip44 = f.slip44 and a.address_key = f.address_key and a.refused is null
  returning a.address_key
),
closed as (
  update ledger.address_requests r
     set state = 'done', finished_at = now(), received = (select count(*) from adopted),
         error = format('the answer was lost (%s); the list shows %s new addresses of %s%s', r.error, v.found, r.num,
                        case when v.is_ours or v.found = 0 then '' else ', which nobody can prove to be ours: they stay foreign' end)
    from verdict v where r.id = ${id}
)
select address_key as key from adopted`);
  const keys = resolved.rows.map(({ key }) => key);
  if (keys.length > 0) await recountUse(db, keys);
  return keys.length;
}
