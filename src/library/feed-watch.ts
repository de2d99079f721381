import { silentLog } from '../kernel/log.ts';
import { keepListening } from '../ledger/connection/keep-listening.ts';
import { eventsChannel } from '../ledger/feed/feed-channels.ts';
import type { Database } from './open-database.ts';

/** Notifies when the feed may have further events. */
export type FeedWatch = {
  /** Resolves with the next notification. Ask before reading: an event may come between a reading and the wait. */
  next(): Promise<void>;
  close(): Promise<void>;
};

/**
 * Interval at which the feed is checked without a notification: some poolers do not pass notifications on, and without
 * a daemon none are sent.
 */
const lookEveryMs = 30_000;

/**
 * Listens from the first `next` on, until `close`. A lost connection is opened again and then resolves every pending
 * `next`.
 */
export function createFeedWatch(
  { listener }: Pick<Database, 'listener'>,
  onLost: (error: unknown) => void,
): FeedWatch {
  let resolve = (): void => undefined;
  let woken = renew();
  let listening: { close(): Promise<void> } | undefined;

  function renew(): Promise<void> {
    return new Promise((onWake) => {
      resolve = onWake;
    });
  }

  function wake(): void {
    const wakeAll = resolve;
    woken = renew();
    wakeAll();
  }

  function start(): { close(): Promise<void> } {
    const timer = setInterval(wake, lookEveryMs).unref();
    const log = { ...silentLog, warn: ({ error }: { error?: Error }) => onLost(error) };
    const kept = keepListening({
      ledger: { patient: listener },
      channels: { [eventsChannel]: wake },
      log,
    });
    return {
      async close() {
        clearInterval(timer);
        await kept.close();
      },
    };
  }

  return {
    next() {
      listening ??= start();
      return woken;
    },
    async close() {
      await listening?.close();
    },
  };
}
