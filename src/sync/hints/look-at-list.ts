import { toError } from '../../kernel/errors.ts';
import type { TransactionType } from '../../kernel/vocabulary.ts';
import { endLook, takeLook } from '../../ledger/hint-store.ts';
import { dropLease, leaseStream, newLeaseOwner } from '../../ledger/lists/lease-store.ts';
import { releaseStream } from '../../ledger/lists/stream-store.ts';
import { glanceAtList } from '../list/glance-list.ts';
import { freeList } from '../streams/lease-list.ts';
import { openStreamPort, stateOf } from '../streams/stream-port.ts';
import { transactionStream } from '../streams/sync-transactions.ts';
import { emptyReport, type SyncContext, type SyncReport } from '../sync-context.ts';

/**
 * Serves the waiting hints of a list: reads the end at which it grows. Returns null while another pass reads the list.
 * Hints are taken under the list's lease, so no two processes read the list for the same hint, or during another pass.
 * After a failure the hints are taken again later.
 */
export async function lookAtList(
  context: SyncContext,
  list: TransactionType,
  signal: AbortSignal,
): Promise<SyncReport | null> {
  const { ledger } = context;
  const owner = newLeaseOwner(ledger.instance);
  let ids: number[] = [];
  try {
    const row = await leaseStream(ledger.db, list, owner);
    if (!row) return null;
    ids = await takeLook(ledger.db, list);
    if (ids.length === 0) {
      await dropLease(ledger.db, list, owner);
      return emptyReport();
    }
    const { requests, report } = await glance(context, list, { row, owner, signal });
    if (requests === 0) await dropLease(ledger.db, list, owner);
    else await releaseStream(ledger.db, list, owner, null);
    const pagesOfNews = Math.ceil(report.rowsInserted / context.settings.pageSize);
    await endLook(ledger.db, list, { ids, fruitless: requests - pagesOfNews });
    return report;
  } catch (error) {
    await freeList(context, list, owner, toError(error));
    await endLook(ledger.db, list, { ids, fruitless: null }).catch(() => undefined);
    throw error;
  }
}

type Glance = {
  row: NonNullable<Awaited<ReturnType<typeof leaseStream>>>;
  owner: string;
  signal: AbortSignal;
};

async function glance(
  context: SyncContext,
  list: TransactionType,
  { row, owner, signal }: Glance,
): Promise<{ requests: number; report: SyncReport }> {
  const state = stateOf(row, context);
  const stream = transactionStream(context, list);
  const options = { signal, sliceMs: null };
  const { port, report, close } = openStreamPort(context, stream, options, { state, owner, row });
  try {
    return { ...(await glanceAtList(port, state)), report };
  } finally {
    close();
  }
}
