import { sql } from 'drizzle-orm';
import type { LedgerDb } from '../connection/connect-ledger.ts';

/** A state as the service writes it, the number of its rows, and the number of those older than 7 days. */
export type StateSeen = { state: string; rows: number; oldRows: number };

export async function readStatesSeen(db: LedgerDb): Promise<StateSeen[]> {
  const { rows } = await db.execute<StateSeen>(sql`
    select state, count(*)::float8 as rows,
           (count(*) filter (where occurred_at < now() - interval '7 days'))::float8 as "oldRows"
      from ledger.transactions where state is not null group by state`);
  return rows;
}
