import { type SQL, sql } from 'drizzle-orm';

type Value = string | number | boolean | null;

/** One column of a batch as one array parameter; unnested again by the statement. */
export function array<T>(rows: T[], value: (row: T) => Value): SQL {
  // Text already: what pg makes of an array it makes only when the statement is sent.
  return sql`${sql.param(`{${rows.map((row) => arrayElement(value(row))).join()}}`)}`;
}

function arrayElement(value: Value): string {
  if (typeof value !== 'string') return value === null ? 'NULL' : String(value);
  return `"${/["\\]/.test(value) ? value.replace(/["\\]/g, '\\$&') : value}"`;
}

/**
 * A batch without repeated orders, the latest answer kept, in key order: two writers then lock rows in the same
 * order and cannot deadlock, and no statement meets a row twice.
 */
export function uniqueNewest<T extends { orderNo: string; observation: number }>(rows: T[]): T[] {
  const newest = new Map<string, T>();
  for (const row of rows) {
    const known = newest.get(row.orderNo);
    if (!known || known.observation <= row.observation) newest.set(row.orderNo, row);
  }
  return [...newest.values()].sort((a, b) => (a.orderNo < b.orderNo ? -1 : 1));
}

/** The undocumented fields of a stored row and of its answer. What is no object cannot be merged: it would only grow. */
export const mergedExtra = sql`(case jsonb_typeof(t.extra) when 'object' then t.extra else '{}' end || i.extra)`;

/**
 * The part of a statement that logs what the CTE `stored` (columns x and new_x) is about to change. Confirmations
 * that rise are no change; that fall or vanish, one. With `is_first_detail` in `stored` the fields that it fills are
 * none either: `first_detail_at` tells when they came.
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
  // A list of VALUES would prepare its expressions anew for every row.
  const each = (part: (column: string) => string) =>
    `array[${columns.map((column) => `case when ${isLogged(column)} then ${part(column)} end`).join(', ')}]`;
  return sql.raw(`logged as (
  insert into ledger.transaction_changes (order_no, observed_at, field, old_value, new_value)
  select s.order_no, now(), c.field, c.old_value, c.new_value
    from stored s, unnest(
      ${each((column) => `'${column}'`)},
      ${each((column) => `s.${column}::text`)},
      ${each((column) => `s.new_${column}::text`)}) as c (field, old_value, new_value)
   where c.field is not null
   order by s.order_no
)`);
}
