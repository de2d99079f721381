import { settleAllThenThrow } from '../../kernel/settle-all-then-throw.ts';
import type { Lane } from '../../kernel/ticket.ts';
import { type TransactionType, transactionTypes } from '../../kernel/vocabulary.ts';
import type { TransactionRecord } from '../../kernel/wallet-records.ts';
import { hasConflict, unseenTransactions } from '../../ledger/lists/scan-notes-store.ts';
import { readStreamCounts } from '../../ledger/lists/stream-store.ts';
import { closeUnlistedRejects } from '../../ledger/transactions/close-rejects.ts';
import {
  areListedAsStored,
  prepareListedTransactions,
} from '../../ledger/transactions/store-listed-transactions.ts';
import { timeOfPayload } from '../../service/decoding/decode-payload.ts';
import type { ListSource } from '../list/list-source.ts';
import { addCounts, emptyReport, type SyncContext, type SyncReport } from '../sync-context.ts';
import type { Stream } from './stream.ts';
import { type SyncOptions, syncStream } from './sync-stream.ts';

/**
 * Runs one pass over the transaction lists (docs/wallet-service-api.md, section 4.3), both concurrently. A command,
 * which no other pass follows, runs a second pass if the first has found a row in two lists: the list that the row has
 * left may have been read before the row moved.
 */
export async function syncTransactions(
  context: SyncContext,
  pass: SyncOptions,
  types: TransactionType[] = transactionTypes,
): Promise<SyncReport> {
  const { db } = context.ledger;
  const mayRepeat = pass.effort !== 'daemon' && !(await hasConflict(db));
  const report = await readBothLists(context, pass, types);
  if (report.isComplete || !mayRepeat || !(await hasConflict(db))) return report;
  const repeated = await readBothLists(context, pass, types);
  addCounts(repeated, report);
  return repeated;
}

async function readBothLists(
  context: SyncContext,
  pass: SyncOptions,
  types: TransactionType[],
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
  // A row that was in both lists until the other pass ended is now in one of them.
  if (!report.isComplete && ended.every((one) => one && !one.isPaused))
    report.isComplete = await areProven(context, types);
  if (report.isComplete && ended.some((one) => one?.hasOpenRejects))
    await closeUnlistedRejects(context.ledger.db);
  return report;
}

async function areProven(context: SyncContext, types: TransactionType[]): Promise<boolean> {
  const streams = await readStreamCounts(context.ledger.db);
  const proven = streams.filter(({ isComplete }) => isComplete).map(({ name }) => name);
  return types.every((type) => proven.includes(type));
}

export function transactionStream(
  context: SyncContext,
  type: TransactionType,
  lane: Lane = 'head',
): Stream<TransactionRecord> {
  const readPageIn =
    (own: Lane): ListSource<TransactionRecord>['readPage'] =>
    (pageNo, pageSize, signal, failuresMax, isKnownEmpty) => {
      const query = { type, pageNo, pageSize, failuresMax, isKnownEmpty, lane: own };
      return context.client.listTransactions(query, signal);
    };
  return {
    name: type,
    hasRanks: true,
    rejectSource: 'transaction-list',
    readPage: readPageIn(lane),
    scanPage: {
      first: readPageIn(lane === 'head' ? 'current' : lane),
      further: readPageIn('backlog'),
    },
    keyOf: (record) => record.orderNo,
    timeOf: (record) => record.occurredAt,
    timeOfPayload: (payload) => timeOfPayload(payload, context.clock()),
    unseen: (db, limit) => unseenTransactions(db, type, limit),
    prepareRows: (rows, isScanned) => prepareListedTransactions(type, rows, isScanned),
    areStored: (db, rows) => areListedAsStored(db, type, rows),
    toReject: ({ observation, ...record }, reason) => ({
      source: 'transaction-list',
      orderNo: record.orderNo,
      field: null,
      reason,
      payload: JSON.stringify(record),
    }),
  };
}
