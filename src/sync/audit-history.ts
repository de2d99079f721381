import { toError } from '../kernel/errors.ts';
import type { TransactionRecord } from '../kernel/wallet-records.ts';
import type { TransactionStream } from '../ledger/store-listed-transactions.ts';
import { recheckAltered } from '../ledger/store-transaction-details.ts';
import { leaseStream, newLeaseOwner, releaseStream } from '../ledger/stream-store.ts';
import { recountStream } from '../ledger/verify-store.ts';
import { unlistVanished } from './find-vanished.ts';
import type { ListedPage } from './list-pages.ts';
import { createListSession, type ListSession } from './list-session.ts';
import { isOrdered, type ListState, lastPage, withCheckpoint } from './list-state.ts';
import { openStreamPort, stateOf } from './stream-port.ts';
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
  const state = stateOf(row, tools);
  const stream = transactionStream(tools, type);
  const { port, report, close } = openStreamPort(
    tools,
    stream,
    { signal, sliceMs: null },
    { state, owner },
  );
  let failure: string | null = null;
  let hasUnknownSurplus = false;
  try {
    // Before the first walk has ended there is nothing to audit.
    if (state.isBacked) {
      const session = createListSession(port, state);
      hasUnknownSurplus = isSurplusNew(state) && !isOrdered(state);
      session.apply(withCheckpoint(state, { auditedSurplus: surplusOf(state) }));
      await auditSlice(tools, session);
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

function surplusOf({ ledgerCount, serviceTotal }: ListState): number {
  return Math.max(0, ledgerCount - (serviceTotal ?? ledgerCount));
}

/** The ledger holds more than the list counts, and no audit has looked into just this difference. */
function isSurplusNew(state: ListState): boolean {
  return surplusOf(state) > 0 && surplusOf(state) !== state.checkpoint.auditedSurplus;
}

async function auditSlice(
  tools: SyncTools,
  session: ListSession<ListedPage<TransactionRecord>>,
): Promise<void> {
  let look: ListedPage<TransactionRecord>[] = [];
  for (const { page, nextAuditPage } of auditPages(session.state, tools.settings.auditShare)) {
    const isNeighbour = look.at(-1)?.page === page - 1;
    if (!isNeighbour || look.length === lookPages) {
      await unlistVanished(session, look);
      look = isNeighbour ? look.slice(-1) : [];
    }
    const facts = await session.read(page);
    if (nextAuditPage !== undefined)
      session.apply(withCheckpoint(session.state, { auditPage: nextAuditPage }));
    await session.store([facts]);
    await recheckAltered(tools.ledger.db, orderNosOf(facts));
    look.push(facts);
  }
  await unlistVanished(session, look);
}

function orderNosOf({ content }: ListedPage<TransactionRecord>): string[] {
  return content.records.map(({ orderNo }) => orderNo);
}

/**
 * The growing end's pages, then the slice that is due and one page of the next one, so that no seam between two
 * slices stays unseen; the slice begins anew after the last page. Pure.
 */
export function auditPages(
  state: ListState,
  share: number,
): { page: number; nextAuditPage?: number }[] {
  const last = lastPage(state);
  const count = Math.min(last, Math.max(1, Math.ceil(last * share)));
  const isOldestFirst = state.listOrder === 'oldest-first';
  const { auditPage } = state.checkpoint;
  const start = auditPage > last ? 1 : auditPage;
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
