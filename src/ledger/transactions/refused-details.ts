import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, orNull, out, query, text } from '../connection/query-rows.ts';
import { type Claim, type ClaimedDetail, claimed } from './detail-checks.ts';

/** Final rows without a detail whose last request the service refused. */
const refusedRows = sql`own.detail_checks c where c.is_final and c.refusals > 0`;

/** The refused details: their number, the last refusal, and the time (UTC, in words) of a daemon's next request. */
export type RefusedDetails = {
  count: number;
  orderNo: string;
  reason: string | null;
  askedAgainAt: string;
};

/** Returns the facts about the refused details; null if there are none. */
export async function readRefusedDetails(db: LedgerDb): Promise<RefusedDetails | null> {
  const [found] = await query(db)`
    select count(*) over () as ${out('count', number)}, c.order_no as ${out('orderNo', text)},
           c.refusal as ${out('reason', orNull(text))},
           to_char(greatest(min(c.due_at) over (), now()) at time zone 'UTC',
                   'YYYY-MM-DD HH24:MI:SS "UTC"') as ${out('askedAgainAt', text)}
      from ${refusedRows} order by c.refused_at desc nulls last limit 1`;
  return found ?? null;
}

/** Returns the refused rows that the service lists. */
export async function listRefusedDetails(db: LedgerDb): Promise<string[]> {
  const rows = await query(db)`
    select c.order_no as ${out('orderNo', text)} from ${refusedRows}
       and exists (select from own.transactions t where t.order_no = c.order_no and t.is_listed) order by 1`;
  return rows.map(({ orderNo }) => orderNo);
}

/**
 * Claims up to `limit` rows whose pause after a refusal has not ended, those first that were requested longest ago.
 * Leaves out the rows that were refused since the pass began `passAgeMs` ago.
 */
export async function claimRefusedDetails(
  db: LedgerDb,
  limit: number,
  claim: Claim,
  passAgeMs: number,
): Promise<ClaimedDetail[]> {
  const rows = sql`
    taken as materialized (
      select c.order_no from own.detail_checks c
       where c.refusals > 0 and c.due_at > now() and (c.claimed_until is null or c.claimed_until <= now())
         and (c.refused_at is null or c.refused_at < now() - ${passAgeMs} * interval '1 millisecond')
       order by c.refused_at nulls first limit ${limit} for update skip locked)`;
  return await claimed(db, rows, claim);
}
