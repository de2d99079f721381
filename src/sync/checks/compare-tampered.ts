import { LedgerError } from '../../kernel/errors.ts';
import { compareDetails, type RowDifference } from '../../ledger/lists/verify-store.ts';
import { storeTransactionDetails } from '../../ledger/transactions/store-transaction-details.ts';
import type { SyncContext } from '../sync-context.ts';

/**
 * Fetches the details of rows that somebody else has written since they were stored, and names the fields of a
 * detail that differ; with `isRepair` the rows are stored again as the service says. A row whose detail the service
 * does not give is left as it is.
 */
export async function compareAltered(
  context: SyncContext,
  orderNos: string[],
  { signal, isRepair }: { signal: AbortSignal; isRepair: boolean },
): Promise<RowDifference[]> {
  const fetched = await Promise.all(
    orderNos.map(async (orderNo) => {
      const { records, observation } = await context.client
        .getTransaction(orderNo, signal)
        .catch(noDetail);
      return records.map((record) => ({ ...record, observation }));
    }),
  );
  const rows = fetched.flat();
  const different = await compareDetails(context.ledger.db, rows);
  if (isRepair) {
    await context.ledger.transaction((db) => storeTransactionDetails(db, rows));
  }
  return different;
}

/** What speaks of this one row only must not end the comparison of all. */
function noDetail(error: unknown): { records: []; observation: number } {
  const isRowsOwn =
    error instanceof LedgerError &&
    ['service-refused', 'service-unsettled', 'service-malformed'].includes(error.code);
  if (!isRowsOwn) throw error;
  return { records: [], observation: 0 };
}
