import { sql } from 'drizzle-orm';
import type { LedgerDb } from './connect-ledger.ts';

/** Returns the database's clock in Unix ms. */
export async function readDatabaseTime(db: LedgerDb): Promise<number> {
  const { rows } = await db.execute(
    sql`select (extract(epoch from clock_timestamp()) * 1000)::double precision as ms`,
  );
  const [row] = rows;
  if (!row) throw new Error("the query for the database's time returned no row");
  return Number(row['ms']);
}
