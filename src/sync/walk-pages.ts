import { type ListMemory, newCheckpoint } from './list-memory.ts';
import { createPageReader, type ListedPage, type ListSource } from './list-pages.ts';
import type { ListPort } from './list-port.ts';
import { createListReader } from './read-list.ts';
import type { Observed } from './stream-port.ts';
import type { Progress, SyncTools } from './sync-tools.ts';
import { walkList } from './walk-list.ts';

const batchRows = 1_000;

/**
 * Walks over a whole list without touching its checkpoint, and hands its rows on in batches. Returns how many rows
 * the list surely held throughout, by the service's own count (those without a usable key left out), and how many
 * have no usable key.
 */
export async function walkPages<T>(
  tools: SyncTools,
  source: ListSource<T> & { name: string },
  { signal, onProgress }: { signal: AbortSignal; onProgress?: Progress },
  onRows: (rows: Observed<T>[]) => Promise<void>,
): Promise<{ expected: number; unstorable: number }> {
  const { pageSize, concurrency } = tools.settings;
  const pages = createPageReader(source, { askSize: pageSize, concurrency, signal });
  let startTotal: number | null = null;
  const walked = { rows: 0, pages: 0 };
  const port: ListPort = {
    async read(page, upTo, isFresh = false) {
      const facts = await pages.read(page, upTo, isFresh);
      startTotal ??= facts.total;
      return facts;
    },
    prepare: (facts) => async () => {
      signal.throwIfAborted();
      const rows = facts.flatMap((page) =>
        (page as ListedPage<T>).content.records.map((record) => ({
          ...record,
          observation: page.observation,
        })),
      );
      await onRows(rows);
      walked.rows += rows.length;
      walked.pages += facts.length;
      onProgress?.(source.name, walked.rows, memory.serviceTotal ?? startTotal, walked.pages);
      return { inserted: 0, ledgerCount: 0 };
    },
    ranks: null,
    isBatchFull: (rows) => rows >= batchRows,
    shouldPause: () => false,
  };
  const memory: ListMemory = {
    listOrder: null,
    isOrderFixed: false,
    pageSize: null,
    serviceTotal: null,
    ledgerCount: 0,
    checkpoint: newCheckpoint(pageSize),
  };
  try {
    const { unstorable } = await walkList(createListReader(port, memory), false);
    const total = Math.min(startTotal ?? 0, memory.serviceTotal ?? 0);
    return { expected: total - unstorable, unstorable };
  } finally {
    pages.close();
  }
}
