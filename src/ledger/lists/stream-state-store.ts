import { sql } from 'drizzle-orm';
import type { ReportedTotal } from '../../kernel/vocabulary.ts';
import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, object, orNull, out, pick, query } from '../connection/query-rows.ts';
import { streams } from '../own-tables.ts';
import { guestsOf, leaseMs, type StreamRow } from './stream-store.ts';

/** Counts of a stream whose state was stored; null if another writer has stored a total since. */
type SavedStream = {
  counts: Pick<StreamRow, 'ledgerCount' | 'guests' | 'conflicts'> | null;
  /** The total that was stored before. */
  before: ReportedTotal;
};

/**
 * Stores the state of a stream in the transaction of the rows it covers, and renews the lease. `doubt`: why equal
 * counts prove nothing. `hasWalked`: a clean full scan has ended. Changes nothing if the stored total is not the one of
 * answer `known`: the state has to take it into account first. Returns undefined if another process holds the lease.
 */
export async function saveStream(
  db: LedgerDb,
  name: string,
  owner: string,
  known: number,
  row: Omit<StreamRow, 'ledgerCount' | 'guests' | 'conflicts' | 'passes'> & {
    doubt: string | null;
    hasWalked: boolean;
  },
): Promise<SavedStream | undefined> {
  const { ledgerCount, conflicts } = streams;
  const [counts, asCounts] = object({ ledgerCount, conflicts, guests: [guestsOf(name), number] });
  const [found] = await query(db)`
    with before as materialized (
      select service_total, total_observation
        from own.streams where name = ${name} and lease_owner = ${owner} for update),
    saved as (
      update own.streams
         set list_order = ${row.listOrder}, page_size = ${row.pageSize},
             service_total = ${row.serviceTotal}, total_observation = ${row.totalObservation},
             is_backed = ${row.isBacked}, accepted_difference = ${row.acceptedDifference}, doubt = ${row.doubt},
             count_at_last_pass = ledger_count,
             last_walk_at = case when ${row.hasWalked} then now() else last_walk_at end,
             checkpoint = ${JSON.stringify(row.checkpoint)}::jsonb,
             lease_until = now() + ${leaseMs} * interval '1 millisecond'
        from before
       where name = ${name} and before.total_observation = ${known}
      returning ${counts} as counts)
    select saved.counts as ${out('counts', orNull(asCounts))},
           before.service_total as ${out('serviceTotal', orNull(number))},
           before.total_observation as ${out('totalObservation', number)}
      from before left join saved on true`;
  if (!found) return undefined;
  const { counts: saved, ...before } = found;
  return { counts: saved, before };
}

/**
 * Returns true if no proof rests on the counts, or the ledger lacks no row that the service counts by this total. An
 * earlier total than the stored one proves nothing, nor does a lower one: a lagging replica may count none of the rows
 * stored since. Then the total replaces the stored one; without a total, none may be known. Call it in the transaction
 * that has changed the count.
 */
export async function saveEvenTotal(
  db: LedgerDb,
  name: string,
  { serviceTotal, totalObservation }: ReportedTotal,
): Promise<boolean> {
  const reported = sql`${serviceTotal}::bigint`;
  const observation = sql`${totalObservation}::bigint`;
  const isLater = sql`(${reported} is not null and total_observation < ${observation})`;
  const saved = await query(db)`
    update own.streams
       set service_total = case when ${isLater} then ${reported} else service_total end,
           total_observation = case when ${isLater} then ${observation} else total_observation end
     where name = ${name}
       and case when ${reported} is null then service_total is null
                else not is_backed or (${isLater} and ${reported} >= coalesce(service_total, 0)
                  and ${reported} = ledger_count + accepted_difference + ${guestsOf(name)}) end
    returning ${pick({ name: streams.name })}`;
  return saved.length > 0;
}
