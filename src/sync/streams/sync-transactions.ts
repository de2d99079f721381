import { settleAllThenThrow } from '../../kernel/settle-all-then-throw.ts';
import type { TransactionRecord } from '../../kernel/wallet-records.ts';
import { unseenTransactions } from '../../ledger/lists/scan-notes-store.ts';
import {
  prepareListedTransactions,
  type TransactionStream,
} from '../../ledger/transactions/store-listed-transactions.ts';
import { addCounts, emptyReport, type SyncContext, type SyncReport } from '../sync-context.ts';
import type { Stream } from './stream-port.ts';
import { type SyncOptions, syncStream } from './sync-stream.ts';

export const transactionStreams: TransactionStream[] = ['deposit', 'withdraw'];

/** Runs one pass over the transaction lists (section 4.3 of the service's document), both concurrently. */
export async function syncTransactions(
  context: SyncContext,
  pass: SyncOptions,
  types: TransactionStream[] = transactionStreams,
): Promise<SyncReport> {
  const ended = await settleAllThenThrow(
    types.map((type) => syncStream(context, transactionStream(context, type), pass)),
  );
  const report = emptyReport();
  for (const one of ended) {
    if (!one) continue;
    addCounts(report, one);
    report.isComplete &&= one.isComplete;
  }
  return report;
}

export function transactionStream(
  context: SyncContext,
  type: TransactionStream,
): Stream<TransactionRecord> {
  return {
    name: type,
    hasRanks: true,
    rejectSource: 'transaction-list',
    readPage: (pageNo, pageSize, signal, failuresMax) =>
      context.client.listTransactions({ type, pageNo, pageSize, failuresMax }, signal),
    keyOf: (record) => record.orderNo,
    timeOf: (record) => record.occurredAt,
    unseen: (db, limit) => unseenTransactions(db, type, limit),
    prepareRows: (rows) => prepareListedTransactions(type, rows),
    toReject: ({ observation, ...record }, reason) => ({
      source: 'transaction-list',
      orderNo: record.orderNo,
      field: null,
      reason,
      payload: JSON.stringify(record),
    }),
  };
}
