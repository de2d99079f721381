import { type SQL, sql } from 'drizzle-orm';

const sealed = [
  'order_no',
  'request_id',
  'symbol',
  'tx_hash',
  'from_address',
  'to_address',
  'amount',
  'type',
  'state',
  'confirm_num',
  'fee',
  'fee_symbol',
  'occurred_at',
  'extra',
];

/**
 * The seal of a row whose values `column` gives. A detail's row is sealed when it is stored, and unsealed when a
 * list changes it (its detail is due then): a seal that does not fit means that the row was written beside the program.
 * Without a secret key it is no proof against a forger, who may store the seal that fits.
 */
export function rowHashOf(column: (name: string) => SQL): SQL {
  return sql`ledger.seal(${sql.join(sealed.map(column), sql`, `)})`;
}

/** Whether the row of `alias` (a table or CTE with the columns of ledger.transactions) does not fit its seal. */
export function isTampered(alias: string): SQL {
  return sql`coalesce(${sql.identifier(alias)}.seal <> ${rowHashOf((name) => sql`${sql.identifier(alias)}.${sql.identifier(name)}`)}, false)`;
}
