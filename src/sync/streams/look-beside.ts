import { LedgerError } from '../../kernel/errors.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { isDataError } from '../../ledger/connection/postgres-codes.ts';
import { saveEvenTotal } from '../../ledger/lists/stream-state-store.ts';
import { hasRow, readListHead } from '../../ledger/lists/stream-store.ts';
import { findingByKey } from '../../ledger/transactions/transaction-statement.ts';
import { hasEndedScan, parseCheckpoint } from '../list/list-checkpoint.ts';
import { emptyReport, type SyncContext, type SyncReport } from '../sync-context.ts';
import type { Stream, WithObservation } from './stream.ts';

/** Rolls back a write after which the counts are not equal. */
class UnevenCount extends Error {}

/**
 * Stores the first page of a list that another pass reads, so that new rows need not wait for that pass. Returns null
 * if it has stored nothing. That is so if the list does not begin with its newest rows, if the page cannot be read or
 * stored as it is, or if there may be more new rows than it shows: only a page that ends with a known row hides none
 * from the next pass.
 *
 * The list's state stays as it is, because it belongs to the other pass. Only the page's total is stored with the rows
 * that it counts, and the other pass keeps it unless its own total comes from a later answer. Nothing is stored if a
 * proof rests on the counts and rows are missing elsewhere.
 */
export async function lookBeside<T>(
  { ledger, settings }: SyncContext,
  stream: Stream<T>,
  signal: AbortSignal,
): Promise<SyncReport | null> {
  const head = await readListHead(ledger.db, stream.name);
  const listOrder = settings.listOrder ?? head?.listOrder;
  if (!head?.pageSize || listOrder !== 'newest-first' || !stream.hasRanks) return null;
  const page = await stream.readPage(1, head.pageSize, signal, 1).catch((error: unknown) => {
    if (error instanceof LedgerError && !signal.aborted) return null;
    throw error;
  });
  const last = page?.records.at(-1);
  if (!page || !last || page.rejects.length > 0) return null;
  if ((page.pageNo ?? 1) !== 1 || !(await hasRow(ledger.db, stream.name, stream.keyOf(last))))
    return null;
  const { observation } = page;
  const rows = page.records.map((record): WithObservation<T> => ({ ...record, observation }));
  const report = { ...emptyReport(), rowsSeen: rows.length };
  if (await stream.areStored?.(ledger.db, rows)) return report;
  const checkpoint = parseCheckpoint(head.checkpoint);
  const store = stream.prepareRows(rows, checkpoint !== null && hasEndedScan(checkpoint));
  const reported = { serviceTotal: page.totalSize, totalObservation: observation };
  const storeEven = async (db: LedgerDb) => {
    const stored = await store(db);
    if (!(await saveEvenTotal(db, stream.name, reported))) throw new UnevenCount();
    return stored;
  };
  const stored = await ledger.transaction(storeEven, findingByKey).catch((error: unknown) => {
    if (error instanceof UnevenCount || isDataError(error)) return null;
    throw error;
  });
  return stored && { ...report, rowsInserted: stored.inserted, rowsUpdated: stored.updated };
}
