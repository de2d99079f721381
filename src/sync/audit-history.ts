import { toError } from '../kernel/errors.ts';
import type { TransactionRecord } from '../kernel/wallet-records.ts';
import type { TransactionStream } from '../ledger/store-listed-transactions.ts';
import { recheckAltered } from '../ledger/store-transaction-details.ts';
import { leaseStream, newLeaseOwner, releaseStream } from '../ledger/stream-store.ts';
import { recountStream } from '../ledger/verify-store.ts';
import { unlistVanished } from './find-vanished.ts';
import { isOrdered, type ListMemory, lastPage, type PageFacts } from './list-memory.ts';
import type { ListedPage } from './list-pages.ts';
import type { ListReader } from './list-port.ts';
import { createListReader } from './read-list.ts';
import { memoryOf, openStreamPort } from './stream-port.ts';
import { addCounts, emptyReport, type PassReport, type SyncTools } from './sync-tools.ts';
import { transactionStream, transactionStreams } from './sync-transactions.ts';
import { verifyTransactions } from './verify-transactions.ts';

/** Pages that are looked at together for rows that are gone; each look shares a page with the next. */
const lookPages = 50;

/**
 * Reads a slice of the whole history again and stores it: late changes of old rows, final ones too, are found and
 * logged, rows that someone took out of the ledger come back, rows that someone wrote have their detail fetched again, and rows that an ordered list no longer shows are
 * marked as unlisted. Each run goes on where the last one stopped (`auditPage` in the stream's checkpoint), and
 * reads as many pages at the list's growing end, so that the newest rows are seen again most often.
 */
export async function auditHistory(tools: SyncTools, signal: AbortSignal): Promise<PassReport> {
  const report = emptyReport();
  for (const type of transactionStreams) {
    const audited = await auditStream(tools, type, signal);
    if (!audited) continue;
    addCounts(report, audited.report);
    // What has vanished from a list without an order shows only when it is read as a whole.
    if (audited.hasUnknownSurplus)
      await verifyTransactions(tools, type, { signal, isRepair: true });
  }
  return report;
}

async function auditStream(
  tools: SyncTools,
  type: TransactionStream,
  signal: AbortSignal,
): Promise<{ report: PassReport; hasUnknownSurplus: boolean } | undefined> {
  const { db, instance } = tools.ledger;
  // The table may have been changed from outside, and the count with it.
  await recountStream(db, type);
  const owner = newLeaseOwner(instance);
  const row = await leaseStream(db, type, owner);
  if (!row) return undefined;
  const memory = memoryOf(row, tools);
  const stream = transactionStream(tools, type);
  const { port, report, close } = openStreamPort(
    tools,
    stream,
    { signal, sliceMs: null },
    { memory, owner },
  );
  let failure: string | null = null;
  let hasUnknownSurplus = false;
  try {
    // Before the first walk has ended there is nothing to audit.
    if (memory.checkpoint.gap !== null) {
      hasUnknownSurplus = noteSurplus(memory);
      await auditSlice(tools, createListReader(port, memory));
    }
  } catch (error) {
    failure = toError(error).message;
    throw error;
  } finally {
    close();
    await releaseStream(db, type, owner, failure).catch(() => undefined);
  }
  return { report, hasUnknownSurplus };
}

/** Whether the ledger holds more than an unordered list counts, and nobody has looked into just this yet. */
function noteSurplus({ checkpoint, ...memory }: ListMemory): boolean {
  const surplus = Math.max(0, memory.ledgerCount - (memory.serviceTotal ?? memory.ledgerCount));
  const isNew = surplus > 0 && surplus !== checkpoint.auditedSurplus;
  checkpoint.auditedSurplus = surplus;
  return isNew && !isOrdered({ checkpoint, ...memory });
}

async function auditSlice(tools: SyncTools, reader: ListReader): Promise<void> {
  const { memory } = reader;
  let look: PageFacts[] = [];
  for (const { page, nextAuditPage } of auditPages(memory, tools.settings.auditShare)) {
    const isNeighbour = look.at(-1)?.page === page - 1;
    if (!isNeighbour || look.length === lookPages) {
      await unlistVanished(reader, look);
      look = isNeighbour ? look.slice(-1) : [];
    }
    const facts = await reader.read(page);
    memory.checkpoint.auditPage = nextAuditPage ?? memory.checkpoint.auditPage ?? 1;
    await reader.store([facts]);
    await recheckAltered(tools.ledger.db, orderNosOf(facts));
    look.push(facts);
  }
  await unlistVanished(reader, look);
}

function orderNosOf(facts: PageFacts): string[] {
  return (facts as ListedPage<TransactionRecord>).content.records.map(({ orderNo }) => orderNo);
}

/**
 * The growing end's pages, then the slice that is due and one page of the next one, so that no seam between two
 * slices stays unseen; the slice begins anew after the last page. Pure.
 */
export function auditPages(
  memory: ListMemory,
  share: number,
): { page: number; nextAuditPage?: number }[] {
  const last = lastPage(memory);
  const count = Math.min(last, Math.max(1, Math.ceil(last * share)));
  const isOldestFirst = memory.listOrder === 'oldest-first';
  const start = (memory.checkpoint.auditPage ?? 1) > last ? 1 : (memory.checkpoint.auditPage ?? 1);
  const ends = Array.from({ length: count }, (_, index) => ({
    page: isOldestFirst ? last - count + 1 + index : index + 1,
  }));
  const nextAuditPage = ((start - 1 + count) % last) + 1;
  const slice = Array.from({ length: Math.min(last, count + 1) }, (_, index) => {
    const page = ((start - 1 + index) % last) + 1;
    return { page, nextAuditPage: index < count ? (page % last) + 1 : nextAuditPage };
  });
  const inSlice = new Set(slice.map(({ page }) => page));
  return [...ends.filter(({ page }) => !inSlice.has(page)), ...slice];
}
