import { sql } from 'drizzle-orm';
import type { LedgerDb } from './connect-ledger.ts';

/** A chain's pool as the ledger knows it; ages in milliseconds by the database's clock. */
export type PoolRow = {
  available: number;
  threshold: number;
  target: number;
  isFilling: boolean;
  numMax: number;
  refusals: number;
  nextTryInMs: number;
  generated24h: number;
  isListRead: boolean;
  isListGone: boolean;
  open: {
    id: number;
    state: 'sent' | 'unknown';
    ageMs: number;
    isOwnerAlive: boolean;
    listReadAgeMs: number | null;
  } | null;
};

const ms = (interval: ReturnType<typeof sql>) =>
  sql`(extract(epoch from ${interval}) * 1000)::float8`;

/**
 * Locks the chain's pool until the transaction ends and reads it; undefined when the chain has none. Below the
 * threshold it begins to fill, at the target it stops. A request that `self` is said to be sending while it asks has
 * nobody who sends it: its commit was made and not learnt of.
 */
export async function lockPool(
  db: LedgerDb,
  slip44: number,
  self: string | null,
): Promise<PoolRow | undefined> {
  await db.execute(sql`select 1 from ledger.pools where slip44 = ${slip44} for update`);
  const found = await db.execute<PoolRow & Record<string, unknown>>(sql`
with counted as (
  select count(*)::int as available from ledger.addresses where slip44 = ${slip44} and status = 'available'
),
filling as (
  update ledger.pools p
     set is_filling = (p.is_filling or c.available < p.threshold) and c.available < p.target
    from counted c
   where p.slip44 = ${slip44}
     and p.is_filling <> ((p.is_filling or c.available < p.threshold) and c.available < p.target)
)
select c.available, p.threshold, p.target, p.num_max as "numMax", p.refusals,
       (p.is_filling or c.available < p.threshold) and c.available < p.target as "isFilling",
       coalesce(${ms(sql`p.next_try_at - now()`)}, 0) as "nextTryInMs",
       -- An answer without a new address may have generated them all the same; a list that shows none has not.
       (select coalesce(sum(case when r.received = 0 and r.list_read_at is null then r.num
                                 else coalesce(r.received, r.num) end), 0)::int from ledger.address_requests r
         where r.slip44 = p.slip44 and r.state <> 'failed' and r.requested_at > now() - interval '24 hours') as "generated24h",
       coalesce(s.is_backed, false) as "isListRead",
       -- As the last reading of the list found it: what has been generated since does not count against it.
       coalesce(s.service_total = 0 and s.count_at_last_pass > 0, false) as "isListGone",
       (select json_build_object('id', r.id, 'state', r.state, 'ageMs', ${ms(sql`now() - r.requested_at`)},
                 'isOwnerAlive', r.owner is distinct from ${self}::text
                   and exists (select from pg_stat_activity a where a.application_name = r.owner),
                 'listReadAgeMs', ${ms(sql`now() - r.list_read_at`)})
          from ledger.address_requests r where r.slip44 = p.slip44 and r.state in ('sent', 'unknown')) as open
  from ledger.pools p
 cross join counted c
  left join ledger.streams s on s.name = 'addresses:' || p.slip44
 where p.slip44 = ${slip44}`);
  return found.rows[0];
}

/** Writes a request down before it is sent; the index on open requests lets no second one in. Returns its id. */
export async function openRequest(
  db: LedgerDb,
  slip44: number,
  num: number,
  owner: string,
): Promise<number> {
  const opened = await db.execute<{ id: string }>(sql`
    insert into ledger.address_requests (slip44, num, state, requested_at, owner)
    values (${slip44}, ${num}, 'sent', now(), ${owner}) returning id`);
  return Number(opened.rows[0]?.id);
}

/** The answer is lost: from now on the address list must tell. */
export async function loseRequest(db: LedgerDb, id: number, error: string): Promise<void> {
  await db.execute(sql`
    update ledger.address_requests set state = 'unknown', error = ${error} where id = ${id} and state = 'sent'`);
}

/** Who plans locks the pool before its requests; who closes one does it in the same order, and cannot deadlock. */
async function lockPoolOf(db: LedgerDb, id: number): Promise<void> {
  await db.execute(sql`
    select from ledger.pools
     where slip44 = (select slip44 from ledger.address_requests where id = ${id}) for update`);
}

/**
 * The service refused for certain; the chain waits `delayMs`, and then asks for `numMax` at the most
 * and for no more than before. Call it inside a transaction.
 */
export async function failRequest(
  db: LedgerDb,
  id: number,
  refusal: { error: string; delayMs: number; numMax: number },
): Promise<void> {
  await lockPoolOf(db, id);
  await db.execute(sql`
    with failed as (
      update ledger.address_requests set state = 'failed', finished_at = now(), received = 0, error = ${refusal.error}
       where id = ${id} and state = 'sent' returning slip44)
    update ledger.pools p
       set refusals = p.refusals + 1, next_try_at = now() + ${refusal.delayMs} * interval '1 millisecond',
           num_max = least(p.num_max, ${refusal.numMax}),
           last_error = ${refusal.error}, last_error_at = now()
      from failed f where p.slip44 = f.slip44`);
}

/**
 * Stores the addresses of a clear answer and closes the request; call it inside a transaction. Addresses that a
 * read of the list has brought in meanwhile are ours all the same; one that an earlier request generated is not
 * taken twice. Returns how many joined the pool. An answer that comes after its request was given up still counts.
 */
export async function storeGenerated(
  db: LedgerDb,
  id: number,
  addresses: string[],
): Promise<number> {
  const listed = sql`unnest(${sql.param(addresses)}::text[]) as i (address)`;
  await lockPoolOf(db, id);
  await db.execute(sql`
    with inserted as (
      insert into ledger.addresses (slip44, address, status, first_deposit_order_no, generated_by, first_seen_at)
      select r.slip44, i.address, case when d.order_no is null then 'available' else 'used' end, d.order_no, r.id, now()
        from ledger.address_requests r
       cross join (select distinct address from ${listed}) i
        left join lateral (
          select t.order_no from ledger.transactions t
           where t.stream = 'deposit' and lower(t.to_address) = lower(i.address)
           order by t.occurred_at, t.order_no limit 1) d on true
       where r.id = ${id}
       order by i.address
      on conflict do nothing
      returning slip44
    )
    update ledger.streams s set ledger_count = s.ledger_count + n.inserted
      from (select slip44, count(*) as inserted from inserted group by slip44) n
     where s.name = 'addresses:' || n.slip44`);
  // A statement of its own: it sees what others have inserted while the one above ran.
  await db.execute(sql`
    update ledger.addresses a
       set generated_by = r.id, status = case when a.status = 'foreign' then 'available' else a.status end
      from ledger.address_requests r, ${listed}
     where r.id = ${id} and a.slip44 = r.slip44 and a.address = i.address and a.generated_by is null`);
  await db.execute(sql`
    update ledger.pools p
       set refusals = 0, next_try_at = null, last_error = null, last_error_at = null
      from ledger.address_requests r
     where r.id = ${id} and p.slip44 = r.slip44 and (p.refusals > 0 or p.last_error is not null)`);
  const closed = await db.execute<{ received: number }>(sql`
    update ledger.address_requests r
       set state = 'done', finished_at = now(), received = n.received,
           error = case when n.received <> r.num
                        then format('%s addresses were asked for, %s new ones came', r.num, n.received) end
      from (select count(*)::int as received from ledger.addresses where generated_by = ${id}) n
     where r.id = ${id}
    returning r.received`);
  return closed.rows[0]?.received ?? 0;
}

/** Notes that the list was read to its end after the answer was lost. */
export async function noteListRead(db: LedgerDb, id: number): Promise<void> {
  await db.execute(sql`
    update ledger.address_requests set list_read_at = now() where id = ${id} and state = 'unknown' and list_read_at is null`);
}

/**
 * Closes a lost request by what the list has shown since: addresses that are new since the request, and no more
 * than asked for, are ours; if there are more, nobody can tell whose they are, and they stay foreign. Returns how
 * many joined the pool.
 */
export async function resolveRequest(db: LedgerDb, id: number): Promise<number> {
  const resolved = await db.execute<{ received: number }>(sql`
with request as (
  select id, slip44, num, requested_at from ledger.address_requests where id = ${id} and state = 'unknown' for update
),
found as (
  select a.slip44, a.address from ledger.addresses a join request r on r.slip44 = a.slip44
   where a.generated_by is null and a.first_seen_at > r.requested_at
),
verdict as (select count(*) as found, count(*) <= (select num from request) as is_ours from found),
adopted as (
  update ledger.addresses a
     set generated_by = ${id}, status = case when a.status = 'foreign' then 'available' else a.status end
    from found f, verdict v
   where v.is_ours and a.slip44 = f.slip44 and a.address = f.address
  returning a.address
),
closed as (
  update ledger.address_requests r
     set state = 'done', finished_at = now(), received = case when v.is_ours then v.found end,
         error = format('the answer was lost (%s); the list shows %s new addresses%s', r.error, v.found,
                        case when v.is_ours then '' else ', more than asked for: they stay foreign' end)
    from verdict v where r.id = ${id} and r.state = 'unknown'
)
select count(*)::int as received from adopted`);
  return resolved.rows[0]?.received ?? 0;
}

/** An operator wants the pool filled now: up to its target, above the threshold too, and without further waiting. */
export async function beginFilling(db: LedgerDb, slip44: number): Promise<void> {
  await db.execute(sql`
    update ledger.pools set is_filling = true, next_try_at = null
     where slip44 = ${slip44} and (not is_filling or next_try_at is not null)`);
}

/** Lets the chain wait for `delayMs`, as after a refusal. */
export async function postponePool(
  db: LedgerDb,
  slip44: number,
  { error, refusals, delayMs }: { error: string; refusals: number; delayMs: number },
): Promise<void> {
  await db.execute(sql`
    update ledger.pools
       set refusals = ${refusals}, next_try_at = now() + ${delayMs} * interval '1 millisecond',
           last_error = ${error}, last_error_at = now()
     where slip44 = ${slip44}`);
}

/** Keeps why a chain's pool cannot be filled, for `status`. */
export async function notePoolError(db: LedgerDb, slip44: number, error: string): Promise<void> {
  await db.execute(sql`
    update ledger.pools set last_error = ${error}, last_error_at = now()
     where slip44 = ${slip44} and last_error is distinct from ${error}`);
}
