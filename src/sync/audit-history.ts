import { toError } from '../kernel/errors.ts';
import type { TransactionRecord } from '../kernel/wallet-records.ts';
import {
  storeListedTransactions,
  type TransactionStream,
} from '../ledger/store-listed-transactions.ts';
import { leaseStream, releaseStream, saveStream } from '../ledger/stream-store.ts';
import { recountStream } from '../ledger/verify-store.ts';
import { type ListMemory, lastPage } from './list-memory.ts';
import { createPageReader, type ListedPage } from './list-pages.ts';
import { memoryOf } from './sync-stream.ts';
import { emptyReport, type PassReport, type SyncTools } from './sync-tools.ts';
import { transactionStream, transactionStreams } from './sync-transactions.ts';

/**
 * Reads a slice of the whole history again and stores it: late changes of old rows, final ones too, are found and
 * logged, and rows that someone took out of the ledger come back. Each run goes on where the last one stopped
 * (`auditPage` in the stream's checkpoint), and reads as many pages at the list's growing end, so that the newest
 * rows are seen again most often. Rows that the service no longer lists are `verify`'s to find.
 */
export async function auditHistory(tools: SyncTools, signal: AbortSignal): Promise<PassReport> {
  const report = emptyReport();
  for (const type of transactionStreams) await auditStream(tools, type, signal, report);
  return report;
}

async function auditStream(
  tools: SyncTools,
  type: TransactionStream,
  signal: AbortSignal,
  report: PassReport,
): Promise<void> {
  const { db, instance } = tools.ledger;
  const row = await leaseStream(db, type, instance);
  if (!row) return;
  let failure: string | null = null;
  try {
    const memory = memoryOf(row, tools);
    // Before the first walk has ended there is nothing to audit.
    if (memory.checkpoint.gap !== null) await auditSlice(tools, type, memory, signal, report);
  } catch (error) {
    failure = toError(error).message;
    throw error;
  } finally {
    await releaseStream(db, type, instance, failure).catch(() => undefined);
  }
}

async function auditSlice(
  tools: SyncTools,
  type: TransactionStream,
  memory: ListMemory,
  signal: AbortSignal,
  report: PassReport,
): Promise<void> {
  const source = transactionStream(tools, type);
  const { askSize, auditPage } = memory.checkpoint;
  const reader = createPageReader(source, {
    askSize,
    concurrency: tools.settings.concurrency,
    signal,
  });
  try {
    for (const { page, nextAuditPage } of auditPages(memory, tools.settings.auditShare)) {
      const facts = await reader.read(page, page, false);
      memory.checkpoint.auditPage = nextAuditPage ?? memory.checkpoint.auditPage ?? auditPage ?? 1;
      await storePage(tools, type, memory, facts, report);
    }
  } finally {
    reader.close();
  }
}

/** The growing end's pages, then the slice that is due; the slice begins anew after the last page. Pure. */
export function auditPages(
  memory: ListMemory,
  share: number,
): { page: number; nextAuditPage?: number }[] {
  const last = lastPage(memory);
  const count = Math.min(last, Math.max(1, Math.ceil(last * share)));
  const isOldestFirst = memory.listOrder === 'oldest-first';
  const start = (memory.checkpoint.auditPage ?? 1) > last ? 1 : (memory.checkpoint.auditPage ?? 1);
  const ends = Array.from({ length: count }, (_, index) => ({
    page: isOldestFirst ? last - index : index + 1,
  }));
  const slice = Array.from({ length: count }, (_, index) => {
    const page = ((start - 1 + index) % last) + 1;
    return { page, nextAuditPage: (page % last) + 1 };
  });
  const inSlice = new Set(slice.map(({ page }) => page));
  return [...ends.filter(({ page }) => !inSlice.has(page)), ...slice];
}

async function storePage(
  tools: SyncTools,
  type: TransactionStream,
  memory: ListMemory,
  { content, observation }: ListedPage<TransactionRecord>,
  report: PassReport,
): Promise<void> {
  const { ledger } = tools;
  await ledger.transaction(async (db) => {
    const rows = content.records.map((record) => ({ ...record, observation }));
    const stored = await storeListedTransactions(db, type, rows);
    await saveStream(db, type, ledger.instance, { ...memory, isVouched: true, hasWalked: false });
    // A known page that brings rows: the table was changed from outside, and the count may be, too.
    if (stored.inserted > 0) await recountStream(db, type);
    report.rowsSeen += rows.length;
    report.rowsInserted += stored.inserted;
    report.rowsUpdated += stored.updated;
  });
}
