import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { inSpan } from '../../kernel/in-span.ts';
import { readCoverage } from '../../ledger/lists/coverage-store.ts';
import { isWishedFor, type LeasedRow } from '../../ledger/lists/lease-store.ts';
import {
  countUntil,
  listedBetween,
  listedUndated,
  unlistRows,
} from '../../ledger/lists/stream-store.ts';
import {
  analyzeTransactions,
  areFirstRows,
} from '../../ledger/transactions/analyze-transactions.ts';
import { divisionMemoryOf } from '../list/division-memory.ts';
import { newCheckpoint, parseCheckpoint } from '../list/list-checkpoint.ts';
import { createPageReader, type ListedPage } from '../list/list-pages.ts';
import type { ListPort, Ranks } from '../list/list-port.ts';
import type { ListState } from '../list/list-state.ts';
import { probeSize, rememberedSize } from '../list/probe-size.ts';
import {
  addCounts,
  emptyReport,
  type Progress,
  type SyncContext,
  type SyncReport,
} from '../sync-context.ts';
import type { Leased } from './lease-list.ts';
import { withMissingSizes } from './missing-size.ts';
import { notesOf } from './notes-of-scan.ts';
import { createRefusal } from './refuse-nothing.ts';
import { createSaves } from './save-state.ts';
import { createSlice } from './slice.ts';
import { prepareBatch } from './store-batch.ts';
import { createLanedSource, type Stream, type WithObservation } from './stream.ts';

export type PortOptions = {
  signal: AbortSignal;
  /** Time (ms) after which a long scan releases the stream; null: it finishes first. */
  sliceMs: number | null;
  onProgress?: Progress;
};

/** A stream's port, with the counts of this pass. The caller closes it, because requests may still be in flight. */
export type StreamPort<T> = {
  port: ListPort<ListedPage<T>>;
  report: SyncReport;
  close(): void;
};

/** Rows per write with one checkpoint. Twice as many save 2 % of a backfill's time and take 13 MiB more. */
const batchRows = 4_000;
/** Upper bound of the time (ms) that rows of a slow service wait; storing them also renews the lease. */
const batchMs = 5_000;

/** Opens the port between one list of the service and its rows in the ledger, for the owner of the stream's lease. */
export function openStreamPort<T>(
  context: SyncContext,
  stream: Stream<T>,
  { signal, sliceMs, onProgress }: PortOptions,
  { state, owner, row }: Leased & { state: ListState },
): StreamPort<T> {
  const { requestedPageSize } = state.checkpoint;
  const { concurrency } = context.settings;
  // Read once: a pass without changes must not change the remembered sizes.
  const sizes = probeOf(state, context.settings.pageSize, context.clock());
  const { source, scanning } = createLanedSource(stream, isKnownEmpty(state));
  const learned = { requested: requestedPageSize, learned: state.pageSize };
  const pages = createPageReader(withMissingSizes(source, learned), {
    requestedPageSize,
    probeSize: sizes.probe,
    concurrency,
    signal,
    memory: divisionMemoryOf<T>(context.ledger, stream.name),
  });
  const report = emptyReport();
  const slice = createSlice(sliceMs, () => isWishedFor(context.ledger.db, stream.name));
  let storedAt = performance.now();
  let pagesStored = 0;
  const refuseEmpty = createRefusal(context.ledger.db, stream, row.emptyForMs);
  const isPauseDue = () => slice.isOver() && pages.aheadCount() === 0;
  const saves = createSaves(context.ledger, { name: stream.name, owner, opened: state }, () =>
    sizes.remembered(pages.requestedPageSize()),
  );
  const port: ListPort<ListedPage<T>> = {
    // After the slice no page is fetched ahead, so the pause discards no answer.
    async read(page, upTo, isFresh = false) {
      await slice.listen();
      const facts = await pages.read(page, slice.isOver() ? Math.min(page, upTo) : upTo, isFresh);
      await refuseEmpty(facts);
      return facts;
    },
    readSized: pages.readSized,
    ranks: stream.hasRanks ? ranksOf(context, stream) : null,
    isBatchFull: (rows) =>
      rows >= batchRows || performance.now() > storedAt + batchMs || isPauseDue(),
    shouldPause: isPauseDue,
    scanning,
    notes: notesOf(context, stream, owner, saves.saveWith),
    unlist: stream.hasRanks
      ? (keys, current) => saves.saveWith(current, (db) => unlistRows(db, stream.name, keys))
      : null,
    now: context.clock,
    wait: (ms) => slice.pause(abortableSleep(ms, signal)),
    prepare(batch, current) {
      const rows = rowsOf(batch.pages);
      const writing = { batch, rows, state: current };
      const write = prepareBatch(context, stream, writing, saves.prepare(current));
      return async (afterFinding) => {
        signal.throwIfAborted();
        const stored = await tracedWrite(stream.name, rows.length, () => write(afterFinding));
        saves.end(stored);
        storedAt = performance.now();
        if (stream.hasRanks && areFirstRows(stored)) await analyzeTransactions(context.ledger.db);
        const { inserted: rowsInserted, updated: rowsUpdated } = stored;
        addCounts(report, { rowsSeen: rows.length, rowsInserted, rowsUpdated });
        pagesStored += batch.pages.length;
        onProgress?.(stream.name, stored.ledgerCount, current.serviceTotal, pagesStored);
        return stored;
      };
    },
  };
  onProgress?.(stream.name, state.ledgerCount, state.serviceTotal, pagesStored);
  return { port, report, close: pages.close };
}

/** Returns true if the list was read from end to end, had no rows, and has none in the ledger. */
function isKnownEmpty({ isBacked, serviceTotal, ledgerCount, guests }: ListState): boolean {
  return isBacked && serviceTotal === 0 && ledgerCount + guests === 0;
}

function tracedWrite<T extends { inserted: number; updated: number }>(
  list: string,
  rows: number,
  write: () => Promise<T>,
): Promise<T> {
  const attributes = { 'wallet_ledger.stream': list, 'wallet_ledger.rows': rows };
  return inSpan('store batch', { attributes }, async (span) => {
    const counts = await write();
    span.setAttribute('wallet_ledger.inserted', counts.inserted);
    span.setAttribute('wallet_ledger.updated', counts.updated);
    return counts;
  });
}

/** Returns the state that the last pass left. Nothing backs the counts if the checkpoint cannot be parsed. */
export function stateOf(row: LeasedRow, { settings }: SyncContext): ListState {
  const { checkpoint, listOrder, hasOpenRejects, isBeingRepaired, ...facts } = row;
  const parsed = parseCheckpoint(checkpoint);
  const kept = parsed ?? newCheckpoint(settings.pageSize);
  return {
    ...facts,
    isBacked: facts.isBacked && parsed !== null,
    listOrder: settings.listOrder ?? listOrder,
    isOrderFixed: settings.listOrder !== null,
    checkpoint: {
      ...kept,
      requestedPageSize: Math.min(kept.requestedPageSize, settings.pageSize),
    },
  };
}

/** Returns the size to try in this pass, and a function for the sizes to store after it. */
function probeOf({ checkpoint }: ListState, configured: number, now: number) {
  const probe = probeSize(checkpoint, configured, now);
  const isProbed = probe !== undefined;
  return {
    probe,
    remembered: (used: number) => rememberedSize(checkpoint, { used, isProbed }, configured, now),
  };
}

function ranksOf<T>({ ledger: { db } }: SyncContext, stream: Stream<T>): Ranks<ListedPage<T>> {
  return {
    countUntil: (time) => countUntil(db, stream.name, time),
    async listedButNotSeen(pages, span) {
      const seen = new Set(pages.flatMap(({ keys }) => keys));
      return (await listedBetween(db, stream.name, span)).filter((key) => !seen.has(key));
    },
    undated: (limit) => listedUndated(db, stream.name, limit),
    days: () => readCoverage(db, stream.name),
  };
}

function rowsOf<T>(pages: ListedPage<T>[]): WithObservation<T>[] {
  return pages.flatMap(({ content: { records, observation } }) =>
    // Changes the records in place: copies of millions of rows are expensive.
    records.map((record) => Object.assign(record as object, { observation }) as WithObservation<T>),
  );
}
