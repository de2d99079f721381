import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { LedgerError, toError } from '../kernel/errors.ts';
import type { LedgerDb } from '../ledger/connect-ledger.ts';
import {
  leaseStream,
  msSinceWalk,
  newLeaseOwner,
  releaseStream,
  type StreamRow,
} from '../ledger/stream-store.ts';
import type { ListState } from './list-state.ts';
import { type ListVerdict, readList } from './read-list.ts';
import { openStreamPort, type PortOptions, type Stream, stateOf } from './stream-port.ts';
import {
  addCounts,
  emptyReport,
  type PassReport,
  type Progress,
  type SyncTools,
} from './sync-tools.ts';

export type StreamPass = PortOptions & {
  /** Another process reads the stream, or a slice is over: leave it to others, or wait for it and go on. */
  whenLeased: 'skip' | 'wait';
  /** Whether a walk over everything may be made again although the last one left a difference. */
  mayRepeatWalk: boolean;
};

/** With the proof off, a walk over everything is tried again at most so often. */
const repeatWalkMs = 3_600_000;
const leasePollMs = 500;

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
    const owner = newLeaseOwner(tools.ledger.instance);
    const row = await takeLease(tools, stream.name, owner, pass);
    if (!row) return undefined;
    const pagesBefore = pages;
    const onProgress: Progress = (part, done, total, own = 0) => {
      pages = pagesBefore + own;
      pass.onProgress?.(part, done, total, pages);
    };
    try {
      const slice = await readLeased(tools, stream, { ...pass, onProgress }, { owner, row });
      addCounts(sum, slice);
      const { isComplete, isPaused, missing } = slice;
      if (!isPaused || pass.whenLeased === 'skip') return { ...sum, isComplete, isPaused, missing };
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
  { owner, row }: { owner: string; row: StreamRow },
): Promise<PassReport & ListVerdict> {
  const { db } = tools.ledger;
  const state = stateOf(row, tools);
  const { port, report, close } = openStreamPort(tools, stream, pass, { state, owner });
  try {
    const mayWalk = pass.mayRepeatWalk || (await isWalkAllowed(db, stream.name, state));
    const verdict = await readList(port, state, mayWalk);
    await releaseStream(db, stream.name, owner, null);
    return { ...report, ...verdict };
  } catch (error) {
    await releaseStream(db, stream.name, owner, toError(error).message).catch(() => undefined);
    throw error;
  } finally {
    close();
  }
}

async function takeLease(
  tools: SyncTools,
  name: string,
  owner: string,
  pass: StreamPass,
): Promise<StreamRow | undefined> {
  const { db } = tools.ledger;
  for (let tries = 1; ; tries += 1) {
    const row = await leaseStream(db, name, owner);
    if (row || pass.whenLeased === 'skip') return row;
    if (tries === 1)
      tools.log.info({ stream: name }, 'another pass is reading the stream, waiting for it');
    await abortableSleep(leasePollMs, pass.signal);
  }
}

async function isWalkAllowed(db: LedgerDb, name: string, state: ListState): Promise<boolean> {
  if (state.acceptedDifference === 0) return true;
  const sinceWalkMs = await msSinceWalk(db, name);
  return sinceWalkMs === null || sinceWalkMs > repeatWalkMs;
}
