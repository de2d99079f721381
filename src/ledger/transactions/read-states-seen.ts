import type { LedgerDb } from '../connection/connect-ledger.ts';
import { number, out, query, text } from '../connection/query-rows.ts';

/** A state as the service writes it, the number of its rows, and the number of those older than 7 days. */
export type StateSeen = { state: string; rows: number; oldRows: number };

export async function readStatesSeen(db: LedgerDb): Promise<StateSeen[]> {
  return await query(db)`
    select state as ${out('state', text)}, count(*) as ${out('rows', number)},
           count(*) filter (where occurred_at < now() - interval '7 days') as ${out('oldRows', number)}
      from own.transactions where state is not null group by state`;
}
