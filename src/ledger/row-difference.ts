/** A row with the fields that differ, and their values on both sides as text (times in UTC; null: none). */
export type RowDifference = {
  orderNo: string;
  fields: string[];
  ledger: Values;
  service: Values;
};
/** A row with the fields that could not be read, by the service's names. */
export type UnreadableFields = { orderNo: string; fields: string[] };
type Values = Record<string, string | null>;

/** Builds a difference from the JSON texts of both sides, of which it keeps the fields that differ. */
export function differenceOf(row: {
  orderNo: string;
  fields: string[];
  ledger: string | null;
  service: string | null;
}): RowDifference {
  const differing = (json: string | null) => {
    const all = JSON.parse(json ?? '{}') as Values;
    return Object.fromEntries(row.fields.map((field) => [field, all[field] ?? null]));
  };
  const { orderNo, fields, ledger, service } = row;
  return { orderNo, fields, ledger: differing(ledger), service: differing(service) };
}
