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
