import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError, toError } from '../kernel/errors.ts';
import type { Reject } from '../kernel/wallet-records.ts';
import type { LedgerDb } from '../ledger/connect-ledger.ts';
import { isDataError } from '../ledger/postgres-codes.ts';
import { storeRejects } from '../ledger/reject-store.ts';
import {
  countUntil,
  leaseStream,
  msSinceWalk,
  releaseStream,
  type StreamRow,
  saveStream,
} from '../ledger/stream-store.ts';
import {
  type Checkpoint,
  type ListMemory,
  type ListOrder,
  newCheckpoint,
  type PageFacts,
} from './list-memory.ts';
import {
  createPageReader,
  type ListedPage,
  type ListSource,
  type PageReader,
} from './list-pages.ts';
import type { ListPort } from './list-port.ts';
import { type ListVerdict, readList } from './read-list.ts';
import { emptyReport, type PassReport, type Progress, type SyncTools } from './sync-tools.ts';

export type Observed<T> = T & { observation: number };

/** One list that is kept in step: where its pages come from and where its rows go. */
export type Stream<T> = ListSource<T> & {
  /** Key of `ledger.streams`. */
  name: string;
  /** Whether the ledger can tell the rank of a row by its time. */
  hasRanks: boolean;
  storeRows(db: LedgerDb, rows: Observed<T>[]): Promise<{ inserted: number; updated: number }>;
  /** What to keep of a row that PostgreSQL itself refused. */
  toReject(row: T, reason: string): Reject;
};

export type StreamPass = {
  signal: AbortSignal;
  /** Another process reads the stream: leave it to it, or wait for it. */
  whenLeased: 'skip' | 'wait';
  /** A long walk goes on in the next pass after this time; null: it is finished now. */
  sliceMs: number | null;
  /** Whether a walk over everything may be made again although the last one left a difference. */
  mayRepeatWalk: boolean;
  onProgress?: Progress;
};

/** With the proof off, a walk over everything is tried again at most so often. */
const repeatWalkMs = 3_600_000;
const leasePollMs = 500;
/** Rows that one transaction stores: near the best of what PostgreSQL does with unnested batches. */
const batchRows = 1_000;
/** A slow service's rows do not wait longer, and the lease is kept alive by storing them. */
const batchMs = 5_000;

/**
 * One pass over one stream. Undefined when another process has it and the pass was not to wait.
 * Fails with a LedgerError; what was stored until then stays, with a checkpoint that fits it.
 */
export async function syncStream<T>(
  tools: SyncTools,
  stream: Stream<T>,
  pass: StreamPass,
): Promise<(PassReport & ListVerdict) | undefined> {
  const { db, instance } = tools.ledger;
  const row = await takeLease(tools, stream.name, pass);
  if (!row) return undefined;
  const memory = memoryOf(row, tools);
  const reader = createPageReader(stream, {
    askSize: memory.checkpoint.askSize,
    concurrency: tools.settings.concurrency,
    signal: pass.signal,
  });
  const report = emptyReport();
  const port = createPort(tools, stream, pass, reader, report, memory.checkpoint.walks);
  try {
    const mayWalk = pass.mayRepeatWalk || (await isWalkAllowed(db, stream.name, memory));
    const verdict = await readList(port, memory, mayWalk);
    await releaseStream(db, stream.name, instance, null);
    return { ...report, ...verdict };
  } catch (error) {
    await releaseStream(db, stream.name, instance, toError(error).message).catch(() => undefined);
    throw error;
  } finally {
    reader.close();
  }
}

function createPort<T>(
  tools: SyncTools,
  stream: Stream<T>,
  pass: StreamPass,
  pages: PageReader<T>,
  report: PassReport,
  walksBefore: number,
): ListPort {
  const { ledger } = tools;
  const pauseAt =
    pass.sliceMs === null ? Number.POSITIVE_INFINITY : performance.now() + pass.sliceMs;
  let walks = walksBefore;
  let storedAt = performance.now();
  const isSliceOver = () => performance.now() > pauseAt;
  const isPauseDue = () => isSliceOver() && pages.aheadCount() === 0;
  return {
    // Once the slice is over nothing more is fetched ahead: no answer is thrown away at the pause.
    read: (page, upTo, isFresh = false) =>
      pages.read(page, isSliceOver() ? Math.min(page, upTo) : upTo, isFresh),
    countUntil: stream.hasRanks ? (time) => countUntil(ledger.db, stream.name, time) : null,
    isBatchFull: (rows) =>
      rows >= batchRows || performance.now() > storedAt + batchMs || isPauseDue(),
    shouldPause: isPauseDue,
    async store(facts, memory) {
      pass.signal.throwIfAborted();
      memory.checkpoint.askSize = pages.askSize();
      const hasWalked = memory.checkpoint.walks > walks;
      walks = memory.checkpoint.walks;
      const rows = rowsOf<T>(facts);
      const stored = await storeBatch(tools, stream, rows, rejectsOf<T>(facts), (db) =>
        saveStream(db, stream.name, ledger.instance, {
          ...memory,
          isVouched: memory.checkpoint.gap !== null,
          hasWalked,
        }),
      );
      storedAt = performance.now();
      report.rowsSeen += rows.length;
      report.rowsInserted += stored.inserted;
      report.rowsUpdated += stored.updated;
      pass.onProgress?.(stream.name, stored.ledgerCount, memory.serviceTotal);
      return stored;
    },
  };
}

type Stored = { inserted: number; updated: number; ledgerCount: number };

/** Rows, rejects and checkpoint in one transaction; when PostgreSQL refuses a row, that one becomes a reject. */
async function storeBatch<T>(
  tools: SyncTools,
  stream: Stream<T>,
  rows: Observed<T>[],
  rejects: Reject[],
  saveCheckpoint: (db: LedgerDb) => Promise<number | undefined>,
): Promise<Stored> {
  const storeAll = (batch: Observed<T>[], refused: Reject[]) =>
    tools.ledger.transaction(async (db) => {
      const counts =
        batch.length > 0 ? await stream.storeRows(db, batch) : { inserted: 0, updated: 0 };
      await storeRejects(db, refused);
      const ledgerCount = await saveCheckpoint(db);
      if (ledgerCount === undefined) {
        throw new LedgerError(
          'interrupted',
          `another process has taken over the stream ${stream.name}`,
        );
      }
      return { ...counts, ledgerCount };
    });
  try {
    return await storeAll(rows, rejects);
  } catch (error) {
    if (!isDataError(error)) throw error;
    const { good, refused } = await sift(tools, stream, rows);
    return await storeAll(good, [...rejects, ...refused]);
  }
}

/** Finds the rows that PostgreSQL will not take by halving, so that one bad row costs few statements. */
async function sift<T>(
  tools: SyncTools,
  stream: Stream<T>,
  rows: Observed<T>[],
): Promise<{ good: Observed<T>[]; refused: Reject[] }> {
  try {
    await tools.ledger.transaction((db) => stream.storeRows(db, rows));
    return { good: rows, refused: [] };
  } catch (error) {
    if (!isDataError(error)) throw error;
    const [only] = rows;
    if (rows.length === 1 && only) {
      return { good: [], refused: [stream.toReject(only, 'PostgreSQL does not take the row')] };
    }
    const half = Math.ceil(rows.length / 2);
    const first = await sift(tools, stream, rows.slice(0, half));
    const second = await sift(tools, stream, rows.slice(half));
    return {
      good: [...first.good, ...second.good],
      refused: [...first.refused, ...second.refused],
    };
  }
}

async function takeLease(
  tools: SyncTools,
  name: string,
  pass: StreamPass,
): Promise<StreamRow | undefined> {
  const { db, instance } = tools.ledger;
  for (let tries = 1; ; tries += 1) {
    const row = await leaseStream(db, name, instance);
    if (row || pass.whenLeased === 'skip') return row;
    if (tries === 1)
      tools.log.info({ stream: name }, 'another process is reading the stream, waiting for it');
    await abortableSleep(leasePollMs, pass.signal);
  }
}

async function isWalkAllowed(db: LedgerDb, name: string, memory: ListMemory): Promise<boolean> {
  if ((memory.checkpoint.gap ?? 0) === 0) return true;
  const sinceWalkMs = await msSinceWalk(db, name);
  return sinceWalkMs === null || sinceWalkMs > repeatWalkMs;
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

/** The pages that come back to `store` are the ones that `read` gave out. */
function contentsOf<T>(facts: PageFacts[]) {
  return facts.map((page) => (page as ListedPage<T>).content);
}

function rowsOf<T>(facts: PageFacts[]): Observed<T>[] {
  return contentsOf<T>(facts).flatMap(({ records, observation }) =>
    records.map((record) => ({ ...record, observation })),
  );
}

function rejectsOf<T>(facts: PageFacts[]): Reject[] {
  return contentsOf<T>(facts).flatMap(({ rejects }) => rejects);
}
