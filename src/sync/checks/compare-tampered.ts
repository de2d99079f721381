import { isOfRequest } from '../../kernel/errors.ts';
import { compareDetails } from '../../ledger/lists/verify-store.ts';
import type { RowDifference } from '../../ledger/row-difference.ts';
import { closeAnsweredRejects } from '../../ledger/transactions/close-rejects.ts';
import {
  type DetailedTransaction,
  storeTransactionDetails,
} from '../../ledger/transactions/store-transaction-details.ts';
import { findingByKey } from '../../ledger/transactions/transaction-statement.ts';
import type { SyncContext } from '../sync-context.ts';

/**
 * Fetches details and returns the fields in which the ledger's rows differ. With `isRepair` stores the rows again from
 * the service's answers. A row without a detail from the service is left unchanged.
 */
export async function compareAltered(
  context: SyncContext,
  orderNos: string[],
  { signal, isRepair }: { signal: AbortSignal; isRepair: boolean },
): Promise<RowDifference[]> {
  const rows = await fetchDetails(context, orderNos, signal);
  const different = await compareDetails(context.ledger.db, rows);
  if (isRepair) {
    await context.ledger.transaction(async (db) => {
      await storeTransactionDetails(db, rows);
      await closeAnsweredRejects(db, 'transaction-detail', rows);
    }, findingByKey);
  }
  return different;
}

/** Fetches the details of the orders, without those that the service does not give. */
export async function fetchDetails(
  context: SyncContext,
  orderNos: string[],
  signal: AbortSignal,
): Promise<DetailedTransaction[]> {
  const fetched = await Promise.all(
    orderNos.map(async (orderNo) => {
      const { records, observation } = await context.client
        .getTransaction(orderNo, signal)
        .catch(noDetail);
      return records.map((record) => ({ ...record, observation }));
    }),
  );
  return fetched.flat();
}

/** Returns no detail if the error concerns this row only, so that the comparison of the other rows continues. */
function noDetail(error: unknown): { records: []; observation: number } {
  if (!isOfRequest(error)) throw error;
  return { records: [], observation: 0 };
}
