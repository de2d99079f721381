import { createHash } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Reject } from '../kernel/wallet-records.ts';
import type { LedgerDb } from './connect-ledger.ts';

/**
 * Keeps what could not be decoded: one row per cause and payload. A reject that is met again is counted at most
 * once an hour, so that a quiet stream with one bad row writes nothing.
 */
export async function storeRejects(db: LedgerDb, rejects: Reject[]): Promise<void> {
  const unique = new Map(rejects.map((reject) => [fingerprintOf(reject), reject]));
  if (unique.size === 0) return;
  const batch = [...unique].sort(([a], [b]) => (a < b ? -1 : 1));
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
  update ledger.rejects r set last_seen_at = now(), times = r.times + 1, resolved_at = null
    from incoming i
   where r.fingerprint = i.fingerprint
     and (r.last_seen_at < now() - interval '1 hour' or r.resolved_at is not null)
)
insert into ledger.rejects (source, order_no, field, reason, payload, fingerprint, first_seen_at, last_seen_at)
select i.source, i.order_no, i.field, i.reason, i.payload, i.fingerprint, now(), now()
  from incoming i
 where not exists (select from ledger.rejects r where r.fingerprint = i.fingerprint)
on conflict (fingerprint) do nothing`);
}

function fingerprintOf(reject: Reject): string {
  return createHash('sha256')
    .update(
      JSON.stringify([reject.source, reject.orderNo, reject.field, reject.reason, reject.payload]),
    )
    .digest('hex');
}

/** A reject that nothing has settled yet. Times are ISO 8601, UTC. */
export type OpenReject = Reject & {
  id: number;
  firstSeenAt: string;
  lastSeenAt: string;
  times: number;
};

const iso = sql.raw(`'YYYY-MM-DD"T"HH24:MI:SS"Z"'`);

/** The first `limit` open rejects behind the one with id `after`, in the order of their ids; `ids` null: all. */
export async function readOpenRejects(
  db: LedgerDb,
  { after, limit, ids }: { after: number; limit: number; ids: number[] | null },
): Promise<OpenReject[]> {
  const found = await db.execute<OpenReject>(sql`
    select id::float8 as id, source, order_no as "orderNo", field, reason, payload, times,
           to_char(first_seen_at at time zone 'UTC', ${iso}) as "firstSeenAt",
           to_char(last_seen_at at time zone 'UTC', ${iso}) as "lastSeenAt"
      from ledger.rejects
     where resolved_at is null and id > ${after}
       and (${sql.param(ids)}::bigint[] is null or id = any(${sql.param(ids)}::bigint[]))
     order by id limit ${limit}`);
  return found.rows;
}

/** Marks rejects as settled. One that is met again is open again. */
export async function resolveRejects(db: LedgerDb, ids: number[]): Promise<void> {
  if (ids.length === 0) return;
  await db.execute(sql`update ledger.rejects set resolved_at = now()
    where resolved_at is null and id = any(${sql.param(ids)}::bigint[])`);
}

/** Those of the addresses that the ledger has, whatever their chain. */
export async function knownAddresses(db: LedgerDb, addresses: string[]): Promise<Set<string>> {
  const found = await db.execute<{ address: string }>(sql`
    select distinct address from ledger.addresses
     where lower(address) in (select lower(a) from unnest(${sql.param(addresses)}::text[]) as a)
       and address = any(${sql.param(addresses)}::text[])`);
  return new Set(found.rows.map(({ address }) => address));
}

/** Those of the rejects whose field a later answer of the service has filled readably. */
export async function outlivedRejects(db: LedgerDb, ids: number[]): Promise<number[]> {
  const found = await db.execute<{ id: number }>(sql`
    select r.id::float8 as id
      from ledger.rejects r
      join ledger.transactions t on t.order_no = r.order_no and t.observed_at > r.last_seen_at
     where r.id = any(${sql.param(ids)}::bigint[]) and r.reason not like '%(replaced)%'
       and case r.field
             when 'requestId' then t.request_id when 'symbol' then t.symbol when 'txHash' then t.tx_hash
             when 'fromAddress' then t.from_address when 'toAddress' then t.to_address
             when 'amount' then t.amount::text when 'type' then t.type when 'state' then t.state
             when 'confirmNum' then t.confirm_num::text when 'fee' then t.fee::text
             when 'feeSymbol' then t.fee_symbol when 'time' then t.occurred_at::text
           end is not null`);
  return found.rows.map(({ id }) => id);
}
