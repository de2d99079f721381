import { eq, gt, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { recountUse } from '../addresses/address-store.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { listOf, number, out, pick, query, text, truth } from '../connection/query-rows.ts';
import { scanNotes, streams, transactions } from '../own-tables.ts';

/** Stores keys that a scan has met. */
export async function noteKeys(db: LedgerDb, stream: string, keys: string[]): Promise<void> {
  if (keys.length === 0) return;
  await db.execute(sql`
    insert into own.scan_notes (stream, key)
    select ${stream}, key from unnest(${sql.param(keys)}::text[]) as i (key) order by key
    on conflict do nothing`);
}

/**
 * Deletes the keys of an earlier scan. Returns false if the owner no longer holds the stream's lease: the keys may be
 * those of a scan that another pass has begun since.
 */
export async function forgetKeys(db: LedgerDb, stream: string, owner: string): Promise<boolean> {
  const [row] = await query(db)`
    with held as materialized (
      select name from own.streams where name = ${stream} and lease_owner = ${owner} for no key update),
    deleted as (
      delete from own.scan_notes n using held h where n.stream = h.name)
    select exists (select from held) as ${out('held', truth)}`;
  return row?.held ?? false;
}

export async function countNotedKeys(db: LedgerDb, stream: string): Promise<number> {
  return await db.$count(scanNotes, eq(scanNotes.stream, stream));
}

const isNoted = (stream: string, key: SQL) =>
  sql`exists (select from own.scan_notes n where n.stream = ${stream} and n.key = ${key})`;

/** Returns order numbers that the ledger lists in the stream and the scan has not met. */
export async function unseenTransactions(
  db: LedgerDb,
  stream: string,
  limit: number,
): Promise<string[]> {
  const found = await query(db)`
    select ${pick({ key: alias(transactions, 't').orderNo })} from own.transactions t
     where t.stream = ${stream} and t.is_listed and not ${isNoted(stream, sql`t.order_no`)}
     order by t.order_no limit ${limit}`;
  return found.map(({ key }) => key);
}

/**
 * Drops the spellings of addresses that the scan has not met if it has met the address in another spelling: the list's
 * spelling has changed. Each dropped spelling was an item of the list's count. Returns their number.
 */
export async function dropOldSpellings(db: LedgerDb, slip44: number): Promise<number> {
  const stream = `addresses:${slip44}`;
  const [dropped] = await query(db)`
with respelled as (
  update own.addresses a
     set listed_as = array(select s from unnest(a.listed_as) as s where ${isNoted(stream, sql`s`)})
   where a.slip44 = ${slip44} and cardinality(a.listed_as) > 1
     and exists (select from unnest(a.listed_as) as s where ${isNoted(stream, sql`s`)})
     and exists (select from unnest(a.listed_as) as s where not ${isNoted(stream, sql`s`)})
  returning a.address_key, cardinality(a.listed_as) as kept
),
dropped as (
  select coalesce(sum(cardinality(a.listed_as) - r.kept), 0) as items
    from respelled r join own.addresses a on a.slip44 = ${slip44} and a.address_key = r.address_key
),
counted as (
  update own.streams s set ledger_count = s.ledger_count - d.items
    from dropped d where s.name = ${stream} and d.items > 0
)
select items as ${out('items', number)} from dropped`;
  return dropped?.items ?? 0;
}

/** Returns addresses of the chain that the scan has not met, in each spelling that counts as an item of the list. */
export async function unseenAddresses(
  db: LedgerDb,
  slip44: number,
  limit: number,
): Promise<string[]> {
  const found = await query(db)`
    select i.key as ${out('key', text)} from own.addresses a
     cross join unnest(case when a.listed_as = '{}' then array[a.address] else a.listed_as end) as i (key)
     where a.slip44 = ${slip44} and not ${isNoted(`addresses:${slip44}`, sql`i.key`)}
     order by i.key limit ${limit}`;
  return found.map(({ key }) => key);
}

/**
 * Withholds available addresses of the chain that the list once showed and a whole scan has not met: a deposit to them
 * may be lost. Gives back those that it has met again, except what a move has set aside since. Returns both numbers.
 */
export async function withholdUnlisted(
  db: LedgerDb,
  slip44: number,
): Promise<{ withheld: number; givenBack: number }> {
  const isMet = sql`exists (select from unnest(a.listed_as) as s where ${isNoted(`addresses:${slip44}`, sql`s`)})`;
  const [changed] = await query(db)`
with judged as (
  select a.address_key, a.withheld_at is null as is_lost,
         a.status = 'foreign' and a.generated_by is not null and a.refused is null
           and a.form is distinct from 'misfit' and a.set_aside_epoch is null as is_ours
    from own.addresses a
   where a.slip44 = ${slip44}
     and case when a.withheld_at is null then a.status = 'available' and a.listed_as <> '{}' and not ${isMet}
              else ${isMet} end
   order by a.address_key
     for update
),
changed as (
  update own.addresses a
     set withheld_at = case when j.is_lost then now() end,
         status = case when j.is_lost then 'foreign' when j.is_ours then 'available' else a.status end,
         place = case when j.is_lost then a.place else engine.current_place() end, unchecked_until = '0'
    from judged j
   where a.slip44 = ${slip44} and a.address_key = j.address_key
  returning a.address_key, a.withheld_at is not null as is_withheld, a.status = 'available' as is_available
)
select count(*) filter (where is_withheld) as ${out('withheld', number)},
       count(*) filter (where is_available) as ${out('givenBack', number)},
       coalesce(array_agg(address_key) filter (where is_available), '{}') as ${out('keys', listOf(text))}
  from changed`;
  const { withheld, givenBack, keys } = changed ?? { withheld: 0, givenBack: 0, keys: [] };
  if (keys.length > 0) await recountUse(db, keys);
  return { withheld, givenBack };
}

/** Ends the conflict of rows that the ledger counts in another list and the scan has not met in this one. */
export async function dropUnseenGuests(db: LedgerDb, stream: string): Promise<void> {
  await db.execute(sql`
    update own.transactions t set also_listed_in = null, other_list_type = null
     where t.also_listed_in = ${stream} and not ${isNoted(stream, sql`t.order_no`)}`);
}

/** Returns true if two lists show the same row. */
export async function hasConflict(db: LedgerDb): Promise<boolean> {
  return (await db.$count(streams, gt(streams.conflicts, 0))) > 0;
}
