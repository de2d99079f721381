import { type RequestFigures, sendSteadily } from './steady-requests.ts';
import { listenToEvents, openHalf, readSlowly } from './troublesome-clients.ts';
import { type ProcessFigures, watchProcess } from './watch-process.ts';

export type Burden = {
  rps: number;
  seconds: number;
  listeners: number;
  slowReaders: number;
  halfOpen: number;
};

export type BurdenFigures = {
  requests: RequestFigures;
  /** Answers to the listeners by status. */
  listeners: Record<number, number>;
  eventKiB: number;
  slowReadersLeft: number;
  /** Seconds that the server bore half a request, and how many it still bears. */
  halfOpen: { ended: number; left: number; longest: number };
  before: ProcessFigures;
  most: ProcessFigures;
  /** While all troublesome clients still hang on. */
  after: ProcessFigures;
};

const paths = ['/', '/status.js', '/metrics', '/healthz', '/readyz'];
/** Every GET of the mixture is answered so while the database is there. */
export const wantedOutcomes = paths.map((path) => `${path} 200`);

/** Loads a daemon's status pages with a steady mixture of requests, and with clients of the worst manners. */
export async function burdenStatusPages(
  daemon: { url: string; pid: number },
  burden: Burden,
): Promise<BurdenFigures> {
  const { url, pid } = daemon;
  const watch = watchProcess(pid);
  const before = watch.now();
  const halfOpen = openHalf(url, burden.halfOpen);
  const slow = readSlowly(url, burden.slowReaders);
  const listeners = await listenToEvents(url, burden.listeners);
  try {
    const requests = await sendSteadily({ url, paths, ...burden });
    return {
      requests,
      listeners: listeners.statuses,
      eventKiB: listeners.bytes() / 1_024,
      slowReadersLeft: slow.stillOpen(),
      halfOpen: {
        ended: halfOpen.endedAfter.length,
        left: halfOpen.stillOpen(),
        longest: Math.max(0, ...halfOpen.endedAfter),
      },
      before,
      most: watch.most,
      after: watch.now(),
    };
  } finally {
    watch.stop();
    for (const client of [halfOpen, slow, listeners]) client.leave();
  }
}
