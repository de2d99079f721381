import { sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { Reject } from '../../kernel/wallet-records.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { out, pick, query, text } from '../connection/query-rows.ts';
import { rejects as rejectTable } from '../own-tables.ts';
import { fingerprintOf, payloadPrefix } from './reject-identity.ts';

/**
 * Upper bound of open rejects that only their payload identifies, over the sources of a batch. Further ones are not
 * kept.
 */
const payloadRejectsMax = 10_000;

/**
 * Stores the rows and values that could not be decoded: one row per cause, with the latest payload. Counts a repeated
 * reject at most once an hour, so that a quiet stream with one bad row writes nothing. A resolved field of a list row
 * stays resolved if a detail has brought its value since.
 */
export async function storeRejects(db: LedgerDb, rejects: Reject[]): Promise<void> {
  const unique = new Map(rejects.map((reject) => [fingerprintOf(reject), reject]));
  if (unique.size === 0) return;
  const batch = [...unique].sort(([a], [b]) => (a < b ? -1 : 1));
  // Counts once per batch, not per row: 10,000 rejects would take 46 s.
  const sources = [...new Set(batch.map(([, { source }]) => source))];
  const column = (value: (reject: Reject) => string | null) =>
    sql`${sql.param(batch.map(([, reject]) => value(reject)))}::text[]`;
  await db.execute(sql`
with incoming as (
  select * from unnest(
    ${sql.param(batch.map(([fingerprint]) => fingerprint))}::text[], ${column((r) => r.source)},
    ${column((r) => r.orderNo)}, ${column((r) => r.field)}, ${column((r) => r.reason)}, ${column((r) => r.payload)}
  ) as i (fingerprint, source, order_no, field, reason, payload)
),
counted as (
  update own.rejects r
     set last_seen_at = now(), times = r.times + 1, resolved_at = null, reason = i.reason, payload = i.payload
    from incoming i
   where r.fingerprint = i.fingerprint
     and case when r.resolved_at is null then r.last_seen_at < now() - interval '1 hour'
              else not exists (select from own.transactions t
                                where t.order_no = i.order_no and i.source = 'transaction-list'
                                  and t.detail_synced_at >= r.first_seen_at and ${isFilled}) end
)
insert into own.rejects (source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
select i.source, i.order_no, i.field, i.reason, i.payload, i.fingerprint, now(), now()
  from incoming i
 where not exists (select from own.rejects r where r.fingerprint = i.fingerprint)
   and (not starts_with(i.fingerprint, ${payloadPrefix}::text)
     or (select count(*) from own.rejects r
          where r.resolved_at is null and r.order_no is null and r.source = any(${sql.param(sources)}::text[])
            and starts_with(r.fingerprint, ${payloadPrefix}::text)) < ${payloadRejectsMax})
on conflict (wallet, fingerprint) do nothing`);
}

/** Value of row t in the field of reject r; the order number if the reject concerns the whole row. */
const filledValue = sql.raw(`case r.field
    when 'requestId' then t.request_id when 'symbol' then t.symbol when 'txHash' then t.tx_hash
    when 'fromAddress' then t.from_address when 'toAddress' then t.to_address
    when 'amount' then t.amount::text when 'type' then t.type when 'state' then t.state
    when 'confirmNum' then t.confirm_num::text when 'fee' then t.fee::text
    when 'feeSymbol' then t.fee_symbol when 'time' then t.occurred_at::text
    else case when r.field is null then t.order_no end
  end`);

/** Condition that row t has a value in the field of reject r, without characters that were replaced. */
const isFilled = sql`case when r.reason like '%(replaced)%' then strpos(${filledValue}, ${'\uFFFD'}::text) = 0
                          else ${filledValue} is not null end`;

/** Returns the order numbers of the rows that have one, for `closeFilledRejects`. */
export function orderNosOf(rows: readonly object[]): string[] {
  return rows.flatMap((row) =>
    'orderNo' in row && typeof row.orderNo === 'string' ? [row.orderNo] : [],
  );
}

/**
 * Resolves open rejects of these orders whose field has a value now. Call it in the transaction that stores an answer,
 * after its rows. `repeated` are the rejects of the same answer; they stay open. Returns the number of resolved
 * rejects.
 */
export async function closeFilledRejects(
  db: LedgerDb,
  orderNos: string[],
  repeated: Reject[] = [],
): Promise<number> {
  if (orderNos.length === 0) return 0;
  const closed = await db.execute(sql`
    with open as materialized (
      select r.id, r.order_no, r.field, r.reason, r.fingerprint
        from own.rejects r where r.resolved_at is null and r.order_no = any(${sql.param(orderNos)}::text[])
    )
    update own.rejects settled set resolved_at = now()
      from open r join own.transactions t on t.order_no = r.order_no
     where settled.id = r.id and r.fingerprint <> all(${sql.param(repeated.map(fingerprintOf))}::text[])
       and ${isFilled}`);
  return closed.rowCount ?? 0;
}

/**
 * Resolves open rejects of a snapshot that its latest answer no longer has. Call it in the transaction that stores an
 * answer that names every row. `repeated` are the rejects of that answer; they stay open.
 */
export async function closeSnapshotRejects(
  db: LedgerDb,
  source: 'balance-list' | 'coin-list',
  repeated: Reject[],
): Promise<void> {
  await db.execute(sql`
    update own.rejects set resolved_at = now()
     where resolved_at is null and order_no is null and source = ${source}
       and fingerprint <> all(${sql.param(repeated.map(fingerprintOf))}::text[])`);
}

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

/** Returns those of the addresses that the ledger has and did not refuse, on any chain and in any spelling. */
export async function knownAddresses(db: LedgerDb, addresses: string[]): Promise<Set<string>> {
  const found = await query(db)`
    select i.address as ${out('address', text)} from unnest(${sql.param(addresses)}::text[]) as i (address)
     where exists (select from own.addresses a where a.address_key = ledger.address_key(i.address) and a.refused is null)`;
  return new Set(found.map(({ address }) => address));
}

/** Returns those of the rejects whose field a later answer of the service has filled with a readable value. */
export async function outlivedRejects(db: LedgerDb, ids: number[]): Promise<number[]> {
  const found = await query(db)`
    select ${pick({ id: alias(rejectTable, 'r').id })}
      from own.rejects r
      join own.transactions t on t.order_no = r.order_no and t.observed_at > r.last_seen_at
     where r.id = any(${sql.param(ids)}::bigint[]) and ${isFilled}`;
  return found.map(({ id }) => id);
}
