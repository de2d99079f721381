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
  /** Lost answers in a row. */
  losses: number;
  nextTryInMs: number;
  generated24h: number;
  isStopped: boolean;
  isListRead: boolean;
  isListGone: boolean;
  isListEmpty: boolean;
  filter: 'works' | 'broken' | 'unknown';
  open: {
    id: number;
    num: number;
    state: 'sent' | 'unknown';
    ageMs: number;
    isOwnerAlive: boolean;
    hasAnswer: boolean;
    listReadAgeMs: number | null;
  } | null;
};

const ms = (interval: ReturnType<typeof sql>) =>
  sql`(extract(epoch from ${interval}) * 1000)::float8`;

/**
 * Locks the chain's pool until the transaction ends and reads it; undefined when the chain has none. Below the
 * threshold it begins to fill, at the target it stops. If the open request's owner is `self`, its sender is gone: the
 * commit succeeded but the caller never learned of it. What was seen of the list's filter holds for a day, for the name
 * of the parameter with which it was seen.
 */
export async function lockPool(
  db: LedgerDb,
  slip44: number,
  { self, chainParam }: { self: string | null; chainParam: string },
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
select c.available, p.threshold, p.target, p.num_max as "numMax", p.refusals, p.losses,
       (p.is_filling or c.available < p.threshold) and c.available < p.target as "isFilling",
       coalesce(${ms(sql`p.next_try_at - now()`)}, 0) as "nextTryInMs",
       l.generated_24h::float8 as "generated24h",
       p.refused_at is not null as "isStopped",
       coalesce(s.is_backed, false) as "isListRead",
       -- As the last reading of the list found it: what has been generated since does not count against it.
       coalesce(s.service_total = 0 and s.count_at_last_pass > 0, false) as "isListGone",
       not exists (select from ledger.addresses a where a.slip44 = p.slip44 and a.listed_as <> '{}') as "isListEmpty",
       case when p.chain_filter is null or p.chain_param <> ${chainParam} then 'unknown'
            when p.chain_filter = 'works' and p.chain_filter_at < now() - interval '1 day' then 'unknown'
            else p.chain_filter end as filter,
       (select json_build_object('id', r.id, 'num', r.num, 'state', r.state, 'ageMs', ${ms(sql`now() - r.requested_at`)},
                 'isOwnerAlive', r.owner is distinct from ${self}::text
                   and exists (select from pg_stat_activity a where a.application_name = r.owner),
                 'hasAnswer', r.answer is not null,
                 'listReadAgeMs', ${ms(sql`now() - r.list_read_at`)})
          from ledger.address_requests r where r.slip44 = p.slip44 and r.state in ('sent', 'unknown')) as open
  from ledger.pools p
  join ledger.pool_levels l on l.slip44 = p.slip44
 cross join counted c
  left join ledger.streams s on s.name = 'addresses:' || p.slip44
 where p.slip44 = ${slip44}`);
  return found.rows[0];
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

/** Keeps what was seen of the list's chain filter, and the parameter's name that it was seen with. */
export async function noteChainFilter(
  db: LedgerDb,
  slip44: number,
  seen: { filter: 'works' | 'broken'; chainParam: string },
): Promise<void> {
  await db.execute(sql`
    update ledger.pools
       set chain_filter = ${seen.filter}, chain_param = ${seen.chainParam}, chain_filter_at = now()
     where slip44 = ${slip44}`);
}

/** Whether one of the addresses is stored as listed for the chain, in any spelling. */
export async function isAnyListed(
  db: LedgerDb,
  slip44: number,
  addresses: string[],
): Promise<boolean> {
  const found = await db.execute<{ any: boolean }>(sql`
    select exists (select from unnest(${sql.param(addresses)}::text[]) as i (address)
                     join ledger.addresses a on a.slip44 = ${slip44} and a.address_key = ledger.address_key(i.address)
                    where a.listed_as <> '{}') as any`);
  return found.rows[0]?.any ?? false;
}
