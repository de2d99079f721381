import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';

type Value = string | number | boolean | null;

/** Names of the record's fields that the table has as columns. */
export type FieldOf<R, T extends PgTable> = keyof R & keyof T['_']['columns'] & string;

/** Converts one column of a batch to one array parameter; the statement unnests it. */
export function arrayParam<T>(rows: readonly T[], value: (row: T) => Value): SQL {
  return sql`${sql.param(arrayText(rows, value))}`;
}

/** Builds the text here: pg would convert an array only when it sends the statement, inside the transaction. */
function arrayText<T>(rows: readonly T[], value: (row: T) => Value): string {
  return `{${rows.map((row) => arrayElement(value(row))).join()}}`;
}

function arrayElement(value: Value): string {
  if (typeof value !== 'string') return value === null ? 'NULL' : String(value);
  if (needsNoQuotes.test(value)) return value;
  if (!/["\\]/.test(value)) return `"${value}"`;
  // JSON escapes these values as PostgreSQL does, in one call. Replacing the characters of millions of values one by
  // one would block the event loop for seconds.
  if (!escapedByJsonAlone.test(value)) return JSON.stringify(value);
  return `"${value.split('\\').join('\\\\').split('"').join('\\"')}"`;
}

/** Control characters, and single halves of surrogate pairs. */
const escapedByJsonAlone = /[\p{Cc}\p{Cs}]/u;

// Quotes around each value would double the memory of a batch.
const needsNoQuotes = /^(?!null$)[\w.:+-]+$/i;

/**
 * Returns a batch as a relation `i`, with one array parameter per column. The fields take their columns' names and
 * types from the table; `further` names columns that the table does not have.
 */
export function unnestRows<R, T extends PgTable>(
  rows: readonly R[],
  table: T,
  fields: readonly FieldOf<R, T>[],
  further: Record<string, { type: 'bigint' | 'text'; value: (row: R) => Value }> = {},
): SQL {
  const columns = getTableColumns(table);
  const stored = fields.map((field) => ({
    name: columns[field]?.name ?? field,
    type: columns[field]?.getSQLType() ?? 'text',
    value: (row: R) => row[field] as Value,
  }));
  const all = [...stored, ...Object.entries(further).map(([name, rest]) => ({ name, ...rest }))];
  const names = all.map(({ name }) => name).join(', ');
  // Is one flat template: a nested one for each column would cost as much as the rest of the statement.
  const types = all.map(({ type }, at) => (at < all.length - 1 ? `::${type}[], ` : `::${type}[]`));
  const strings = ['unnest(', ...types.slice(0, -1), `${types.at(-1)}) as i (${names})`];
  const params = all.map(({ value }) => sql.param(arrayText(rows, value)));
  return sql(Object.assign(strings, { raw: strings }), ...params);
}
