import type { TransactionRow } from './transaction-row.ts';

/** Rows by time; those of equal times in the order of arrival. */
export type OrderedList = {
  readonly rows: readonly TransactionRow[];
  add(row: TransactionRow): void;
  remove(row: TransactionRow): void;
};

export function createOrderedList(): OrderedList {
  const rows: TransactionRow[] = [];
  return {
    rows,
    add(row) {
      const last = rows.at(-1);
      if (!last || last.timeMs <= row.timeMs) rows.push(row);
      else rows.splice(placeAfter(rows, row.timeMs), 0, row);
    },
    remove(row) {
      const place = rows.indexOf(row);
      if (place >= 0) rows.splice(place, 1);
    },
  };
}

function placeAfter(rows: readonly TransactionRow[], timeMs: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rows[middle]?.timeMs ?? 0) <= timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
