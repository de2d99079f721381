import { isDataError } from '../ledger/connection/postgres-codes.ts';

/** Reason that is stored with a reject. */
export const rejectedByPostgres = 'PostgreSQL refuses the row';

/**
 * Finds the rows that PostgreSQL refuses by bisection, so that one bad row costs few statements. `store` writes a batch
 * completely or not at all, and may get a row more than once. Rethrows every error that is not a refusal of the data.
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
