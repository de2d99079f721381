import { isOfRequest } from '../../kernel/errors.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import { compareDetails } from '../../ledger/lists/verify-store.ts';
import type { RowDifference } from '../../ledger/row-difference.ts';
import { closeAnsweredRejects } from '../../ledger/transactions/close-rejects.ts';
import { storeRejects } from '../../ledger/transactions/reject-store.ts';
import {
  type DetailedTransaction,
  storeTransactionDetails,
} from '../../ledger/transactions/store-transaction-details.ts';
import { findingByKey } from '../../ledger/transactions/transaction-statement.ts';
import type { SyncContext } from '../sync-context.ts';

/**
 * Fetches details and returns the fields in which the ledger's rows differ. With `isRepair` stores the rows again from
 * the service's answers. A row without a detail from the service is left unchanged. Stores the rejects of the details,
 * and resolves those of rows that equal them.
 */
export async function compareAltered(
  context: SyncContext,
  orderNos: string[],
  { signal, isRepair }: { signal: AbortSignal; isRepair: boolean },
): Promise<RowDifference[]> {
  const { rows, rejects } = await fetchDetails(context, orderNos, signal);
  const different = await compareDetails(context.ledger.db, rows);
  const differing = new Set(different.map(({ orderNo }) => orderNo));
  const equal = isRepair ? rows : rows.filter(({ orderNo }) => !differing.has(orderNo));
  await context.ledger.transaction(async (db) => {
    if (isRepair) await storeTransactionDetails(db, rows);
    await storeRejects(db, rejects);
    await closeAnsweredRejects(db, 'transaction-detail', equal, rejects);
  }, findingByKey);
  return different;
}

/** Fetches the details of the orders; leaves out those that the service does not give. */
export async function fetchDetails(
  context: SyncContext,
  orderNos: string[],
  signal: AbortSignal,
): Promise<{ rows: DetailedTransaction[]; rejects: Reject[] }> {
  const fetched = await Promise.all(
    orderNos.map(async (orderNo) => {
      const { records, rejects, observation } = await context.client
        .getTransaction(orderNo, signal)
        .catch(noDetail);
      return { rows: records.map((record) => ({ ...record, observation })), rejects };
    }),
  );
  return {
    rows: fetched.flatMap(({ rows }) => rows),
    rejects: fetched.flatMap(({ rejects }) => rejects),
  };
}

/** Returns no detail if the error concerns this row only, so that the comparison of the other rows continues. */
function noDetail(error: unknown): { records: []; rejects: []; observation: number } {
  if (!isOfRequest(error)) throw error;
  return { records: [], rejects: [], observation: 0 };
}
