/**
 * Two halves in the order of keys, about as large. Rows of one key stay together and in their order: only one of them
 * is to be stored, and who stores the halves side by side never waits for the other's row.
 */
export function halvesByKey<R>(rows: R[], keyOf: (row: R) => string): [R[], R[]] {
  const keyed = rows.map((row) => ({ key: keyOf(row), row }));
  keyed.sort((a, b) => Number(a.key > b.key) - Number(a.key < b.key));
  const middle = keyed[Math.floor(keyed.length / 2)]?.key ?? '';
  const half = keyed.findIndex(({ key }) => key === middle);
  const sorted = keyed.map(({ row }) => row);
  return [sorted.slice(0, half), sorted.slice(half)];
}
