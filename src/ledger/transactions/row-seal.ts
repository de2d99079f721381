import { type SQL, sql } from 'drizzle-orm';
import { columnsOf } from './answer-words.ts';

/** Columns in the order of the arguments of `ledger.seal`. */
const sealed = ['order_no', ...columnsOf('any'), 'extra'];

/**
 * Returns the seal of a row; `column` gives its values. Storing a detail seals the row. A list row that makes the
 * detail due removes the seal. A seal that does not match means that another program wrote the row. It has no secret
 * key, so it does not stop a forger who stores a matching seal.
 */
export function rowHashOf(column: (name: string) => SQL): SQL {
  return sql`ledger.seal(${sql.join(sealed.map(column), sql`, `)})`;
}

/**
 * Returns the condition that a row does not match its seal. `alias` names a table or CTE with the columns of
 * own.transactions.
 */
export function isTampered(alias: string): SQL {
  return sql`coalesce(${sql.identifier(alias)}.seal <> ${rowHashOf((name) => sql`${sql.identifier(alias)}.${sql.identifier(name)}`)}, false)`;
}
