import { sql } from 'drizzle-orm';
import type { TransactionDetailRecord, TransactionRecord } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import {
  lastWords,
  namesWhere,
  unreadableOf,
  valueAfterDetail,
} from '../transactions/answer-words.ts';
import { isTampered } from '../transactions/row-seal.ts';
import { array } from '../transactions/transaction-statement.ts';

export type RowDifference = { orderNo: string; fields: string[] };
export type Comparison = { missing: string[]; different: RowDifference[] };
/**
 * Comparison of list rows. `altered`: rows equal to their list rows that another writer changed; only their details can
 * show the difference.
 */
export type ListComparison = Comparison & { altered: string[] };

/**
 * Creates the table of the rows that the full scan has met; in the database, so that memory stays bounded. The table is
 * temporary, so one verification must use one connection throughout.
 */
export async function beginSightings(db: LedgerDb): Promise<void> {
  await db.execute(
    sql`create temporary table if not exists seen_keys (order_no text primary key) on commit preserve rows`,
  );
  await db.execute(sql`truncate seen_keys`);
}

/** Fields that may change until a row is final. */
const free = new Set(['request_id', 'tx_hash', 'state']);

/**
 * Compares listed rows with the ledger's, field by field, and notes that the scan met them. A list value that a detail
 * has corrected since is no difference, nor is an empty field that the list never filled. The free fields of a row that
 * is not final may differ, unless another writer changed the row.
 */
export async function compareListed(
  db: LedgerDb,
  rows: TransactionRecord[],
): Promise<ListComparison> {
  const differing = namesWhere('list', (c) => {
    const differs = `word.${c} is distinct from said.${c} and word.${c} is distinct from t.${c}`;
    return free.has(c) ? `t.is_settled and ${differs}` : differs;
  });
  const found = await db.execute<{
    order_no: string;
    is_known: boolean;
    is_altered: boolean;
    fields: string[];
  }>(sql`
with incoming as (
  select distinct on (order_no) *, timestamptz 'epoch' + occurred_ms * interval '1 millisecond' as occurred_at
    from unnest(
      ${array(rows, (row) => row.orderNo)}::text[], ${array(rows, (row) => row.requestId)}::text[],
      ${array(rows, (row) => row.symbol)}::text[], ${array(rows, (row) => row.txHash)}::text[],
      ${array(rows, (row) => row.fromAddress)}::text[], ${array(rows, (row) => row.toAddress)}::text[],
      ${array(rows, (row) => row.amount)}::numeric[], ${array(rows, (row) => row.type)}::text[],
      ${array(rows, (row) => row.state)}::text[], ${array(rows, (row) => row.occurredAt)}::bigint[],
      ${array(rows, unreadableOf)}::text[]
    ) as i (order_no, request_id, symbol, tx_hash, from_address, to_address, amount, type, state, occurred_ms,
            unreadable)
),
met as (insert into seen_keys select order_no from incoming on conflict do nothing)
select i.order_no, t.order_no is not null as is_known, coalesce(t.is_altered, false) as is_altered,
       ${differing} || case when t.is_listed then '{}' else '{isListed}'::text[] end as fields
  from incoming i
  left join (select a.*, a.is_final or a.is_altered as is_settled
               from (select t.*, ${isTampered('t')} as is_altered from ledger.transactions t) a) t on t.order_no = i.order_no
 ${lastWords('list')}`);
  const comparison: ListComparison = { missing: [], different: [], altered: [] };
  for (const { order_no: orderNo, is_known, is_altered, fields } of found.rows) {
    if (!is_known) comparison.missing.push(orderNo);
    else if (fields.length > 0) comparison.different.push({ orderNo, fields });
    else if (is_altered) comparison.altered.push(orderNo);
  }
  return comparison;
}

/** Compares fetched details with the ledger's rows. Returns the fields that storing the details would change. */
export async function compareDetails(
  db: LedgerDb,
  rows: TransactionDetailRecord[],
): Promise<RowDifference[]> {
  const found = await db.execute<{ order_no: string; fields: string[] }>(sql`
select i.order_no,
       ${namesWhere('detail', (c) => `${valueAfterDetail(c)} is distinct from t.${c}`)} as fields
  from (select *, timestamptz 'epoch' + occurred_ms * interval '1 millisecond' as occurred_at
          from unnest(
            ${array(rows, (row) => row.orderNo)}::text[], ${array(rows, (row) => row.requestId)}::text[],
            ${array(rows, (row) => row.symbol)}::text[], ${array(rows, (row) => row.txHash)}::text[],
            ${array(rows, (row) => row.fromAddress)}::text[], ${array(rows, (row) => row.toAddress)}::text[],
            ${array(rows, (row) => row.amount)}::numeric[], ${array(rows, (row) => row.state)}::text[],
            ${array(rows, (row) => row.confirmNum)}::integer[], ${array(rows, (row) => row.fee)}::numeric[],
            ${array(rows, (row) => row.feeSymbol)}::text[], ${array(rows, (row) => row.occurredAt)}::bigint[],
            ${array(rows, unreadableOf)}::text[]
          ) as u (order_no, request_id, symbol, tx_hash, from_address, to_address, amount, state, confirm_num, fee,
                  fee_symbol, occurred_ms, unreadable)) as i
  join ledger.transactions t on t.order_no = i.order_no
 ${lastWords('detail')}`);
  return found.rows
    .filter(({ fields }) => fields.length > 0)
    .map(({ order_no: orderNo, fields }) => ({ orderNo, fields }));
}

/** Returns the number of keys that the full scan has met. */
export async function countSightings(db: LedgerDb): Promise<number> {
  const counted = await db.execute<{ count: number }>(
    sql`select count(*)::float8 as count from seen_keys`,
  );
  return counted.rows[0]?.count ?? 0;
}

/** Returns those of the orders that the ledger has now. */
export async function knownByNow(db: LedgerDb, orderNos: string[]): Promise<Set<string>> {
  const found = await db.execute<{ order_no: string }>(sql`
    select order_no from ledger.transactions where order_no = any(${sql.param(orderNos)}::text[])`);
  return new Set(found.rows.map((row) => row.order_no));
}

/**
 * Returns the number of rows that the full scan has met and other writers have stored since `startedAt`, except
 * `butNot`.
 */
export async function countBroughtMeanwhile(
  db: LedgerDb,
  stream: string,
  startedAt: string,
  butNot: string[],
): Promise<number> {
  const counted = await db.execute<{ count: number }>(sql`
    select count(*)::float8 as count from ledger.transactions t join seen_keys s using (order_no)
     where t.stream = ${stream} and t.first_seen_at >= ${startedAt}::timestamptz
       and t.order_no <> all(${sql.param(butNot)}::text[])`);
  return counted.rows[0]?.count ?? 0;
}

/** Returns rows that the ledger lists and knew before `startedAt` (database time), but the full scan has not met. */
export async function unmetRows(
  db: LedgerDb,
  stream: string,
  startedAt: string,
): Promise<string[]> {
  const found = await db.execute<{ order_no: string }>(sql`
    select t.order_no from ledger.transactions t
     where t.stream = ${stream} and t.is_listed and t.first_seen_at < ${startedAt}::timestamptz
       and not exists (select from seen_keys s where s.order_no = t.order_no)
     order by t.order_no`);
  return found.rows.map((row) => row.order_no);
}

/**
 * Corrects the counts of the list and of its days from the table; triggers may have been disabled. A corrected day
 * loses its verification.
 */
export async function recountStream(db: LedgerDb, stream: string): Promise<void> {
  await db.execute(sql`
    update ledger.streams s
       set ledger_count = c.count
      from (select count(*) as count from ledger.transactions where stream = ${stream} and is_listed) c
     where s.name = ${stream} and s.ledger_count <> c.count`);
  await db.execute(sql`
    insert into ledger.coverage as c (stream, day, transactions)
    select ${stream}, day, coalesce(r.rows, 0)
      from (select (ledger.listed_at(occurred_at, list_word) at time zone 'UTC')::date as day, count(*) as rows
              from ledger.transactions where stream = ${stream} and is_listed group by 1) as r
      full join (select day from ledger.coverage where stream = ${stream}) as d using (day)
     where day is not null
    on conflict (stream, day) do update set transactions = excluded.transactions, verified_at = null
     where c.transactions <> excluded.transactions`);
}

/** Returns the database's time, and the service's last count for the stream (null before its first pass). */
export async function startOfVerification(
  db: LedgerDb,
  stream: string,
): Promise<{ startedAt: string; knownTotal: number | null }> {
  const found = await db.execute<{ startedAt: string; knownTotal: number | null }>(sql`
    select clock_timestamp()::text as "startedAt",
           (select service_total::float8 from ledger.streams where name = ${stream}) as "knownTotal"`);
  const row = found.rows[0];
  if (!row) throw new Error('the database did not tell its time');
  return row;
}

/** Notes that the full scan met the addresses, in any spelling. Returns those that the ledger lacks. */
export async function compareAddresses(
  db: LedgerDb,
  slip44: number,
  addresses: string[],
): Promise<string[]> {
  const found = await db.execute<{ address: string }>(sql`
    with incoming as (
      select distinct on (key) key, address
        from (select ledger.address_key(i.address) as key, i.address
                from unnest(${sql.param(addresses)}::text[]) as i (address)) as k
       order by key, address),
    met as (insert into seen_keys select key from incoming on conflict do nothing)
    select address from incoming i
     where not exists (select from ledger.addresses a where a.slip44 = ${slip44} and a.address_key = i.key)`);
  return found.rows.map((row) => row.address);
}

/** Returns addresses that the ledger knew before `startedAt` (database time), but the full scan has not met. */
export async function unmetAddresses(
  db: LedgerDb,
  slip44: number,
  startedAt: string,
): Promise<string[]> {
  const found = await db.execute<{ address: string }>(sql`
    select a.address from ledger.addresses a
     where a.slip44 = ${slip44} and a.first_seen_at < ${startedAt}::timestamptz
       and not exists (select from seen_keys s where s.order_no = a.address_key)
     order by a.address`);
  return found.rows.map((row) => row.address);
}
