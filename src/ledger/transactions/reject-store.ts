import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import { mapInSlices } from '../../kernel/in-slices.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { listOf, out, pick, query, text } from '../connection/query-rows.ts';
import { arrayParam } from '../connection/unnest-rows.ts';
import { rejects as rejectTable, transactions } from '../own-tables.ts';
import type { UnreadableFields } from '../row-difference.ts';
import { fingerprintOf, payloadPrefix } from './reject-identity.ts';

/**
 * Upper bound of open rejects that only their payload identifies, over the sources of a batch. Further ones are not
 * kept.
 */
const payloadRejectsMax = 10_000;

/** Rejects per slice; identifying and sending a slice takes at most 50 ms. */
const rejectsInOneGo = 2_000;

/**
 * Stores the rows and values that could not be decoded: one row per cause, with the latest payload. Counts a repeated
 * reject at most once an hour, so that a quiet stream with one bad row writes nothing. A resolved field of a list row
 * stays resolved if a detail has brought its value since.
 */
export async function storeRejects(db: LedgerDb, rejects: Reject[]): Promise<void> {
  const identified = await mapInSlices(
    rejects,
    rejectsInOneGo,
    () => 1,
    (reject) => [fingerprintOf(reject), reject] as const,
  );
  const batch = [...new Map(identified)].sort(([a], [b]) => (a < b ? -1 : 1));
  const sources = [...new Set(batch.map(([, { source }]) => source))];
  for (let at = 0; at < batch.length; at += rejectsInOneGo)
    await storeSlice(db, batch.slice(at, at + rejectsInOneGo), sources);
}

/** Counts the open rejects once per slice, not per row: 10,000 rejects would take 46 s. */
async function storeSlice(
  db: LedgerDb,
  slice: (readonly [fingerprint: string, Reject])[],
  sources: string[],
): Promise<void> {
  const column = (value: (reject: Reject) => string | null) =>
    sql`${arrayParam(slice, ([, reject]) => value(reject))}::text[]`;
  await db.execute(sql`
with incoming as (
  select * from unnest(
    ${arrayParam(slice, ([fingerprint]) => fingerprint)}::text[], ${column((r) => r.source)},
    ${column((r) => r.orderNo)}, ${column((r) => r.field)}, ${column((r) => r.reason)}, ${column((r) => r.payload)}
  ) as i (fingerprint, source, order_no, field, reason, payload)
),
counted as (
  update own.rejects r
     set last_seen_at = now(), times = r.times + 1, resolved_at = null, reason = i.reason, payload = i.payload
    from incoming i
   where r.fingerprint = i.fingerprint and ${isCounted}
  returning r.fingerprint
)
insert into own.rejects (source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
select i.source, i.order_no, i.field, i.reason, i.payload, i.fingerprint, now(), now()
  from incoming i
 -- A row to count that was not counted has been deleted meanwhile, or another transaction has counted it.
 where not exists (select from own.rejects r where r.fingerprint = i.fingerprint and not (${isCounted}))
   and i.fingerprint not in (select fingerprint from counted)
   and (not starts_with(i.fingerprint, ${payloadPrefix}::text)
     or (select count(*) from own.rejects r
          where r.resolved_at is null and r.order_no is null and r.source = any(${sql.param(sources)}::text[])
            and starts_with(r.fingerprint, ${payloadPrefix}::text)) < ${payloadRejectsMax})
on conflict (wallet, fingerprint) do nothing`);
}

/** Columns of the fields that a reject names, by the service's name of the field. */
const columnOfField = {
  requestId: 'request_id',
  symbol: 'symbol',
  txHash: 'tx_hash',
  fromAddress: 'from_address',
  toAddress: 'to_address',
  amount: 'amount',
  type: 'type',
  state: 'state',
  confirmNum: 'confirm_num',
  fee: 'fee',
  feeSymbol: 'fee_symbol',
  time: 'occurred_at',
};

/** Selects by the field of reject r. */
const byField = (value: (column: string) => string) =>
  Object.entries(columnOfField)
    .map(([field, column]) => `when '${field}' then ${value(column)}`)
    .join(' ');

/** Column of the field of reject r. */
const rejectedColumn = sql.raw(`case r.field ${byField((column) => `'${column}'`)} end`);

/** Condition that the first detail of row t filled the field of reject r. */
const isOfFirstDetail = sql`(r.field in ('confirmNum', 'fee', 'feeSymbol') or ${rejectedColumn} = any(t.first_detail_filled))`;

/** Value of row t in the field of reject r; the order number if the reject concerns the whole row. */
const filledValue = sql.raw(
  `case when r.field is null then t.order_no else case r.field ${byField((column) => `t.${column}::text`)} end end`,
);

/** Value of the last detail of row t in the field of reject r. */
const detailValue = sql.raw(
  `case r.field ${byField((column) => `case when t.detail_word ? '${column}' then t.detail_word ->> '${column}' else t.${column}::text end`)} end`,
);

/** Condition that a value of reject r's field is known, without characters that were replaced. */
const isReadable = (
  value: SQL,
) => sql`case when r.reason like '%(replaced)%' then strpos(${value}, ${'\uFFFD'}::text) = 0
                          else ${value} is not null end`;
const isFilled = isReadable(filledValue);
const isFilledByDetail = isReadable(detailValue);

/** Condition that the incoming reject i, which row r has already, is counted: as open, or it opens the row again. */
const isCounted = sql`case when r.resolved_at is null then r.last_seen_at < now() - interval '1 hour'
       else not exists (select from own.transactions t
                         where t.order_no = i.order_no and i.source = 'transaction-list'
                           and t.detail_synced_at >= r.first_seen_at and ${isFilledByDetail}) end`;

/** A reject that is not resolved yet. Times are ISO 8601, UTC. */
export type OpenReject = Reject & {
  id: number;
  firstSeenAt: string;
  lastSeenAt: string;
  times: number;
};

const iso = sql.raw(`'YYYY-MM-DD"T"HH24:MI:SS"Z"'`);

/** Reads the first `limit` open rejects with an id above `after`, ordered by id; `ids` null: all. */
export async function readOpenRejects(
  db: LedgerDb,
  { after, limit, ids }: { after: number; limit: number; ids: number[] | null },
): Promise<OpenReject[]> {
  const { id, source, orderNo, field, reason, payload, times } = rejectTable;
  return await query(db)`
    select ${pick({ id, source, orderNo, field, reason, payload, times })},
           to_char(first_seen_at at time zone 'UTC', ${iso}) as ${out('firstSeenAt', text)},
           to_char(last_seen_at at time zone 'UTC', ${iso}) as ${out('lastSeenAt', text)}
      from own.rejects
     where resolved_at is null and id > ${after}
       and (${sql.param(ids)}::bigint[] is null or id = any(${sql.param(ids)}::bigint[]))
     order by rejects.id limit ${limit}`;
}

/** Marks rejects as resolved. A reject that occurs again opens again. */
export async function resolveRejects(db: LedgerDb, ids: number[]): Promise<void> {
  if (ids.length === 0) return;
  await db.execute(sql`update own.rejects set resolved_at = now()
    where resolved_at is null and id = any(${sql.param(ids)}::bigint[])`);
}

/**
 * Marks rejects as resolved, except those that occurred again since they were read: their payload may have changed.
 * Returns the ids of those that it marked.
 */
export async function resolveUnchanged(
  db: LedgerDb,
  rejects: readonly Pick<OpenReject, 'id' | 'times'>[],
): Promise<number[]> {
  if (rejects.length === 0) return [];
  const marked = await query(db)`
    update own.rejects r set resolved_at = now()
      from unnest(${sql.param(rejects.map(({ id }) => id))}::bigint[],
                  ${sql.param(rejects.map(({ times }) => times))}::integer[]) as i (id, times)
     where r.id = i.id and r.times = i.times and r.resolved_at is null
    returning ${pick({ id: alias(rejectTable, 'r').id })}`;
  return marked.map(({ id }) => id);
}

/**
 * Returns the fields of the orders that the service does not show readably although the ledger holds a value: the open
 * rejects. A detail's reject of a field that lists have as well is none of these, because the list shows the field.
 */
export async function readUnreadable(
  db: LedgerDb,
  orderNos: string[],
): Promise<UnreadableFields[]> {
  const { orderNo } = alias(transactions, 't');
  return await query(db)`
    with r as materialized (
      select * from own.rejects where resolved_at is null and order_no = any(${sql.param(orderNos)}::text[])
    )
    select ${pick({ orderNo })}, array_agg(distinct r.field order by r.field) as ${out('fields', listOf(text))}
      from r join own.transactions t on t.order_no = r.order_no
     where r.field is not null and ${isFilled}
       and (r.source = 'transaction-list' or r.field in ('confirmNum', 'fee', 'feeSymbol'))
     group by t.order_no order by t.order_no`;
}

/** Returns those of the addresses that the ledger has and did not refuse, on any chain and in any spelling. */
export async function knownAddresses(db: LedgerDb, addresses: string[]): Promise<Set<string>> {
  const found = await query(db)`
    select i.address as ${out('address', text)} from unnest(${sql.param(addresses)}::text[]) as i (address)
     where exists (select from own.addresses a where a.address_key = ledger.address_key(i.address) and a.refused is null)`;
  return new Set(found.map(({ address }) => address));
}

/**
 * Returns those of the rejects whose field a later answer of the service has filled. The logged change shows it, or the
 * row or its first detail, if they came after the reject. A value that was there before the reject does not count.
 */
export async function outlivedRejects(db: LedgerDb, ids: number[]): Promise<number[]> {
  const found = await query(db)`
    select ${pick({ id: alias(rejectTable, 'r').id })}
      from own.rejects r
      join own.transactions t on t.order_no = r.order_no and t.observed_at > r.last_seen_at
     where r.id = any(${sql.param(ids)}::bigint[]) and ${isFilled}
       and (r.source = 'transaction-list' or t.detail_synced_at > r.last_seen_at)
       and (t.first_seen_at > r.last_seen_at or t.first_detail_at > r.last_seen_at and ${isOfFirstDetail}
         or exists (select from own.transaction_changes h
                     where h.order_no = r.order_no and h.observed_at > r.last_seen_at and h.field = ${rejectedColumn}))`;
  return found.map(({ id }) => id);
}
