import { allOf } from '../../kernel/all-of.ts';
import type { TransactionRecord } from '../../kernel/wallet-records.ts';
import { unseenTransactions } from '../../ledger/lists/scan-notes-store.ts';
import {
  prepareListedTransactions,
  type TransactionStream,
} from '../../ledger/transactions/store-listed-transactions.ts';
import { addCounts, emptyReport, type PassReport, type SyncTools } from '../sync-tools.ts';
import type { Stream } from './stream-port.ts';
import { type StreamPass, syncStream } from './sync-stream.ts';

export const transactionStreams: TransactionStream[] = ['deposit', 'withdraw'];

/** One pass over the transaction lists (section 4.3 of the service's document), both at once. */
export async function syncTransactions(
  tools: SyncTools,
  pass: StreamPass,
  types: TransactionStream[] = transactionStreams,
): Promise<PassReport> {
  const ended = await allOf(
    types.map((type) => syncStream(tools, transactionStream(tools, type), pass)),
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
  tools: SyncTools,
  type: TransactionStream,
): Stream<TransactionRecord> {
  return {
    name: type,
    hasRanks: true,
    rejectSource: 'transaction-list',
    readPage: (pageNo, pageSize, signal, failuresMax) =>
      tools.client.listTransactions({ type, pageNo, pageSize, failuresMax }, signal),
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
