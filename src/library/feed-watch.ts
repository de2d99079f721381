import { silentLog } from '../kernel/log.ts';
import { keepListening } from '../ledger/connection/keep-listening.ts';
import { eventsChannel } from '../ledger/feed/feed-channels.ts';
import type { Database } from './open-database.ts';

/** Tells when the feed may have further events. */
export type FeedWatch = {
  /** Resolves with the next notification. Ask before reading: an event may come between a reading and the wait. */
  next(): Promise<void>;
  close(): Promise<void>;
};

/**
 * Notifications do not arrive through some poolers, and without a daemon nobody sends them. So the feed is looked at
 * this often in any case.
 */
const lookEveryMs = 30_000;

/** Listens from the first `next` on. A lost connection is opened again, and wakes everybody, until `close`. */
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
