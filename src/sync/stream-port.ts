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
import { divisionMemoryOf } from './division-memory.ts';
import {
  type Checkpoint,
  type ListMemory,
  type ListOrder,
  newCheckpoint,
  type PageFacts,
} from './list-memory.ts';
import { createPageReader, type ListedPage, type ListSource } from './list-pages.ts';
import type { ListPort, Ranks } from './list-port.ts';
import { notTaken, siftRows } from './sift-rows.ts';
import { emptyReport, type PassReport, type Progress, type SyncTools } from './sync-tools.ts';

export type Observed<T> = T & { observation: number };

/** One list that is kept in step: where its pages come from and where its rows go. */
export type Stream<T> = ListSource<T> & {
  /** Key of `ledger.streams`. */
  name: string;
  /** Whether the ledger can tell the rank of a row by its time. */
  hasRanks: boolean;
  /** Makes rows ready for a transaction, which may be begun more than once. */
  prepareRows(
    rows: Observed<T>[],
  ): (db: LedgerDb) => Promise<{ inserted: number; updated: number }>;
  /** What to keep of a row that PostgreSQL itself refused: the same however often it is read. */
  toReject(row: Observed<T>, reason: string): Reject;
};

export type PortOptions = {
  signal: AbortSignal;
  /** A long walk gives the stream away after this time; null: it is finished first. */
  sliceMs: number | null;
  onProgress?: Progress;
};

/** A stream's port, with what went through it so far. Close it: pages may be on their way. */
export type StreamPort = { port: ListPort; report: PassReport; close(): void };

/** Rows that are written together, with one checkpoint: near the best of what PostgreSQL does with unnested batches. */
const batchRows = 2_000;
/** A slow service's rows do not wait longer, and the lease is kept alive by storing them. */
const batchMs = 5_000;

/** Opens the way between one list of the service and its rows in the ledger, for the holder of the stream's lease. */
export function openStreamPort<T>(
  tools: SyncTools,
  stream: Stream<T>,
  { signal, sliceMs, onProgress }: PortOptions,
  { memory, owner }: { memory: ListMemory; owner: string },
): StreamPort {
  const { askSize } = memory.checkpoint;
  const { concurrency } = tools.settings;
  const pages = createPageReader(stream, {
    askSize,
    concurrency,
    signal,
    memory: divisionMemoryOf<T>(tools.ledger, stream.name),
  });
  const report = emptyReport();
  const pauseAt = sliceMs === null ? Number.POSITIVE_INFINITY : performance.now() + sliceMs;
  let { walks } = memory.checkpoint;
  let storedAt = performance.now();
  let pagesStored = 0;
  const isSliceOver = () => performance.now() > pauseAt;
  const isPauseDue = () => isSliceOver() && pages.aheadCount() === 0;

  const checkpointOf = (current: ListMemory): SaveCheckpoint => {
    current.checkpoint.askSize = pages.askSize();
    const hasWalked = current.checkpoint.walks > walks;
    walks = current.checkpoint.walks;
    const isVouched = current.checkpoint.gap !== null;
    const row = { ...structuredClone(current), isVouched, hasWalked };
    return (db) => saveCheckpoint(db, owner, stream.name, row);
  };

  const port: ListPort = {
    // Once the slice is over nothing more is fetched ahead: no answer is thrown away at the pause.
    read: (page, upTo, isFresh = false) =>
      pages.read(page, isSliceOver() ? Math.min(page, upTo) : upTo, isFresh),
    ranks: stream.hasRanks ? ranksOf(tools, stream, checkpointOf) : null,
    isBatchFull: (rows) =>
      rows >= batchRows || performance.now() > storedAt + batchMs || isPauseDue(),
    shouldPause: isPauseDue,
    prepare(facts, current) {
      const rows = rowsOf<T>(facts);
      const write = prepareBatch(tools, stream, rows, rejectsOf<T>(facts), checkpointOf(current));
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
        pagesStored += facts.length;
        onProgress?.(stream.name, stored.ledgerCount, current.serviceTotal, pagesStored);
        return stored;
      };
    },
  };
  onProgress?.(stream.name, memory.ledgerCount, memory.serviceTotal, pagesStored);
  return { port, report, close: pages.close };
}

export function memoryOf(row: StreamRow, { settings }: SyncTools): ListMemory {
  const stored = row.checkpoint as Checkpoint | null;
  return {
    listOrder: settings.listOrder ?? (row.listOrder as ListOrder | null),
    isOrderFixed: settings.listOrder !== null,
    pageSize: row.pageSize,
    serviceTotal: row.serviceTotal,
    ledgerCount: row.ledgerCount,
    checkpoint: stored ?? newCheckpoint(settings.pageSize),
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
  checkpointOf: (memory: ListMemory) => SaveCheckpoint,
): Ranks {
  return {
    countUntil: (time) => countUntil(ledger.db, stream.name, time),
    async unmet(pages, span) {
      const met = new Set(rowsOf<T>(pages).map((row) => stream.keyOf(row)));
      return (await listedBetween(ledger.db, stream.name, span)).filter((key) => !met.has(key));
    },
    unlist(keys, memory) {
      const save = checkpointOf(memory);
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
  rows: Observed<T>[],
  rejects: Reject[],
  save: SaveCheckpoint,
): () => Promise<Stored> {
  const prepareAll = (good: Observed<T>[], refused: Reject[]) => {
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

/** The pages that come back to `prepare` are the ones that `read` gave out. */
function contentsOf<T>(facts: PageFacts[]) {
  return facts.map((page) => (page as ListedPage<T>).content);
}

function rowsOf<T>(facts: PageFacts[]): Observed<T>[] {
  return contentsOf<T>(facts).flatMap(({ records, observation }) =>
    // Not by a copy: rows come by the million.
    records.map((record) => Object.assign(record as object, { observation }) as Observed<T>),
  );
}

function rejectsOf<T>(facts: PageFacts[]): Reject[] {
  return contentsOf<T>(facts).flatMap(({ rejects }) => rejects);
}
