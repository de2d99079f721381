import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import type { Reject } from '../../kernel/wallet-records.ts';
import { storeRejects } from '../../ledger/transactions/reject-store.ts';
import { newCheckpoint, type WalkProgress } from '../list/list-checkpoint.ts';
import { createPageReader, type ListedPage, type ListSource } from '../list/list-pages.ts';
import type { ListPort, ScanNotes } from '../list/list-port.ts';
import { createListSession } from '../list/list-session.ts';
import type { ListState } from '../list/list-state.ts';
import { scanList } from '../list/scan-list.ts';
import { withMissingSizes } from '../streams/missing-size.ts';
import { refuseNothing } from '../streams/refuse-nothing.ts';
import type { WithObservation } from '../streams/stream.ts';
import type { Progress, SyncContext } from '../sync-context.ts';

const batchRows = 1_000;

const nothingStored = { inserted: 0, ledgerCount: 0, guests: 0, conflicts: 0, differingDays: [] };

/** Notes that store nothing: this scan compares the rows itself. */
const noNotes: ScanNotes = {
  begin: async () => undefined,
  count: async () => 0,
  unseen: async () => [],
  dropUnseenGuests: async () => nothingStored,
  verifyAll: async () => nothingStored,
};

/**
 * A scan of a whole list. `expected`: number of rows with a usable key that the list had throughout, by the service's
 * count. Its walk `isClean` if every boundary between two pages was consistent. `isEndRefused`: the service refused the
 * page where the list may end, so it may have rows that were not read.
 */
export type PagesScan = {
  expected: number;
  walk: WalkProgress;
  state: ListState;
  isEndRefused: boolean;
};

/**
 * Scans a whole list without changing its checkpoint, and passes its rows to `onRows` in batches. Stores the rejects of
 * each batch first, as a pass does.
 */
export async function scanPages<T>(
  context: SyncContext,
  source: ListSource<T> & { name: string },
  { signal, onProgress }: { signal: AbortSignal; onProgress?: Progress },
  onRows: (rows: WithObservation<T>[], rejects: Reject[]) => Promise<void>,
): Promise<PagesScan> {
  const { pageSize, concurrency } = context.settings;
  const sized = withMissingSizes(source, { requested: pageSize, learned: null });
  const pages = createPageReader(sized, { requestedPageSize: pageSize, concurrency, signal });
  let startTotal: number | null = null;
  const scanned = { rows: 0, pages: 0 };
  const port: ListPort<ListedPage<T>> = {
    async read(page, upTo, isFresh = false) {
      const facts = await pages.read(page, upTo, isFresh);
      await refuseNothing(context.ledger.db, source.name, facts);
      startTotal ??= facts.total;
      return facts;
    },
    readSized: pages.readSized,
    prepare:
      ({ pages: batch }, state) =>
      async () => {
        signal.throwIfAborted();
        const rows = batch.flatMap((page) =>
          page.content.records.map((record) => ({
            ...record,
            observation: page.observation,
          })),
        );
        const rejects = batch.flatMap(({ content }) => content.rejects);
        await storeRejects(context.ledger.db, rejects);
        await onRows(rows, rejects);
        scanned.rows += rows.length;
        scanned.pages += batch.length;
        onProgress?.(source.name, scanned.rows, state.serviceTotal ?? startTotal, scanned.pages);
        return { ...nothingStored, ledgerCount: scanned.rows };
      },
    ranks: null,
    notes: noNotes,
    unlist: null,
    isBatchFull: (rows) => rows >= batchRows,
    shouldPause: () => false,
    now: context.clock,
    wait: (ms) => abortableSleep(ms, signal),
  };
  try {
    const session = createListSession(port, unreadState(pageSize));
    const begin = { isSequential: false, hadMismatch: false };
    const { walk, isEndRefused } = await scanList(session, begin);
    const { state } = session;
    const total = Math.min(startTotal ?? 0, state.serviceTotal ?? 0);
    return { expected: total - walk.unstorable, walk, state, isEndRefused };
  } finally {
    pages.close();
  }
}

/** Returns the state of a list that was never read. */
function unreadState(pageSize: number): ListState {
  return {
    listOrder: null,
    isOrderFixed: false,
    pageSize: null,
    serviceTotal: null,
    ledgerCount: 0,
    guests: 0,
    conflicts: 0,
    passes: 0,
    isBacked: false,
    acceptedDifference: 0,
    totalObservation: 0,
    checkpoint: newCheckpoint(pageSize),
  };
}
