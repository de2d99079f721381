import { LedgerError } from '../kernel/errors.ts';
import { inSpan } from '../kernel/in-span.ts';
import type { Reject } from '../kernel/wallet-records.ts';
import type { LedgerDb } from '../ledger/connect-ledger.ts';
import { isDataError } from '../ledger/postgres-codes.ts';
import { storeRejects } from '../ledger/reject-store.ts';
import {
  countUntil,
  listedBetween,
  type StreamRow,
  saveStream,
  unlistRows,
} from '../ledger/stream-store.ts';
import { newCheckpoint, parseCheckpoint } from './list-checkpoint.ts';
import { createPageReader, type ListedPage, type ListSource } from './list-pages.ts';
import type { ListPort, Ranks } from './list-port.ts';
import type { ListState } from './list-state.ts';
import { notTaken, siftRows } from './sift-rows.ts';
import { emptyReport, type PassReport, type Progress, type SyncTools } from './sync-tools.ts';

/** A row with the number of the request that brought it. */
export type WithObservation<T> = T & { observation: number };

/** One list that is kept in step: where its pages come from and where its rows go. */
export type Stream<T> = ListSource<T> & {
  /** Key of `ledger.streams`. */
  name: string;
  /** Whether the ledger can tell the rank of a row by its time. */
  hasRanks: boolean;
  /** Makes rows ready for a transaction, which may be begun more than once. */
  prepareRows(
    rows: WithObservation<T>[],
  ): (db: LedgerDb) => Promise<{ inserted: number; updated: number }>;
  /** What to keep of a row that PostgreSQL itself refused: the same however often it is read. */
  toReject(row: WithObservation<T>, reason: string): Reject;
};

export type PortOptions = {
  signal: AbortSignal;
  /** A long walk gives the stream away after this time; null: it is finished first. */
  sliceMs: number | null;
  onProgress?: Progress;
};

/** A stream's port, with what went through it so far. Close it: pages may be on their way. */
export type StreamPort<T> = {
  port: ListPort<ListedPage<T>>;
  report: PassReport;
  close(): void;
};

/** Rows that are written together, with one checkpoint: near the best of what PostgreSQL does with unnested batches. */
const batchRows = 2_000;
/** A slow service's rows do not wait longer, and the lease is kept alive by storing them. */
const batchMs = 5_000;

/** Opens the way between one list of the service and its rows in the ledger, for the holder of the stream's lease. */
export function openStreamPort<T>(
  tools: SyncTools,
  stream: Stream<T>,
  { signal, sliceMs, onProgress }: PortOptions,
  { state, owner }: { state: ListState; owner: string },
): StreamPort<T> {
  const { requestedPageSize } = state.checkpoint;
  const { concurrency } = tools.settings;
  const pages = createPageReader(stream, { requestedPageSize, concurrency, signal });
  const report = emptyReport();
  const pauseAt = sliceMs === null ? Number.POSITIVE_INFINITY : performance.now() + sliceMs;
  let { walks } = state.checkpoint;
  let storedAt = performance.now();
  let pagesStored = 0;
  const isSliceOver = () => performance.now() > pauseAt;
  const isPauseDue = () => isSliceOver() && pages.aheadCount() === 0;

  const checkpointOf = (current: ListState): SaveCheckpoint => {
    const hasWalked = current.checkpoint.walks > walks;
    walks = current.checkpoint.walks;
    const checkpoint = { ...current.checkpoint, requestedPageSize: pages.requestedPageSize() };
    const row = { ...current, checkpoint, hasWalked };
    return (db) => saveCheckpoint(db, owner, stream.name, row);
  };

  const port: ListPort<ListedPage<T>> = {
    // Once the slice is over nothing more is fetched ahead: no answer is thrown away at the pause.
    read: (page, upTo, isFresh = false) =>
      pages.read(page, isSliceOver() ? Math.min(page, upTo) : upTo, isFresh),
    ranks: stream.hasRanks ? ranksOf(tools, stream, checkpointOf) : null,
    isBatchFull: (rows) =>
      rows >= batchRows || performance.now() > storedAt + batchMs || isPauseDue(),
    shouldPause: isPauseDue,
    prepare(batch, current) {
      const rows = rowsOf(batch);
      const write = prepareBatch(tools, stream, rows, rejectsOf(batch), checkpointOf(current));
      const attributes = { 'wallet_ledger.stream': stream.name, 'wallet_ledger.rows': rows.length };
      return async () => {
        signal.throwIfAborted();
        const stored = await inSpan('store batch', { attributes }, async (span) => {
          const counts = await write();
          span.setAttribute('wallet_ledger.inserted', counts.inserted);
          span.setAttribute('wallet_ledger.updated', counts.updated);
          return counts;
        });
        storedAt = performance.now();
        report.rowsSeen += rows.length;
        report.rowsInserted += stored.inserted;
        report.rowsUpdated += stored.updated;
        pagesStored += batch.length;
        onProgress?.(stream.name, stored.ledgerCount, current.serviceTotal, pagesStored);
        return stored;
      };
    },
  };
  onProgress?.(stream.name, state.ledgerCount, state.serviceTotal, pagesStored);
  return { port, report, close: pages.close };
}

/** The state that the last pass left; a checkpoint that cannot be parsed is begun anew. */
export function stateOf(row: StreamRow, { settings }: SyncTools): ListState {
  const { checkpoint, listOrder, ...facts } = row;
  return {
    ...facts,
    listOrder: settings.listOrder ?? listOrder,
    isOrderFixed: settings.listOrder !== null,
    checkpoint: parseCheckpoint(checkpoint) ?? newCheckpoint(settings.pageSize),
  };
}

type SaveCheckpoint = (db: LedgerDb) => Promise<number>;

async function saveCheckpoint(
  db: LedgerDb,
  owner: string,
  name: string,
  row: Parameters<typeof saveStream>[3],
): Promise<number> {
  const ledgerCount = await saveStream(db, name, owner, row);
  if (ledgerCount !== undefined) return ledgerCount;
  throw new LedgerError('interrupted', `another pass has taken over the stream ${name}`);
}

function ranksOf<T>(
  { ledger }: SyncTools,
  stream: Stream<T>,
  checkpointOf: (state: ListState) => SaveCheckpoint,
): Ranks<ListedPage<T>> {
  return {
    countUntil: (time) => countUntil(ledger.db, stream.name, time),
    async listedButNotSeen(pages, span) {
      const seen = new Set(rowsOf(pages).map((row) => stream.keyOf(row)));
      return (await listedBetween(ledger.db, stream.name, span)).filter((key) => !seen.has(key));
    },
    unlist(keys, state) {
      const save = checkpointOf(state);
      return ledger.transaction(async (db) => {
        await unlistRows(db, keys);
        return await save(db);
      });
    },
  };
}

type Stored = { inserted: number; updated: number; ledgerCount: number };

/**
 * Rows, rejects and checkpoint in one transaction, which may be begun more than once. When PostgreSQL refuses a row,
 * that one becomes a reject.
 */
function prepareBatch<T>(
  { ledger }: SyncTools,
  stream: Stream<T>,
  rows: WithObservation<T>[],
  rejects: Reject[],
  save: SaveCheckpoint,
): () => Promise<Stored> {
  const prepareAll = (good: WithObservation<T>[], refused: Reject[]) => {
    const storeRows = stream.prepareRows(good);
    return () =>
      ledger.transaction(async (db) => {
        const counts = await storeRows(db);
        await storeRejects(db, [...rejects, ...refused]);
        return { ...counts, ledgerCount: await save(db) };
      });
  };
  const storeAll = prepareAll(rows, []);
  return async () => {
    try {
      return await storeAll();
    } catch (error) {
      if (!isDataError(error)) throw error;
      const { good, refused } = await siftRows(rows, (batch) =>
        ledger.transaction(stream.prepareRows(batch)),
      );
      return await prepareAll(
        good,
        refused.map((row) => stream.toReject(row, notTaken)),
      )();
    }
  };
}

function rowsOf<T>(pages: ListedPage<T>[]): WithObservation<T>[] {
  return pages.flatMap(({ content: { records, observation } }) =>
    // Not by a copy: rows come by the million.
    records.map((record) => Object.assign(record as object, { observation }) as WithObservation<T>),
  );
}

function rejectsOf<T>(pages: ListedPage<T>[]): Reject[] {
  return pages.flatMap(({ content }) => content.rejects);
}
