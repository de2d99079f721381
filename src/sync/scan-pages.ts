import { newCheckpoint } from './list-checkpoint.ts';
import { createPageReader, type ListedPage, type ListSource } from './list-pages.ts';
import type { ListPort } from './list-port.ts';
import { createListSession } from './list-session.ts';
import type { ListState } from './list-state.ts';
import { scanList } from './scan-list.ts';
import type { WithObservation } from './stream-port.ts';
import type { Progress, SyncTools } from './sync-tools.ts';

const batchRows = 1_000;

/**
 * Scans a whole list without touching its checkpoint, and hands its rows on in batches. Returns how many rows
 * the list surely held throughout, by the service's own count (those without a usable key left out), and how many
 * have no usable key.
 */
export async function scanPages<T>(
  tools: SyncTools,
  source: ListSource<T> & { name: string },
  { signal, onProgress }: { signal: AbortSignal; onProgress?: Progress },
  onRows: (rows: WithObservation<T>[]) => Promise<void>,
): Promise<{ expected: number; unstorable: number }> {
  const { pageSize, concurrency } = tools.settings;
  const pages = createPageReader(source, { requestedPageSize: pageSize, concurrency, signal });
  let startTotal: number | null = null;
  const scanned = { rows: 0, pages: 0 };
  const port: ListPort<ListedPage<T>> = {
    async read(page, upTo, isFresh = false) {
      const facts = await pages.read(page, upTo, isFresh);
      startTotal ??= facts.total;
      return facts;
    },
    prepare: (batch, state) => async () => {
      signal.throwIfAborted();
      const rows = batch.flatMap((page) =>
        page.content.records.map((record) => ({
          ...record,
          observation: page.observation,
        })),
      );
      await onRows(rows);
      scanned.rows += rows.length;
      scanned.pages += batch.length;
      onProgress?.(source.name, scanned.rows, state.serviceTotal ?? startTotal, scanned.pages);
      return { inserted: 0, ledgerCount: 0 };
    },
    ranks: null,
    isBatchFull: (rows) => rows >= batchRows,
    shouldPause: () => false,
  };
  const initial: ListState = {
    listOrder: null,
    isOrderFixed: false,
    pageSize: null,
    serviceTotal: null,
    ledgerCount: 0,
    isBacked: false,
    acceptedDifference: 0,
    checkpoint: newCheckpoint(pageSize),
  };
  try {
    const session = createListSession(port, initial);
    const { unstorable } = await scanList(session, false);
    const total = Math.min(startTotal ?? 0, session.state.serviceTotal ?? 0);
    return { expected: total - unstorable, unstorable };
  } finally {
    pages.close();
  }
}
