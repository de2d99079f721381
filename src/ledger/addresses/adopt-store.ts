import { sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { LedgerError } from '../../kernel/errors.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { listOf, number, orNull, out, pick, query, text, truth } from '../connection/query-rows.ts';
import { addresses } from '../own-tables.ts';
import { recountUse } from './address-store.ts';
import { judgeMisfits } from './refused-addresses.ts';

/**
 * A foreign address, and the facts that decide about its adoption. An address with a deposit in any state is never
 * adopted.
 */
export type ForeignAddress = {
  address: string;
  firstSeenAt: string;
  hasDeposit: boolean;
  /** The address is handed out on another chain. Adoption gives it to the same reference on this chain. */
  isHandedOut: boolean;
  /** Other chains for which this ledger generated the address. */
  otherPools: number[];
  /** Reason why the text is no address, null as a rule. A refused address is never adopted. */
  refused: string | null;
  /** A move that is not recorded yet has set the address aside. */
  isSetAside: boolean;
  /** The service's list, which once showed the address, no longer does. It is never adopted. */
  isWithheld: boolean;
  /** Another wallet of this ledger that has the address, on any chain, as its own; it is never adopted here. */
  otherWallet: string | null;
  /** That wallet has given the address to a reference. */
  isGivenThere: boolean;
};

/** Returns true if `adoptForeign` makes the address available or gives it to the reference that holds it elsewhere. */
export function isAdoptable(address: ForeignAddress): boolean {
  const { hasDeposit, refused, otherWallet, isWithheld } = address;
  return !hasDeposit && refused === null && otherWallet === null && !isWithheld;
}

const a = alias(addresses, 'a');

/** The rows of other wallets of this ledger that have the address a in their pools, or gave it to a reference. */
const ofOthers = sql`from ledger.addresses o
    where o.address_key = a.address_key and o.wallet <> engine.wallet()
      and (o.generated_by is not null or o.status <> 'foreign' and o.status <> 'used' or o.assigned_at is not null)`;

/** Moves for which no operator has recorded yet which addresses of this wallet were handed out. */
const unrecordedMoves = sql`
  select m.epoch from engine.moves m
   where m.acknowledged_at is null and engine.wallet() <> all (m.recorded_for)`;

/** Returns the chain's foreign addresses, oldest first; `named` restricts them to these addresses in any spelling. */
export async function listForeign(
  db: LedgerDb,
  slip44: number,
  named: string[] | null,
): Promise<ForeignAddress[]> {
  return await query(db)`
with asked as materialized (
  select a.address, a.address_key, a.first_seen_at, a.refused, a.withheld_at,
         coalesce(a.set_aside_epoch in (${unrecordedMoves}), false) as is_set_aside
    from own.addresses a
   where a.slip44 = ${slip44} and a.status = 'foreign' and ${isNamed(named)}
)
select ${pick({ address: a.address, refused: a.refused })},
       to_char(a.first_seen_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as ${out('firstSeenAt', text)},
       a.address_key not in (select engine.without_deposit(array(select address_key from asked))) as ${out('hasDeposit', truth)},
       exists (select from own.addresses o where o.address_key = a.address_key and o.assigned_at is not null) as ${out('isHandedOut', truth)},
       a.is_set_aside as ${out('isSetAside', truth)},
       a.withheld_at is not null as ${out('isWithheld', truth)},
       (select o.wallet ${ofOthers} order by o.assigned_at is null, o.wallet limit 1) as ${out('otherWallet', orNull(text))},
       exists (select ${ofOthers} and o.assigned_at is not null) as ${out('isGivenThere', truth)},
       array(select o.slip44 from own.addresses o
              where o.address_key = a.address_key and o.slip44 <> ${slip44} and o.generated_by is not null
              order by o.slip44) as ${out('otherPools', listOf(number))}
  from asked a order by a.first_seen_at, a.address`;
}

/** Returns true if the database has moved, and it is not recorded which addresses of this wallet were handed out. */
export async function isAdoptionUnsafe(db: LedgerDb): Promise<boolean> {
  const [found] = await query(db)`
    select engine.home_state() is not null or exists (${unrecordedMoves}) as ${out('unsafe', truth)}`;
  return found?.unsafe ?? true;
}

/** Returns those of the named texts that are not foreign addresses of the chain, in any spelling. */
export async function notForeign(db: LedgerDb, slip44: number, named: string[]): Promise<string[]> {
  const rows = await query(db)`
select n.name as ${out('name', text)} from unnest(${sql.param(named)}::text[]) as n (name)
 where not exists (select from own.addresses a
                    where a.slip44 = ${slip44} and a.status = 'foreign' and a.address_key = ledger.address_key(n.name))`;
  return rows.map(({ name }) => name);
}

/**
 * Makes the chain's foreign addresses without a deposit available, or only the named ones. If one reference holds an
 * address on another chain, that reference gets it on this chain too. An address with several holders stays foreign. So
 * does one that another wallet of this ledger has as its own, because both wallets would hand it out, and one that the
 * service's list no longer shows.
 * Returns the number of addresses that became available. Call it inside a transaction.
 *
 * Throws LedgerError `database-moved` while a move is not recorded: a customer may have the addresses that the move set
 * aside, and those that the list has shown since.
 */
export async function adoptForeign(
  db: LedgerDb,
  slip44: number,
  named: string[] | null,
): Promise<number> {
  if (await isAdoptionUnsafe(db)) {
    const reason = 'the database has moved, and it is not recorded which addresses were handed out';
    throw new LedgerError('database-moved', `${reason}: none is adopted, a customer may have it`);
  }
  const chosen = await query(db)`
    select ${pick({ key: a.addressKey })} from own.addresses a
     where a.slip44 = ${slip44} and a.status = 'foreign' and ${isNamed(named)}`;
  await judgeMisfits(
    db,
    slip44,
    chosen.map(({ key }) => key),
  );
  const adopted = await query(db)`
with chosen as (
  select a.address_key from own.addresses a
   where a.slip44 = ${slip44} and a.status = 'foreign' and a.refused is null and a.withheld_at is null and ${isNamed(named)}
     and not exists (select ${ofOthers})
   order by a.address_key
     for update
),
free as (select engine.without_deposit(array(select address_key from chosen)) as key),
-- An address with more than one holder elsewhere stays foreign.
held as (select f.key, h.* from free f left join lateral engine.holder_of(f.key) h on true)
update own.addresses a
   set status = case when h.holders is null then 'available' else 'assigned' end,
       assigned_to = h.assigned_to, assigned_at = h.assigned_at, unchecked_until = '0', place = engine.current_place()
  from held h
 where a.slip44 = ${slip44} and a.address_key = h.key and a.status = 'foreign' and coalesce(h.holders, 1) = 1
returning ${pick({ key: a.addressKey })}`;
  const keys = adopted.map(({ key }) => key);
  if (keys.length === 0) return 0;
  await recountUse(db, keys);
  return await db.$count(
    addresses,
    sql`slip44 = ${slip44} and status = 'available' and address_key = any(${sql.param(keys)}::text[])`,
  );
}

const isNamed = (
  named: string[] | null,
) => sql`(${named === null ? sql`null` : sql.param(named)}::text[] is null
  or a.address_key in (select ledger.address_key(n) from unnest(${named === null ? sql`null` : sql.param(named)}::text[]) as n))`;
