import { isDataError } from '../ledger/connection/postgres-codes.ts';

/** The reason of a reject. */
export const rejectedByPostgres = 'PostgreSQL does not take the row';

/**
 * Finds the rows that PostgreSQL does not take by halving, so that one bad row costs few statements. `store` writes a
 * batch whole or not at all, and may be given a row more than once; it throws anything but a refusal on.
 */
export async function bisectRejectedRows<R>(
  rows: R[],
  store: (batch: R[]) => Promise<unknown>,
): Promise<{ good: R[]; refused: R[] }> {
  try {
    await store(rows);
    return { good: rows, refused: [] };
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (rows.length === 1) return { good: [], refused: rows };
    const half = Math.ceil(rows.length / 2);
    const first = await bisectRejectedRows(rows.slice(0, half), store);
    const second = await bisectRejectedRows(rows.slice(half), store);
    return {
      good: [...first.good, ...second.good],
      refused: [...first.refused, ...second.refused],
    };
  }
}
