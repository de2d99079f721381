import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { ChainFilter } from '../../kernel/chain-filter.ts';
import type { Ledger, LedgerDb } from '../connection/connect-ledger.ts';
import {
  number,
  object,
  oneOf,
  orNull,
  out,
  pick,
  query,
  truth,
} from '../connection/query-rows.ts';
import { requireHome } from '../home-store.ts';
import { addressRequests, pools } from '../own-tables.ts';
import { isExcess, lockPoolOf, notePoolError } from './pool-store.ts';
import { type SharedLiveness, shareLiveness } from './share-liveness.ts';
import { readSiblingLists, type SiblingLists } from './sibling-lists.ts';
import { isUnshown } from './unshown-answer.ts';

/** A chain's pool and its open request, read under the lock of the pool's row. Ages use the database's clock. */
export type PoolRow = {
  available: number;
  threshold: number;
  target: number;
  /** The pool fell below its threshold, or an operator forced filling, and it has not reached its target since. */
  isFilling: boolean;
  /** Upper bound of addresses per request, learned from refusals and lost answers. */
  numMax: number;
  /** Refusals and lost answers in a row. */
  refusals: number;
  losses: number;
  /** Milliseconds until the next request is allowed after a refusal; 0 or less: now. */
  nextTryInMs: number;
  /** Addresses that open requests and those of the last 24 h (plus 10 min) may have generated, listed or not. */
  generated24h: number;
  /** The service has shown a text that is no address of the chain, not acknowledged yet. */
  isStopped: boolean;
  /** The last answer named too many addresses, so none is usable, and no operator has forced filling since. */
  isExcess: boolean;
  /** A clean full scan of the chain's address list backs its counts. */
  isListRead: boolean;
  /** The service's list is empty, but the ledger has addresses of it: a fault, and no reason to generate. */
  isListGone: boolean;
  /** The list has never shown an address. */
  isListEmpty: boolean;
  /** Observed behaviour of the list's chain filter. */
  filter: ChainFilter;
  siblings: SiblingLists;
  open: OpenRequest | null;
};

export type OpenRequest = {
  id: number;
  num: number;
  state: 'sent' | 'unknown';
  ageMs: number;
  /** The sender's liveness connection still exists, and the sender is not the caller itself. */
  isOwnerAlive: boolean;
  /** The answer is postponed: the list's chain filter is not shown to work, or the list does not show its addresses. */
  hasAnswer: boolean;
  /** The answer names an address of another chain, and the list does not show all that it names. */
  isUnshown: boolean;
  /** Milliseconds since the list was first read to its end after the answer was lost or postponed; null: not yet. */
  listReadAgeMs: number | null;
};

/** A lost answer. Only the address list shows its result; later requests of the chain ask for at most `numMax`. */
export type Loss = { error: string; numMax: number };

/** The `refusals`-th clear refusal in a row: the chain waits `delayMs` and then requests at most `numMax`. */
export type Refusal = { error: string; refusals: number; delayMs: number; numMax: number };

/** A change that a plan writes before it releases the lock. */
export type PoolWrite =
  | { kind: 'open'; num: number }
  | ({ kind: 'lose'; id: number } & Loss)
  /** Reason why the pool cannot be filled, for `status`. */
  | { kind: 'error'; error: string };

/** A plan's decision, and the id of the request that it inserted (null: none). */
type Planned<D> = { decision: D; openedId: number | null };

/**
 * Returns the address requests of one pass over the pools. `chainParam` is the name of the service's chain parameter.
 * `guard` may refuse a request before its insertion. The caller must call `end`: the pass may hold a connection.
 */
export function openPoolRequests(ledger: Ledger, chainParam: string, guard?: typeof requireHome) {
  const liveness = shareLiveness(ledger);
  const owners = new Map<number, string>();
  return {
    /**
     * Decides under the pool's lock. A lost transaction is retried and calls `decide` again. Undefined: the chain has
     * no pool.
     */
    plan: <D extends { write: PoolWrite | null }>(
      slip44: number,
      decide: (pool: PoolRow) => D,
    ): Promise<Planned<D> | undefined> =>
      ledger.transaction(async (db) => {
        const self = liveness.held()?.name ?? null;
        const pool = await lockPool(db, slip44, { self, chainParam });
        if (!pool) return undefined;
        const decision = decide(pool);
        if (decision.write?.kind === 'open') await guard?.(db);
        const opened = await writeDown(db, slip44, decision.write, liveness);
        if (opened) owners.set(opened.id, opened.owner);
        return { decision, openedId: opened?.id ?? null };
      }),
    /** Returns the owner of a request that this pass has inserted; null: it has not inserted this one. */
    ownerOf: (id: number): string | null => owners.get(id) ?? null,
    markRequestUnknown: (id: number, loss: Loss) =>
      ledger.transaction((db) => markRequestUnknown(db, id, loss)),
    failRequest: (id: number, refusal: Refusal) =>
      ledger.transaction((db) => failRequest(db, id, refusal)),
    end: liveness.end,
  };
}

/** Applies the plan's change. Returns the inserted request, or null. */
async function writeDown(
  db: LedgerDb,
  slip44: number,
  write: PoolWrite | null,
  liveness: SharedLiveness,
): Promise<{ id: number; owner: string } | null> {
  if (write?.kind === 'open') {
    // Opens the liveness connection before the commit, so that no other process considers the sender dead.
    const { name } = await liveness.hold();
    await requireHome(db);
    return { id: await insertAddressRequest(db, slip44, write.num, name), owner: name };
  }
  if (write?.kind === 'lose') await markRequestUnknown(db, write.id, write);
  if (write?.kind === 'error') await notePoolError(db, slip44, write.error);
  return null;
}

const ms = (interval: SQL) => sql`(extract(epoch from ${interval}) * 1000)::float8`;

/**
 * Locks the chain's pool until the transaction ends, and reads it; undefined if the chain has none. Filling starts
 * below the threshold and stops at the target. If the open request's owner is `self`, its sender is gone: the commit
 * succeeded but the caller never learned of it. A time ahead of the clock, or a wait that no refusal sets, is from
 * before the clock went back, and does not count. An observed chain filter counts only for its parameter name. A
 * working or shared one expires after a day; a broken one does not expire.
 */
async function lockPool(
  db: LedgerDb,
  slip44: number,
  { self, chainParam }: { self: string | null; chainParam: string },
): Promise<PoolRow | undefined> {
  await db.execute(sql`select 1 from own.pools where slip44 = ${slip44} for update`);
  const { threshold, target, numMax, refusals, losses } = alias(pools, 'p');
  const r = alias(addressRequests, 'r');
  const isOwnerAlive = sql`r.owner is distinct from ${self}::text
    and exists (select from pg_stat_activity a where a.application_name = r.owner)`;
  const [request, asRequest] = object({
    id: r.id,
    num: r.num,
    state: [sql`r.state`, oneOf('sent', 'unknown')],
    ageMs: [ms(sql`now() - r.requested_at`), number],
    isOwnerAlive: [isOwnerAlive, truth],
    hasAnswer: [sql`r.answer is not null`, truth],
    isUnshown: [isUnshown, truth],
    listReadAgeMs: [
      ms(sql`now() - case when r.list_read_at <= now() then r.list_read_at end`),
      orNull(number),
    ],
  });
  const [pool] = await query(db)`
with counted as (
  select count(*)::int as available from own.addresses where slip44 = ${slip44} and status = 'available'
),
filling as (
  update own.pools p
     set is_filling = (p.is_filling or c.available < p.threshold) and c.available < p.target
    from counted c
   where p.slip44 = ${slip44}
     and p.is_filling <> ((p.is_filling or c.available < p.threshold) and c.available < p.target)
)
select c.available as ${out('available', number)}, ${pick({ threshold, target, numMax, refusals, losses })},
       (p.is_filling or c.available < p.threshold) and c.available < p.target as ${out('isFilling', truth)},
       coalesce(${ms(sql`case when p.next_try_at <= now() + interval '1 hour' then p.next_try_at end - now()`)}, 0) as ${out('nextTryInMs', number)},
       l.generated_24h as ${out('generated24h', number)},
       p.refused_at is not null as ${out('isStopped', truth)},
       ${isExcess} as ${out('isExcess', truth)},
       coalesce(s.is_backed, false) as ${out('isListRead', truth)},
       -- From the last reading of the list: addresses that were generated since must not make the list look incomplete.
       coalesce(s.service_total = 0 and s.count_at_last_pass > 0, false) as ${out('isListGone', truth)},
       not exists (select from own.addresses a where a.slip44 = p.slip44 and a.listed_as <> '{}') as ${out('isListEmpty', truth)},
       case when p.chain_filter is null or p.chain_param <> ${chainParam} then 'unknown'
            when p.chain_filter <> 'broken' and p.chain_filter_at < now() - interval '1 day' then 'unknown'
            else p.chain_filter end as ${out('filter', oneOf('works', 'shared', 'broken', 'unknown'))},
       engine.current_epoch() > 1 as ${out('hasMoved', truth)},
       (select ${request} from own.address_requests r
         where r.slip44 = p.slip44 and r.state in ('sent', 'unknown')) as ${out('open', orNull(asRequest))}
  from own.pools p
  join own.pool_levels l on l.slip44 = p.slip44
 cross join counted c
  left join own.streams s on s.name = 'addresses:' || p.slip44
 where p.slip44 = ${slip44}`;
  if (!pool) return undefined;
  const { hasMoved, ...facts } = pool;
  const siblings = pool.isFilling && (await readSiblingLists(db, slip44, hasMoved));
  return { ...facts, siblings: siblings || { unread: [], old: [] } };
}

/** Inserts a request before it is sent, and returns its id. The index on open requests rejects a second one. */
async function insertAddressRequest(
  db: LedgerDb,
  slip44: number,
  num: number,
  owner: string,
): Promise<number> {
  const row = { slip44, num, state: 'sent', requestedAt: sql`now()`, owner };
  const [opened] = await db.insert(addressRequests).values(row).returning();
  return opened?.id ?? Number.NaN;
}

/**
 * Marks a request as unknown. Each further loss in a row doubles the time (up to 1 h) for which the address list must
 * settle.
 */
async function markRequestUnknown(
  db: LedgerDb,
  id: number,
  { error, numMax }: Loss,
): Promise<void> {
  await lockPoolOf(db, id);
  await db.execute(sql`
    with lost as (
      update own.address_requests set state = 'unknown', lost_at = now(), error = ${error}
       where id = ${id} and state = 'sent' returning slip44)
    update own.pools p set losses = p.losses + 1, num_max = least(p.num_max, ${numMax})
      from lost l where p.slip44 = l.slip44`);
}

async function failRequest(db: LedgerDb, id: number, refusal: Refusal): Promise<void> {
  await lockPoolOf(db, id);
  await db.execute(sql`
    with failed as (
      update own.address_requests set state = 'failed', finished_at = now(), received = 0, error = ${refusal.error}
       where id = ${id} and state = 'sent' returning slip44)
    update own.pools p
       set refusals = ${refusal.refusals}, next_try_at = now() + ${refusal.delayMs} * interval '1 millisecond',
           num_max = least(p.num_max, ${refusal.numMax}),
           last_error = ${refusal.error}, last_error_at = now()
      from failed f where p.slip44 = f.slip44`);
}
