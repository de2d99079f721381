import { LedgerError } from '../../kernel/errors.ts';
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
 * Runs one pass over one stream. Returns undefined if another process has it and the pass should not wait. Throws a
 * LedgerError; everything stored until then stays, with a checkpoint that fits it.
 */
export async function syncStream<T>(
  context: SyncContext,
  stream: Stream<T>,
  pass: SyncOptions,
): Promise<StreamReport | undefined> {
  const sum = emptyReport();
  const scans = createPassScans();
  let pages = 0;
  for (;;) {
    const pagesBefore = pages;
    const onProgress: Progress = (part, done, total, own = 0) => {
      pages = pagesBefore + own;
      pass.onProgress?.(part, done, total, pages);
    };
    try {
      const slice = await withLease(context, stream.name, pass, (leased) =>
        readLeased(context, stream, { ...pass, onProgress, scans }, leased),
      );
      if (!slice) return undefined;
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
  const { port, report, close } = openStreamPort(context, stream, pass, { state, owner });
  try {
    const verdict = await readList(port, state, effortOf(context, pass), pass.scans);
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
