import { inArray, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { ChainFilter } from '../../kernel/chain-filter.ts';
import type { Ledger, LedgerDb } from '../connection/connect-ledger.ts';
import { number, oneOf, orNull, out, pick, query, text, truth } from '../connection/query-rows.ts';
import { addressRequests, ownWallet, pools as poolTable } from '../own-tables.ts';
import type { PoolTarget } from '../reports/ledger-status.ts';

/** A chain's row of `pool_levels`. `threshold` and `target` are null if no pool is configured for the chain. */
export type PoolLevel = {
  slip44: number;
  available: number;
  assigned: number;
  used: number;
  foreign: number;
  threshold: number | null;
  target: number | null;
  generated24h: number;
  /**
   * Days until the pool is empty at the pace of the last 7 days, with one decimal; null if no address was handed out.
   */
  daysLeft: number | null;
  /** Reason why the last filling failed; null if it succeeded. */
  lastError: string | null;
};

type PoolNumbers = Pick<PoolTarget, 'threshold' | 'target'>;

/** A chain's pool before and after a change; null: no pool. */
export type PoolChange = { slip44: number; before: PoolNumbers | null; after: PoolNumbers | null };

/**
 * Makes the table `pools` hold exactly the configured pools, and keeps the other columns of a chain that stays. A
 * removed chain keeps its row, with target 0, while it has an open request or is held back: its filter is broken, or
 * the service sent a text that is no valid address. Returns the changed pools.
 */
export async function mirrorPools(
  ledger: Ledger,
  pools: readonly PoolTarget[],
): Promise<PoolChange[]> {
  const column = (name: keyof PoolTarget) => sql`${sql.param(pools.map((pool) => pool[name]))}`;
  const wanted = sql`select slip44, threshold, target
    from unnest(${column('slip44')}::int[], ${column('threshold')}::int[], ${column('target')}::int[])
      as w (slip44, threshold, target)`;
  const isUnwanted = sql`p.slip44 not in (select slip44 from (${wanted}) as w)`;
  const isKept = sql`(p.chain_filter is not distinct from 'broken' or p.refused_at is not null
    or exists (select from own.address_requests r where r.slip44 = p.slip44 and r.state in ('sent', 'unknown')))`;
  const stored = sql`select slip44, threshold, target from own.pools p
    where not (target = 0 and ${isUnwanted} and ${isKept})`;
  const isSame = async (db: LedgerDb) => {
    const [row] = await query(db)`
      select not exists ((${wanted}) except ${stored}) and not exists (${stored} except (${wanted})) as ${out('same', truth)}`;
    return row?.same;
  };
  if (await isSame(ledger.db)) return [];
  return await ledger.transaction(async (db) => {
    // Also waits for transactions that hold row locks, because one of them may be about to write its row.
    await db.execute(sql`lock table ledger.pools in exclusive mode`);
    // Checks again: another process that started at the same time may have made the change meanwhile.
    if (await isSame(db)) return [];
    const before = await readPools(db);
    // Keeps the rows of removed chains that hold addresses back, and those with a request that is still to be closed.
    await db.execute(sql`
      update own.pools p set threshold = 0, target = 0, is_filling = false where ${isUnwanted} and ${isKept}`);
    await db.execute(sql`delete from own.pools p where ${isUnwanted} and not ${isKept}`);
    await db.execute(sql`
      insert into own.pools (slip44, threshold, target) ${wanted}
      on conflict (wallet, slip44) do update set threshold = excluded.threshold, target = excluded.target
       where (pools.threshold, pools.target) <> (excluded.threshold, excluded.target)`);
    return comparePools(before, await readPools(db));
  });
}

/**
 * Adds the pools whose chains the table lacks. Returns them, and the given pools whose chains the table has with other
 * numbers; these stay as they are.
 */
export async function addPools(
  ledger: Ledger,
  pools: readonly PoolTarget[],
): Promise<{ added: PoolChange[]; differing: PoolChange[] }> {
  const stored = await readPools(ledger.db);
  const kept = new Set(stored.map(({ slip44 }) => slip44));
  const missing = pools.filter(({ slip44 }) => !kept.has(slip44));
  for (const { slip44, threshold, target } of missing) {
    const row = { slip44, threshold, target };
    await ledger.db.insert(poolTable).values(row).onConflictDoNothing();
  }
  const named = new Set(pools.map(({ slip44 }) => slip44));
  const known = stored.filter(({ slip44 }) => named.has(slip44));
  const given = pools.filter(({ slip44 }) => kept.has(slip44));
  return { added: comparePools([], missing), differing: comparePools(known, given) };
}

async function readPools(db: LedgerDb): Promise<PoolTarget[]> {
  const { slip44, threshold, target } = poolTable;
  return await db.select({ slip44, threshold, target }).from(poolTable).orderBy(slip44);
}

/** Returns the chains whose pools differ. */
function comparePools(before: readonly PoolTarget[], after: readonly PoolTarget[]): PoolChange[] {
  const chains = new Set([...before, ...after].map(({ slip44 }) => slip44));
  const numbersIn = (pools: readonly PoolTarget[], slip44: number): PoolNumbers | null => {
    const pool = pools.find((each) => each.slip44 === slip44);
    return pool ? { threshold: pool.threshold, target: pool.target } : null;
  };
  return [...chains]
    .map((slip44) => ({
      slip44,
      before: numbersIn(before, slip44),
      after: numbersIn(after, slip44),
    }))
    .filter(
      (change) =>
        change.before?.threshold !== change.after?.threshold ||
        change.before?.target !== change.after?.target,
    );
}

/**
 * Condition on a row `p` of own.pools: the last answer named too many addresses, none of them usable, and no operator
 * has forced filling since, which clears `next_try_at`.
 */
export const isExcess = sql`p.next_try_at is not null and exists (
         select from (select l.* from own.address_requests l where l.slip44 = p.slip44 order by l.id desc limit 1) l
          where l.state = 'done' and l.lost_at is null and l.received = 0 and l.generated > l.num)`;

/** Starts filling on an operator's request: up to the target, even above the threshold, and without further backoff. */
export async function forceFilling(db: LedgerDb, slip44: number): Promise<void> {
  await db.execute(sql`
    update own.pools set is_filling = true, next_try_at = null
     where slip44 = ${slip44} and (not is_filling or next_try_at is not null)`);
}

/** Stores the reason why a chain's pool cannot be filled, for `status`. */
export async function notePoolError(db: LedgerDb, slip44: number, error: string): Promise<void> {
  await db.execute(sql`
    update own.pools set last_error = ${error}, last_error_at = now()
     where slip44 = ${slip44} and last_error is distinct from ${error}`);
}

/** Stores the observed behaviour of the list's chain filter, with the parameter name that was used. */
export async function noteChainFilter(
  db: LedgerDb,
  slip44: number,
  seen: { filter: Exclude<ChainFilter, 'unknown'>; chainParam: string },
): Promise<void> {
  await db.execute(sql`
    update own.pools
       set chain_filter = ${seen.filter}, chain_param = ${seen.chainParam}, chain_filter_at = now()
     where slip44 = ${slip44}`);
}

/** Returns the last evidence about the list's chain filter with this parameter name, however old it is. */
export async function readChainFilter(
  db: LedgerDb,
  slip44: number,
  chainParam: string,
): Promise<ChainFilter> {
  const [pool] = await query(db)`
    select chain_filter as ${out('filter', oneOf('works', 'shared', 'broken'))} from own.pools
     where slip44 = ${slip44} and chain_param = ${chainParam} and chain_filter is not null`;
  return pool?.filter ?? 'unknown';
}

/** Returns whether the ledger has one of the addresses as listed for the chain, in any spelling. */
export async function isAnyListed(
  db: LedgerDb,
  slip44: number,
  addresses: string[],
): Promise<boolean> {
  const [found] = await query(db)`
    select exists (select from unnest(${sql.param(addresses)}::text[]) as i (address)
                     join own.addresses a on a.slip44 = ${slip44} and a.address_key = ledger.address_key(i.address)
                    where a.listed_as <> '{}') as ${out('any', truth)}`;
  return found?.any ?? false;
}

/** Notes the first complete read of the list after the answer was lost or postponed. */
export async function noteListRead(db: LedgerDb, id: number): Promise<void> {
  await db.execute(sql`
    update own.address_requests set list_read_at = now()
     where id = ${id} and state = 'unknown' and (list_read_at is null or list_read_at > now())`);
}

/** Returns the chains with an open request. */
export async function chainsInDoubt(db: LedgerDb): Promise<number[]> {
  const { slip44, state } = addressRequests;
  const isOpen = inArray(state, ['sent', 'unknown']);
  const open = await db.select({ slip44 }).from(addressRequests).where(isOpen).orderBy(slip44);
  return open.map((request) => request.slip44);
}

/** Returns the levels of every chain that has addresses or a pool, ordered by slip44. */
export async function readPoolLevels(db: LedgerDb): Promise<PoolLevel[]> {
  const { lastError } = alias(poolTable, 'p');
  return await query(db)`
    select l.slip44 as ${out('slip44', number)}, l.available as ${out('available', number)},
           l.assigned as ${out('assigned', number)}, l.used as ${out('used', number)},
           l.foreign_addresses as ${out('foreign', number)}, l.threshold as ${out('threshold', orNull(number))},
           l.target as ${out('target', orNull(number))}, l.generated_24h as ${out('generated24h', number)},
           l.days_left as ${out('daysLeft', orNull(number))}, ${pick({ lastError })}
      from own.pool_levels l left join own.pools p on p.slip44 = l.slip44
     order by l.slip44`;
}

/**
 * Hands out one address of the wallet and chain. A reference gets its own address again, unless that was refused since;
 * null gets a new one with each call. Returns null if the pool is empty, its chain filter is broken, or other
 * transactions hold the available addresses. Fails with SQLSTATE WL001 while the database is not at home.
 */
export async function takeAddress(
  db: LedgerDb,
  slip44: number,
  reference: string | null,
): Promise<string | null> {
  const [taken] = await query(db)`
    select ledger.take_address(${ownWallet}, ${slip44}::integer, ${reference}::text) as ${out('address', orNull(text))}`;
  return taken?.address ?? null;
}

/** Hands out another address of the chain for the reference with each call. Returns null and fails as `takeAddress`. */
export async function takeFurtherAddress(
  db: LedgerDb,
  slip44: number,
  reference: string,
): Promise<string | null> {
  const [taken] = await query(db)`
    select ledger.take_further_address(${ownWallet}, ${slip44}::integer, ${reference}::text) as ${out('address', orNull(text))}`;
  return taken?.address ?? null;
}

/**
 * Locks the pool of a request. A plan locks the pool before its requests, so every function that closes a request keeps
 * that order.
 */
export async function lockPoolOf(db: LedgerDb, id: number): Promise<void> {
  await db.execute(sql`
    select from own.pools
     where slip44 = (select slip44 from own.address_requests where id = ${id}) for update`);
}
