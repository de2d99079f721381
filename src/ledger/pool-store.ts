import { sql } from 'drizzle-orm';
import type { Ledger, LedgerDb } from './connect-ledger.ts';
import type { PoolTarget } from './read-status.ts';

/** A chain's row of `pool_levels`. `threshold` and `target` null: no pool is configured for the chain. */
export type PoolLevel = {
  slip44: number;
  available: number;
  assigned: number;
  used: number;
  threshold: number | null;
  target: number | null;
  generated24h: number;
  /** At the pace of the last 7 days, with one decimal; null when no address was handed out. */
  daysLeft: number | null;
  /** Why the pool could last not be filled; null when it could. */
  lastError: string | null;
};

/** Makes the table `pools` name the pools of the setting; what is known of a chain that stays is kept. */
export async function mirrorPools(ledger: Ledger, pools: readonly PoolTarget[]): Promise<void> {
  const column = (name: keyof PoolTarget) => sql`${sql.param(pools.map((pool) => pool[name]))}`;
  const wanted = sql`select slip44, threshold, target
    from unnest(${column('slip44')}::int[], ${column('threshold')}::int[], ${column('target')}::int[])
      as w (slip44, threshold, target)`;
  const stored = sql`select slip44, threshold, target from ledger.pools`;
  const isSame = async (db: LedgerDb) => {
    const same = await db.execute<{ same: boolean }>(sql`
      select not exists ((${wanted}) except ${stored}) and not exists (${stored} except (${wanted})) as same`);
    return same.rows[0]?.same;
  };
  if (await isSame(ledger.db)) return;
  await ledger.transaction(async (db) => {
    // Waits for those that have locked a row, too: one of them may be about to write it.
    await db.execute(sql`lock table ledger.pools in exclusive mode`);
    // Another process that started with this one may have done it meanwhile.
    if (await isSame(db)) return;
    await db.execute(sql`
      delete from ledger.pools where slip44 not in (select slip44 from (${wanted}) as w)`);
    await db.execute(sql`
      insert into ledger.pools (slip44, threshold, target) ${wanted}
      on conflict (slip44) do update set threshold = excluded.threshold, target = excluded.target
       where (pools.threshold, pools.target) <> (excluded.threshold, excluded.target)`);
  });
}

/**
 * What the chain's next number is judged by: the most that may be asked for at once, and the
 * smallest number above it that was refused in the last 24 h right after a smaller one was granted
 * (null: none). Call it in the transaction that stores what was granted.
 */
export async function readNumLimits(
  db: LedgerDb,
  slip44: number,
): Promise<{ numMax: number; refusedAfterGrant: number | null } | undefined> {
  const found = await db.execute<{ numMax: number; refusedAfterGrant: number | null }>(sql`
    select p.num_max as "numMax", (
             select min(r.num) from (
               select num, state, lag(state) over w as state_before, lag(num) over w as num_before
                 from ledger.address_requests
                where slip44 = p.slip44 and requested_at > now() - interval '24 hours'
               window w as (order by id)) r
              where r.state = 'failed' and r.state_before = 'done'
                and r.num_before < r.num and r.num > p.num_max
           ) as "refusedAfterGrant"
      from ledger.pools p where p.slip44 = ${slip44}`);
  return found.rows[0];
}

/** Sets the most addresses that the chain may be asked for at once. */
export async function setNumMax(db: LedgerDb, slip44: number, numMax: number): Promise<void> {
  await db.execute(sql`
    update ledger.pools set num_max = ${numMax} where slip44 = ${slip44} and num_max <> ${numMax}`);
}

/** The levels of every chain that has addresses or a pool, in the order of slip44. */
export async function readPoolLevels(db: LedgerDb): Promise<PoolLevel[]> {
  const found = await db.execute<PoolLevel & Record<string, unknown>>(sql`
    select l.slip44, l.available::float8 as available, l.assigned::float8 as assigned, l.used::float8 as used,
           l.threshold, l.target, l.generated_24h::float8 as "generated24h", l.days_left::float8 as "daysLeft",
           p.last_error as "lastError"
      from ledger.pool_levels l left join ledger.pools p on p.slip44 = l.slip44
     order by l.slip44`);
  return found.rows;
}

/**
 * Hands out one address of the chain: the same one again for the same reference, another one with each call for
 * null; null when the pool is empty.
 */
export async function takeAddress(
  db: LedgerDb,
  slip44: number,
  reference: string | null,
): Promise<string | null> {
  const taken = await db.execute<{ address: string | null }>(
    sql`select ledger.take_address(${slip44}, ${reference}::text) as address`,
  );
  return taken.rows[0]?.address ?? null;
}

/**
 * Makes the chain's foreign addresses available, but `used` those that a deposit went to. Returns how many became
 * available. Call it inside a transaction that is run again when it loses.
 */
export async function adoptForeign(db: LedgerDb, slip44: number): Promise<number> {
  const adopted = await db.execute<{ available: number }>(sql`
with chosen as (
  select a.address, d.order_no
    from ledger.addresses a
    left join lateral (
      select t.order_no from ledger.transactions t
       where t.stream = 'deposit' and lower(t.to_address) = lower(a.address)
       order by t.occurred_at, t.order_no limit 1
    ) d on true
   where a.slip44 = ${slip44} and a.status = 'foreign'
   order by a.address
     for update of a
),
updated as (
  update ledger.addresses a
     set status = case when c.order_no is null then 'available' else 'used' end, first_deposit_order_no = c.order_no
    from chosen c
   where a.slip44 = ${slip44} and a.address = c.address
  returning a.status
)
select (count(*) filter (where status = 'available'))::int as available from updated`);
  return adopted.rows[0]?.available ?? 0;
}
