/** Joins neighbouring rows of the same key into groups; yields the groups that each batch completes. */
export async function* groupRows<Row>(
  batches: AsyncIterable<Row[]>,
  keyOf: (row: Row) => string,
): AsyncGenerator<Row[][]> {
  let open: Row[] = [];
  let openKey = '';
  for await (const rows of batches) {
    const complete: Row[][] = [];
    for (const row of rows) {
      const key = keyOf(row);
      if (open.length > 0 && key !== openKey) {
        complete.push(open);
        open = [];
      }
      openKey = key;
      open.push(row);
    }
    yield complete;
  }
  if (open.length > 0) yield [open];
}
