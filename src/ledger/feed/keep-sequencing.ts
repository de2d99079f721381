import { abortableSleep } from '../../kernel/abortable-sleep.ts';
import { toError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { createWokenWorker } from '../../kernel/woken-worker.ts';
import type { Ledger } from '../connection/connect-ledger.ts';
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

/** Gives committed events their numbers until closed, together with the daemons of other processes. */
export function keepSequencing({ db }: Pick<Ledger, 'db'>, log: Log): Sequencer {
  const closing = new AbortController();
  const { signal } = closing;
  let prunedAt = Number.NEGATIVE_INFINITY;
  let isFailing = false;

  async function work(): Promise<void> {
    await sequenceAll();
    if (performance.now() - prunedAt >= pruneEveryMs) {
      // New events get their numbers between two slices.
      if (await pruneEvents(db)) worker.wake();
      else prunedAt = performance.now();
    }
    if (isFailing) log.info({}, 'events of the change feed get their numbers again');
    isFailing = false;
  }

  async function sequenceAll(): Promise<void> {
    for (let pause = pauseMs; !signal.aborted; ) {
      const { numbered, isWaiting, isMore } = await sequenceEvents(db);
      if (isMore) continue;
      if (!isWaiting) return;
      pause = numbered > 0 ? pauseMs : Math.min(pauseMaxMs, 2 * pause);
      await abortableSleep(pause, signal);
    }
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
