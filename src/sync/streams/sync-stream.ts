import { LedgerError } from '../../kernel/errors.ts';
import { type Effort, efforts } from '../list/doubt.ts';
import { type ListVerdict, readList } from '../list/read-list.ts';
import {
  addCounts,
  emptyReport,
  type PassReport,
  type Progress,
  type SyncTools,
} from '../sync-tools.ts';
import { type Leased, type WhenLeased, withLease } from './lease-list.ts';
import { openStreamPort, type PortOptions, type Stream, stateOf } from './stream-port.ts';

export type StreamPass = PortOptions & {
  /** Another process reads the stream, or a slice is over: leave it to others, or wait for it and go on. */
  whenLeased: WhenLeased;
  /** What may be done about a doubt. */
  effort: keyof typeof efforts;
};

/**
 * One pass over one stream. Undefined when another process has it and the pass was not to wait.
 * Fails with a LedgerError; what was stored until then stays, with a checkpoint that fits it.
 */
export async function syncStream<T>(
  tools: SyncTools,
  stream: Stream<T>,
  pass: StreamPass,
): Promise<(PassReport & ListVerdict) | undefined> {
  const sum = emptyReport();
  let pages = 0;
  for (;;) {
    const pagesBefore = pages;
    const onProgress: Progress = (part, done, total, own = 0) => {
      pages = pagesBefore + own;
      pass.onProgress?.(part, done, total, pages);
    };
    try {
      const slice = await withLease(tools, stream.name, pass, (leased) =>
        readLeased(tools, stream, { ...pass, onProgress }, leased),
      );
      if (!slice) return undefined;
      addCounts(sum, slice);
      const { isComplete, isPaused, missing } = slice;
      if (!isPaused || pass.whenLeased !== 'wait') return { ...sum, isComplete, isPaused, missing };
    } catch (error) {
      if (!isTakenOver(error, pass)) throw error;
    }
  }
}

/** Without its connections for a moment a pass is taken for dead: another one goes on from its checkpoint. */
function isTakenOver(error: unknown, { signal }: StreamPass): boolean {
  return error instanceof LedgerError && error.code === 'interrupted' && !signal.aborted;
}

async function readLeased<T>(
  tools: SyncTools,
  stream: Stream<T>,
  pass: StreamPass,
  { owner, row }: Leased,
): Promise<PassReport & ListVerdict> {
  const state = stateOf(row, tools);
  const { port, report, close } = openStreamPort(tools, stream, pass, { state, owner });
  try {
    const verdict = await readList(port, state, effortOf(tools, pass));
    return { ...report, ...verdict };
  } finally {
    close();
  }
}

function effortOf({ settings }: SyncTools, { effort }: StreamPass): Effort {
  const { looksMs, ...rest } = efforts[effort];
  const patienceMs = settings.auditCycleMs;
  return { ...rest, looksMs: settings.looksMs ?? looksMs, patienceMs };
}
