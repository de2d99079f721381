import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { createWokenWorker } from '../../kernel/woken-worker.ts';
import type { Ledger, LedgerDb } from '../connection/connect-ledger.ts';
import { pruneEvents, sequenceEvents } from './event-store.ts';

export type Sequencer = {
  /** Gives numbers to what was committed; any number of calls at once cost one or two statements. */
  wake(): void;
  close(): Promise<void>;
};

/** Wakes by itself, because a notification may be lost with its connection. */
const heartbeatMs = 10_000;
/** Pause while another session gives numbers, or a transaction is open; it doubles. */
const pauseMs = 20;
const pauseMaxMs = 500;
const pruneEveryMs = 3_600_000;
/** Upper bound of the time that a command waits at its end for transactions that are open. */
const lastMs = 2_000;

/** Gives committed events their numbers until closed, together with the daemons of other processes. */
export function keepSequencing({ db }: Pick<Ledger, 'db'>, log: Log): Sequencer {
  const closing = new AbortController();
  const { signal } = closing;
  let prunedAt = Number.NEGATIVE_INFINITY;
  let isFailing = false;

  async function work(): Promise<void> {
    await sequenceAll(db, signal);
    if (performance.now() - prunedAt >= pruneEveryMs) {
      // New events get their numbers between two slices.
      if (await pruneEvents(db)) worker.wake();
      else prunedAt = performance.now();
    }
    if (isFailing) log.info({}, 'events of the change feed get their numbers again');
    isFailing = false;
  }

  const worker = createWokenWorker(work, (error) => {
    if (signal.aborted) return;
    log[isFailing ? 'debug' : 'warn']({ error: toError(error) }, 'events of the change feed wait');
    isFailing = true;
  });
  const heartbeat = setInterval(worker.wake, heartbeatMs);
  worker.wake();
  return {
    wake: worker.wake,
    async close() {
      closing.abort();
      clearInterval(heartbeat);
      await worker.stop();
    },
  };
}

/**
 * Gives committed events their numbers at the end of a command, since no daemon may run. Leaves those that wait for a
 * transaction which stays open to the next command, daemon or consumer.
 */
export async function sequenceAtLast({ db }: Pick<Ledger, 'db'>, log: Log): Promise<void> {
  const signal = AbortSignal.timeout(lastMs);
  try {
    await sequenceAll(db, signal);
  } catch (error) {
    if (!signal.aborted) log.debug({ error: toError(error) }, 'events of the change feed wait');
  }
}

/** Gives numbers until no committed event waits, or the signal aborts. */
async function sequenceAll(db: LedgerDb, signal: AbortSignal): Promise<void> {
  for (let pause = pauseMs; !signal.aborted; ) {
    const { numbered, isWaiting, isMore } = await sequenceEvents(db);
    if (isMore) continue;
    if (!isWaiting) return;
    pause = numbered > 0 ? pauseMs : Math.min(pauseMaxMs, 2 * pause);
    await abortableSleep(pause, signal);
  }
}
