import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { TransactionDetailRecord, TransactionRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { listOf, number, orNull, out, pick, query, text, truth } from '../connection/query-rows.ts';
import { addresses as addressTable, transactions } from '../own-tables.ts';
import { differenceOf, type RowDifference } from '../row-difference.ts';
import {
  answersOf,
  lastWords,
  namesWhere,
  valueAfterDetail,
  valuesOf,
} from '../transactions/answer-words.ts';
import { isDoubtfulWord } from '../transactions/list-marks.ts';
import { isTampered } from '../transactions/row-seal.ts';

export type Comparison = { missing: string[]; different: RowDifference[] };
/**
 * Comparison of list rows. `altered`: rows that equal their list rows, but whose details may differ, for example
 * because another program changed the row.
 */
export type ListComparison = Comparison & { altered: string[] };

/**
 * Begins a full scan: creates tables for the rows that it meets, and for those that the scans before it met. Tables
 * bound the memory; they are temporary, so one verification must use one connection throughout.
 */
export async function beginSightings(db: LedgerDb): Promise<void> {
  await db.execute(
    sql`create temporary table if not exists seen_keys (order_no text primary key) on commit preserve rows`,
  );
  await db.execute(
    sql`create temporary table if not exists met_keys (order_no text primary key) on commit preserve rows`,
  );
  await db.execute(sql`insert into met_keys select order_no from seen_keys on conflict do nothing`);
  await db.execute(sql`truncate seen_keys`);
}

/** Returns the number of keys that any scan of this verification has met. */
export async function countMet(db: LedgerDb): Promise<number> {
  const [counted] = await query(db)`
    select count(*) as ${out('count', number)}
      from (select order_no from seen_keys union select order_no from met_keys) as met`;
  return counted?.count ?? 0;
}

/** Condition that the last scan, or any scan, has not met the key. */
const notMetBy = (by: 'the last' | 'any', key: SQL) => sql`
  not exists (select from seen_keys s where s.order_no = ${key})
  and (${by === 'the last'} or not exists (select from met_keys m where m.order_no = ${key}))`;

/** Fields that may change until a row is final. */
const free = new Set(['request_id', 'tx_hash', 'state']);

/**
 * Compares listed rows with the ledger's, field by field, and notes that the scan met them. A list value that a detail
 * has corrected since is no difference, nor is an empty field that the list never filled. Without the list's last
 * values (a row of an earlier version) nothing shows whether a detail has corrected the free fields of a row that is
 * not final; such a row counts as altered, so that its detail decides. So does one that repeats an outdated state or
 * a value that a detail has taken back, and one whose detail could not be read in full.
 */
export async function compareListed(
  db: LedgerDb,
  rows: TransactionRecord[],
): Promise<ListComparison> {
  const differing = namesWhere('list', (c) => {
    const differs = `word.${c} is distinct from said.${c} and word.${c} is distinct from t.${c}`;
    return free.has(c) ? `not t.is_unsure and ${differs}` : differs;
  });
  const found = await query(db)`
with incoming as (
  select distinct on (order_no) * from ${answersOf('list', rows)}
),
met as (insert into seen_keys select order_no from incoming on conflict do nothing)
select ${pick({ orderNo: alias(transactions, 'i').orderNo })}, t.order_no is not null as ${out('isKnown', truth)},
       coalesce(t.is_altered or t.is_unsure or t.is_unread or ${isDoubtfulWord}, false) as ${out('isAltered', truth)},
       f.fields as ${out('fields', listOf(text))},
       ${bothSides(
         sql`${valuesOf('list', (c) => `t.${c}`)} || jsonb_build_object('isListed', t.is_listed::text)`,
         sql`${valuesOf('list', (c) => `word.${c}`)} || '{"isListed": "true"}'`,
       )}
  from incoming i
  left join (select a.*, coalesce(a.list_word = '"unknown"', false) and not (a.is_final or a.is_altered) as is_unsure
               from (select t.*, ${isTampered('t')} as is_altered,
                            exists (select from own.rejects r where r.order_no = t.order_no and r.resolved_at is null
                                       and r.source = 'transaction-detail') as is_unread
                       from own.transactions t) a) t on t.order_no = i.order_no
 ${lastWords('list')}
 cross join lateral (
       select ${differing} || case when t.is_listed then '{}' else '{isListed}'::text[] end as fields) as f`;
  const comparison: ListComparison = { missing: [], different: [], altered: [] };
  for (const { isKnown, isAltered, ...row } of found) {
    const { orderNo, fields } = row;
    if (!isKnown) comparison.missing.push(orderNo);
    else if (fields.length > 0) comparison.different.push(differenceOf(row));
    else if (isAltered) comparison.altered.push(orderNo);
  }
  return comparison;
}

/** Compares fetched details with the ledger's rows. Returns the fields that storing the details would change. */
export async function compareDetails(
  db: LedgerDb,
  rows: TransactionDetailRecord[],
): Promise<RowDifference[]> {
  const found = await query(db)`
select ${pick({ orderNo: alias(transactions, 'i').orderNo })},
       f.fields as ${out('fields', listOf(text))},
       ${bothSides(
         valuesOf('detail', (c) => `t.${c}`),
         valuesOf('detail', valueAfterDetail),
       )}
  from ${answersOf('detail', rows)}
  join own.transactions t on t.order_no = i.order_no
 ${lastWords('detail')}
 cross join lateral (
       select ${namesWhere('detail', (c) => `${valueAfterDetail(c)} is distinct from t.${c}`)} as fields) as f`;
  return found.filter(({ fields }) => fields.length > 0).map(differenceOf);
}

/** Selects the values of both sides as JSON texts, for rows with differing fields (`f.fields`) alone. */
function bothSides(ledger: SQL, service: SQL) {
  const ifDiffering = (values: SQL) =>
    sql`case when cardinality(f.fields) > 0 then (${values})::text end`;
  const ledgerText = out('ledger', orNull(text));
  const serviceText = out('service', orNull(text));
  return Object.assign(
    sql`${ifDiffering(ledger)} as ${ledgerText}, ${ifDiffering(service)} as ${serviceText}`,
    { decoders: { ...ledgerText.decoders, ...serviceText.decoders } },
  );
}

/** Returns the number of keys that the full scan has met. */
export async function countSightings(db: LedgerDb): Promise<number> {
  const [counted] = await query(db)`select count(*) as ${out('count', number)} from seen_keys`;
  return counted?.count ?? 0;
}

/** Returns those of the orders that the ledger has now. */
export async function knownByNow(db: LedgerDb, orderNos: string[]): Promise<Set<string>> {
  const { orderNo } = transactions;
  const isAsked = sql`${orderNo} = any(${sql.param(orderNos)}::text[])`;
  const found = await db.select({ orderNo }).from(transactions).where(isAsked);
  return new Set(found.map((row) => row.orderNo));
}

/** Returns the distinct UTC days of the rows (since 1970), as the list shows their times; null for rows without one. */
export async function daysOfRows(db: LedgerDb, orderNos: string[]): Promise<(number | null)[]> {
  if (orderNos.length === 0) return [];
  const found = await query(db)`
    select distinct (ledger.listed_at(occurred_at, list_word) at time zone 'UTC')::date - date '1970-01-01'
             as ${out('day', orNull(number))}
      from own.transactions where order_no = any(${sql.param(orderNos)}::text[])`;
  return found.map(({ day }) => day);
}

/** Returns those of the rows for which the ledger has a later answer. */
export async function answeredSince(
  db: LedgerDb,
  rows: { orderNo: string; observation: number }[],
): Promise<Set<string>> {
  const orderNos = sql.param(rows.map(({ orderNo }) => orderNo));
  const observations = sql.param(rows.map(({ observation }) => observation));
  const found = await query(db)`
    select ${pick({ orderNo: alias(transactions, 't').orderNo })}
      from unnest(${orderNos}::text[], ${observations}::bigint[]) as i (order_no, observation)
      join own.transactions t on t.order_no = i.order_no and t.observation > i.observation`;
  return new Set(found.map((row) => row.orderNo));
}

/**
 * Returns rows that the ledger lists and knew before `startedAt` (database time), but the last scan, or any scan, has
 * not met.
 */
export async function unmetRows(
  db: LedgerDb,
  stream: string,
  startedAt: string,
  by: 'the last' | 'any',
): Promise<string[]> {
  const found = await query(db)`
    select ${pick({ orderNo: alias(transactions, 't').orderNo })} from own.transactions t
     where t.stream = ${stream} and t.is_listed and t.first_seen_at < ${startedAt}::timestamptz
       and ${notMetBy(by, sql`t.order_no`)}
     order by t.order_no`;
  return found.map((row) => row.orderNo);
}

export const isBeingRepaired = 'a repair is storing rows of the list that were missing';

/**
 * Removes the proof of a list of which a repair stores a part of its missing rows. The counts may become equal before
 * the rest is stored, because the stored total is older. Call it in the transaction of the rows.
 */
export async function doubtWhileRepaired(db: LedgerDb, stream: string): Promise<void> {
  await db.execute(sql`
    update own.streams set doubt = ${isBeingRepaired} where name = ${stream} and doubt is null`);
}

/** Ends this doubt once the list has every row that the repair has read, or a pass has read the list since. */
export async function endRepair(db: LedgerDb, stream: string): Promise<void> {
  await db.execute(sql`
    update own.streams set doubt = null where name = ${stream} and doubt = ${isBeingRepaired}`);
}

/** Returns the database's time, and the number of passes over the stream so far. */
export async function startOfVerification(
  db: LedgerDb,
  stream: string,
): Promise<{ startedAt: string; passes: number }> {
  const [row] = await query(db)`
    select clock_timestamp()::text as ${out('startedAt', text)},
           coalesce((select passes from own.streams where name = ${stream}), 0) as ${out('passes', number)}`;
  if (!row) throw new Error("the query for the database's time returned no row");
  return row;
}

/** Notes that the full scan met the addresses, in any spelling. Returns those that the ledger lacks. */
export async function compareAddresses(
  db: LedgerDb,
  slip44: number,
  addresses: string[],
): Promise<string[]> {
  const found = await query(db)`
    with incoming as (
      select distinct on (key) key, address
        from (select ledger.address_key(i.address) as key, i.address
                from unnest(${sql.param(addresses)}::text[]) as i (address)) as k
       order by key, address),
    met as (insert into seen_keys select key from incoming on conflict do nothing)
    select ${pick({ address: alias(addressTable, 'i').address })} from incoming i
     where not exists (select from own.addresses a where a.slip44 = ${slip44} and a.address_key = i.key)`;
  return found.map((row) => row.address);
}

/** Returns addresses that the ledger knew before `startedAt` (database time), but the full scan has not met. */
export async function unmetAddresses(
  db: LedgerDb,
  slip44: number,
  startedAt: string,
  by: 'the last' | 'any',
): Promise<string[]> {
  const found = await query(db)`
    select ${pick({ address: alias(addressTable, 'a').address })} from own.addresses a
     where a.slip44 = ${slip44} and a.first_seen_at < ${startedAt}::timestamptz
       and ${notMetBy(by, sql`a.address_key`)}
     order by a.address`;
  return found.map((row) => row.address);
}
