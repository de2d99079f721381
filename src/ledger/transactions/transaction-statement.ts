import { type SQL, sql } from 'drizzle-orm';

/**
 * Settings of a transaction that stores rows. They make each statement find its rows by key: a plan made for an almost
 * empty table would read all rows for each row of a batch, including those that other writers add meanwhile. The
 * transaction also gets its number before its first snapshot, so that the assignment of chains knows by the number
 * which transactions may not have seen a new asset.
 */
export const findingByKey =
  "select set_config('enable_seqscan', 'off', true), pg_current_xact_id()";

/**
 * Returns a batch without repeated orders, with the latest answer of each, in key order. Writers then lock rows in the
 * same order, so they cannot deadlock, and no statement meets a row twice.
 */
export function uniqueNewest<T extends { orderNo: string; observation: number }>(rows: T[]): T[] {
  const newest = new Map<string, T>();
  for (const row of rows) {
    const known = newest.get(row.orderNo);
    if (!known || known.observation <= row.observation) newest.set(row.orderNo, row);
  }
  return [...newest.values()].sort((a, b) => (a.orderNo < b.orderNo ? -1 : 1));
}

/**
 * Returns the condition that the answer for the locked row of the CTE is later than the last detail. If that detail
 * changed nothing, the row's own observation is older than the detail.
 */
export function isAfterLastDetail(row: string): SQL {
  return sql.raw(
    `${row}.new_observation > coalesce(engine.checked_observation(${row}.order_no), 0)`,
  );
}

/**
 * Merges the undocumented fields of the stored row and of the answer. A stored value that is no object is replaced,
 * because merging would only make it grow.
 */
export const mergedExtra = sql`(case jsonb_typeof(t.extra) when 'object' then t.extra else '{}' end || i.extra)`;

/**
 * Returns the CTE that logs the changes of the CTE `stored` (columns x and new_x). Rising confirmations are no change;
 * falling or missing ones are. With `hasFirstDetail`, the fields that a first detail fills are no change either:
 * `first_detail_at` holds their time.
 */
export function changedFields(columns: string[], options: { hasFirstDetail: boolean }): SQL {
  const isLogged = (column: string) => {
    const differs = `s.new_${column} is distinct from s.${column}`;
    const isLost = 's.new_confirm_num < s.confirm_num or s.new_confirm_num is null';
    const isChange = column === 'confirm_num' ? `${differs} and (${isLost})` : differs;
    return options.hasFirstDetail
      ? `${isChange} and (s.${column} is not null or not s.is_first_detail)`
      : isChange;
  };
  // Uses arrays, because a VALUES list would prepare its expressions again for every row.
  const each = (part: (column: string) => string) =>
    `array[${columns.map((column) => `case when ${isLogged(column)} then ${part(column)} end`).join(', ')}]`;
  return sql.raw(`logged as (
  insert into own.transaction_changes (order_no, observed_at, field, old_value, new_value)
  select s.order_no, now(), c.field, c.old_value, c.new_value
    from stored s, unnest(
      ${each((column) => `'${column}'`)},
      ${each((column) => `s.${column}::text`)},
      ${each((column) => `s.new_${column}::text`)}) as c (field, old_value, new_value)
   where c.field is not null
   order by s.order_no
)`);
}
