import { LedgerError } from '../../kernel/errors.ts';
import { endRepair } from '../../ledger/lists/verify-store.ts';
import { type Effort, efforts } from '../list/doubt.ts';
import { createPassScans, type PassScans } from '../list/pass-scans.ts';
import { type ListVerdict, readList } from '../list/read-list.ts';
import {
  addCounts,
  emptyReport,
  type Progress,
  type SyncContext,
  type SyncReport,
} from '../sync-context.ts';
import { type Leased, type WhenLeased, withLease } from './lease-list.ts';
import { lookBeside } from './look-beside.ts';
import type { Stream } from './stream.ts';
import { openStreamPort, type PortOptions, stateOf } from './stream-port.ts';

export type SyncOptions = PortOptions & {
  /** Behaviour while another process reads the stream, or after a slice: leave it to others, or wait and continue. */
  ifLeased: WhenLeased;
  /** Bounds of the requests that a doubt may cost. */
  effort: keyof typeof efforts;
};

/** `hasOpenRejects`: the ledger had open rejects as the pass, or its last slice, began. */
export type StreamReport = SyncReport & ListVerdict & { hasOpenRejects: boolean };

/**
 * Runs one pass over one stream. Returns undefined if another process has it and the pass should not wait; a pass that
 * asks for it has then stored the new rows of the list's first page. Throws a LedgerError; everything stored until then
 * stays, with a checkpoint that fits it.
 */
export async function syncStream<T>(
  context: SyncContext,
  stream: Stream<T>,
  pass: SyncOptions,
): Promise<StreamReport | undefined> {
  const sum = emptyReport();
  const scans = createPassScans();
  let pages = 0;
  const look = () => lookMeanwhile(context, stream, pass, sum);
  for (;;) {
    const pagesBefore = pages;
    const onProgress: Progress = (part, done, total, own = 0) => {
      pages = pagesBefore + own;
      pass.onProgress?.(part, done, total, pages);
    };
    try {
      const slice = await withLease(context, stream.name, { ...pass, lookBeside: look }, (leased) =>
        readLeased(context, stream, { ...pass, onProgress, scans }, leased),
      );
      if (!slice) return pausedBeside(sum);
      addCounts(sum, slice);
      const { isPaused } = slice;
      if (!isPaused || pass.ifLeased !== 'wait')
        return { ...slice, ...sum, isComplete: slice.isComplete };
    } catch (error) {
      if (!isTakenOver(error, pass)) throw error;
    }
  }
}

/**
 * Stores new rows of a list that another pass reads, and adds them to `sum`. Returns the longest time (ms) to wait for
 * the list afterwards.
 */
async function lookMeanwhile<T>(
  context: SyncContext,
  stream: Stream<T>,
  { ifLeased, sliceMs, signal }: SyncOptions,
  sum: SyncReport,
): Promise<number> {
  const seen = ifLeased === 'ask' ? await lookBeside(context, stream, signal) : null;
  if (seen === null) return Infinity;
  addCounts(sum, seen);
  // The next pass looks again.
  return (sliceMs ?? Infinity) / 2;
}

/**
 * Returns the report of a pass that could only store the first page while another pass reads the list. It counts as
 * paused, so that the next pass continues.
 */
function pausedBeside(sum: SyncReport): StreamReport | undefined {
  if (sum.rowsSeen === 0) return undefined;
  return { ...sum, isPaused: true, missing: null, hasOpenRejects: false };
}

/**
 * Returns true if another pass has taken over the stream. A pass whose connections fail briefly counts as dead. This
 * pass then tries again and continues from the checkpoint.
 */
function isTakenOver(error: unknown, { signal }: SyncOptions): boolean {
  return error instanceof LedgerError && error.code === 'interrupted' && !signal.aborted;
}

async function readLeased<T>(
  context: SyncContext,
  stream: Stream<T>,
  pass: SyncOptions & { scans: PassScans },
  { owner, row }: Leased,
): Promise<StreamReport> {
  const state = stateOf(row, context);
  const { port, report, close } = openStreamPort(context, stream, pass, { state, owner, row });
  try {
    const verdict = await readList(port, state, effortOf(context, pass), pass.scans);
    // A pass that finds nothing new stores no state.
    if (row.isBeingRepaired && !verdict.isPaused) await endRepair(context.ledger.db, stream.name);
    return { ...report, ...verdict, hasOpenRejects: row.hasOpenRejects };
  } finally {
    close();
  }
}

function effortOf({ settings }: SyncContext, { effort }: SyncOptions): Effort {
  const { looksMs, ...rest } = efforts[effort];
  const patienceMs = settings.auditCycleMs;
  return { ...rest, looksMs: settings.looksMs ?? looksMs, patienceMs };
}
