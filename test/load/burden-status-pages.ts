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
  /** Answers to the event stream clients by status. */
  listeners: Record<number, number>;
  eventKiB: number;
  slowReadersLeft: number;
  /** Seconds for which the server kept half a request, and the number that it still keeps. */
  halfOpen: { ended: number; left: number; longest: number };
  before: ProcessFigures;
  most: ProcessFigures;
  /** While all misbehaving clients are still connected. */
  after: ProcessFigures;
};

const paths = ['/', '/status.js', '/metrics', '/healthz', '/readyz'];
/** Expected status for every GET of the mixture while the database is available. */
export const wantedOutcomes = paths.map((path) => `${path} 200`);

/** Loads a daemon's status pages with a steady mixture of requests, and with misbehaving clients. */
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
