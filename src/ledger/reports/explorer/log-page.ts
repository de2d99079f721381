import { sql } from 'drizzle-orm';

/** Rows of a log, latest first. `next` is the id to read on from; null at the end. */
export type LogPage<Row> = { rows: Row[]; next: number | null };

const pageRows = 50;

/** Lets a query read one row more than a page has: it shows that the log goes on. */
export const pageLimit = sql`limit ${sql.raw(String(pageRows + 1))}`;

/** Returns the page of a query that ends with `pageLimit`. */
export function logPageOf<Row extends { id: number }>(found: Row[]): LogPage<Row> {
  const rows = found.slice(0, pageRows);
  return { rows, next: found.length > pageRows ? (rows.at(-1)?.id ?? null) : null };
}
