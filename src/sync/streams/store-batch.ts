import { LedgerError } from '../../kernel/errors.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import { isDataError } from '../../ledger/connection/postgres-codes.ts';
import { compareDays } from '../../ledger/lists/coverage-store.ts';
import { noteKeys } from '../../ledger/lists/scan-notes-store.ts';
import { closeAnsweredRejects } from '../../ledger/transactions/close-rejects.ts';
import { storeRejects } from '../../ledger/transactions/reject-store.ts';
import { findingByKey } from '../../ledger/transactions/transaction-statement.ts';
import { bisectRejectedRows, rejectedByPostgres } from '../bisect-rejected-rows.ts';
import { hasEndedScan } from '../list/list-checkpoint.ts';
import type { ListedPage } from '../list/list-pages.ts';
import type { AfterFinding, Batch, Found } from '../list/list-port.ts';
import type { ListState } from '../list/list-state.ts';
import type { SyncContext } from '../sync-context.ts';
import type { SaveState } from './save-state.ts';
import type { Stream, WithObservation } from './stream.ts';

type StoredBatch = Found & { updated: number } & Awaited<ReturnType<SaveState>>;

type Writing<T> = { batch: Batch<ListedPage<T>>; rows: WithObservation<T>[]; state: ListState };

/**
 * Prepares a write of rows, rejects, days, notes and checkpoint in one transaction, which may start more than once. A
 * row that PostgreSQL refuses becomes a reject. A page that a poll finds unchanged needs no transaction.
 */
export function prepareBatch<T>(
  { ledger }: SyncContext,
  stream: Stream<T>,
  { batch, rows, state }: Writing<T>,
  save: SaveState,
): (afterFinding: AfterFinding) => Promise<StoredBatch> {
  const rejects = batch.pages.flatMap(({ content }) => content.rejects);
  const noted = state.checkpoint.walk?.notesKeys ? batch.pages.flatMap(({ keys }) => keys) : [];
  const isScanned = hasEndedScan(state.checkpoint);
  const prepareAll = (good: WithObservation<T>[], refused: Reject[]) => {
    const storeRows = stream.prepareRows(good, isScanned);
    return (afterFinding: AfterFinding) =>
      ledger.transaction(async (db) => {
        const { hasOpenRejects, ...counts } = await storeRows(db);
        await storeRejects(db, [...rejects, ...refused]);
        if (hasOpenRejects)
          await closeAnsweredRejects(db, stream.rejectSource, good, [...rejects, ...refused]);
        await noteKeys(db, stream.name, noted);
        const differingDays = batch.days ? await compareDays(db, stream.name, batch.days) : [];
        const found = { ...counts, differingDays };
        return { ...found, ...(await save(db, afterFinding(found))) };
      }, findingByKey);
  };
  const isPoll = batch.pages.length === 1 && !batch.days && !state.checkpoint.walk;
  const mayBeStored = isPoll && rejects.length === 0 && rows.length > 0;
  const prepared = mayBeStored ? null : prepareAll(rows, []);
  /** Saves the checkpoint alone if the page shows nothing new; null: a transaction has to store the page. */
  const saveAlone = async (afterFinding: AfterFinding) => {
    if (!mayBeStored || !(await stream.areStored?.(ledger.db, rows))) return null;
    const found = { inserted: 0, updated: 0, differingDays: [] };
    return { ...found, ...(await save(ledger.db, afterFinding(found))) };
  };
  return async (afterFinding) => {
    const saved = await saveAlone(afterFinding).catch(unlessTakenOver);
    if (saved) return saved;
    try {
      return await (prepared ?? prepareAll(rows, []))(afterFinding);
    } catch (error) {
      if (!isDataError(error)) throw error;
      const { good, refused } = await bisectRejectedRows(rows, (some) =>
        ledger.transaction(stream.prepareRows(some, isScanned), findingByKey),
      );
      return await prepareAll(
        good,
        refused.map((row) => stream.toReject(row, rejectedByPostgres)),
      )(afterFinding);
    }
  };
}

/** Leaves a failure to the transaction, which is retried, unless another pass now has the list. */
function unlessTakenOver(error: unknown): null {
  if (error instanceof LedgerError) throw error;
  return null;
}
