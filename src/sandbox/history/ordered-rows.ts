/** Row numbers kept in one order while more arrive; position 0 is the first of that order. */
export type OrderedRows = {
  readonly length: number;
  at(position: number): number | undefined;
  add(rows: readonly number[]): void;
  remove(row: number): void;
  [Symbol.iterator](): Iterator<number>;
};

// Up to this many rows, inserting each is cheaper than sorting all again.
const insertsMax = 64;

/**
 * Creates an empty list. `compare` must never return 0 for two different rows. Rows that belong at the end are appended
 * without a search.
 */
export function createOrderedRows(compare: (a: number, b: number) => number): OrderedRows {
  const rows: number[] = [];

  function placeOf(row: number): number {
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(rows[middle] ?? row, row) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function belongsAtEnd(row: number): boolean {
    const last = rows.at(-1);
    return last === undefined || compare(last, row) < 0;
  }

  return {
    get length() {
      return rows.length;
    },
    at: (position) => rows[position],
    add(added) {
      const isMany = added.length > insertsMax;
      let isSorted = true;
      for (const row of added) {
        if (isMany || belongsAtEnd(row)) {
          isSorted &&= belongsAtEnd(row);
          rows.push(row);
        } else rows.splice(placeOf(row), 0, row);
      }
      if (!isSorted) rows.sort(compare);
    },
    remove(row) {
      const place = placeOf(row);
      if (rows[place] === row) rows.splice(place, 1);
    },
    [Symbol.iterator]: () => rows[Symbol.iterator](),
  };
}
